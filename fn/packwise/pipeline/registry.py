"""The front ends and the schedulers, one line each.

A new front end is a folder in `frontends/` and a line here. A new scheduler is a folder in `schedulers/` and a line
here. packwise has no other list of them. The entries of Grove and KAI are part of every render. The other entries are
imported only for inputs that need them.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module

from krmfn.hints import TYPE_CHECKING, Record
from packwise.findings import Stage
from packwise.frontends.grove import frontend as grove
from packwise.objects.index import has_kai_candidates
from packwise.objects.kinds import DYNAMO_GRAPH, KUBERNETES_WORKLOAD, KUEUE_TOPOLOGY
from packwise.pod_rules import RULES as POD_RULES
from packwise.schedulers.grove import GROVE
from packwise.schedulers.kai import scheduler as kai

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

    from krmfn.fieldpath import FieldPath
    from krmfn.kubeobject import KubeObject
    from krmfn.value import Value
    from packwise.findings import Finding, Rule
    from packwise.frontends.frontend import FindOmissions, FrontEnd, Recognition
    from packwise.objects.index import Index, Inventory
    from packwise.placement import NodePool, Placement
    from packwise.revisions.grove import Revision
    from packwise.schedulers import NodePoolsOf, QueuedPodsOf, Scheduler, SchedulerInput
    from packwise.schedulers.kai.snapshot import Snapshot
    from packwise.schedulers.simulation import Simulation, SimulationOf
    from packwise.settings.topologyrender import TopologyRender


class FrontEndEntry(Record):
    """A front end. `load` imports it and `rules` imports its table of rules.

    If its workloads are documents of another tool, `recognition` imports the module that recognizes them, in files and
    in objects of the kinds `carriers`. Other workloads are Kubernetes objects: `kind` is their only kind, and
    `has_objects` returns True if objects of many kinds exist. The front end is imported only for its workloads.
    `omissions` imports the function that explains missing values, or is None if every request leads to a value or a
    finding. `speaker` is the component that its rules quote, or "" for an operator.
    """

    load: Callable[[], FrontEnd]
    rules: Callable[[], Iterable[Rule]]
    recognition: Callable[[], Recognition] | None = None
    carriers: tuple[tuple[str, str], ...] = ()
    kind: tuple[str, str] | None = None
    has_objects: Callable[[Inventory], bool] | None = None
    omissions: Callable[[], FindOmissions] | None = None
    speaker: str = ""

    def has_workloads(self, inventory: Inventory) -> bool:
        """Return True if the input may contain objects of the front end."""
        if self.kind is not None:
            return bool(inventory.items.of_kind(*self.kind))
        if self.has_objects is not None:
            return self.has_objects(inventory)
        return self.recognition is None or self.has_documents(inventory)

    def has_documents(self, inventory: Inventory) -> bool:
        """Return True if documents of the front end's tool are among the input."""
        if self.recognition is None or not (
            inventory.documents or any(inventory.items.of_kind(*kind) for kind in self.carriers)
        ):
            return False
        return bool(self.recognition().document_places(inventory))


class SchedulerEntry(Record):
    """A scheduler. `load` imports it and `rules` imports its table of rules.

    A scheduler with a `backend` is imported only for revisions with an operator that has that scheduler backend. If
    `word` is set, a render imports the scheduler only if an input text has the word, or if objects of `emit_word` are
    written. `queued` imports the source of pods that the scheduler queues itself, or is None if front ends pass it all
    pods. `pools` imports the finder of its node pools, or is None without pools. `simulate` imports its simulation, or
    is None without one. `webhook` is the component that refuses objects by its rules, if it is not the operator.
    `speaker` is the component that its rules quote, or "" for an operator.
    """

    load: Callable[[], Scheduler]
    rules: Callable[[], Iterable[Rule]]
    backend: str | None = None
    queued: Callable[[], QueuedPodsOf] | None = None
    pools: Callable[[], NodePoolsOf] | None = None
    simulate: Callable[[], SimulationOf] | None = None
    webhook: str = ""
    speaker: str = ""
    word: str = ""
    emit_word: str = ""

    def is_asked(self, source: SchedulerInput) -> bool:
        """Return True if the scheduler may have objects or findings."""
        if not self.word or source.settings.emits(self.emit_word):
            return True
        indices = (source.inventory.items, source.inventory.baseline)
        return any(index.has_word(self.word) for index in indices if index is not None)


def _importer(place: str) -> Callable[[], Any]:
    """Return a function that imports the object at `place` (a module of packwise and a name) when called."""
    module, _, name = place.partition(":")
    return lambda: getattr(import_module(f"packwise.{module}"), name) if name else import_module(f"packwise.{module}")


def _recognitions() -> list[Recognition]:
    return [entry.recognition() for entry in FRONT_ENDS if entry.recognition is not None]


def _dynamo() -> FrontEnd:
    from packwise.frontends.dynamo.convert import MAIN
    from packwise.frontends.dynamo.frontend import dynamo

    return dynamo(grove.grove_for(MAIN))


def _dynamo_omissions() -> FindOmissions:
    from packwise.frontends.dynamo.omissions import omissions
    from packwise.frontends.grove.omissions import omissions as of_grove

    return omissions(of_grove)


def _has_kubernetes_gangs(inventory: Inventory) -> bool:
    """Return True if there are group scheduling objects, pods with a group, or Jobs that may become groups."""
    return any(index is not None and _has_gangs(index) for index in (inventory.items, inventory.baseline))


def _has_gangs(index: Index) -> bool:
    if any(group == "scheduling.k8s.io" and kind != "PriorityClass" for group, kind in index.by_kind):
        return True
    # The Job controller creates no group for Jobs with these names: spec/kubernetes-gangs.md#8.18.
    jobs = index.of_kind("batch", "Job")
    is_grouped = any(
        "." in job.name or len(job.name) > 57 or job.get(("spec", "scheduling")) is not None for job in jobs
    )
    return is_grouped or index.has_word("schedulingGroup")


FRONT_ENDS: tuple[FrontEndEntry, ...] = (
    FrontEndEntry(
        speaker="Grove",
        load=lambda: grove.GROVE,
        rules=grove.rule_table,
        omissions=_importer("frontends.grove.omissions:omissions"),
    ),
    FrontEndEntry(
        speaker="OSMO",
        load=_importer("frontends.osmo.frontend:OSMO"),
        rules=_importer("frontends.osmo.rules:RULES"),
        recognition=_importer("frontends.osmo.recognition"),
        # The ConfigMaps of a kustomization, and the objects with values of OSMO's charts: spec/osmo.md#1.
        carriers=(("", "ConfigMap"), ("helm.toolkit.fluxcd.io", "HelmRelease"), ("argoproj.io", "Application")),
        omissions=_importer("frontends.osmo.omissions:omissions"),
    ),
    FrontEndEntry(
        speaker="Dynamo",
        load=_dynamo,
        rules=_importer("frontends.dynamo.rules:RULES"),
        kind=DYNAMO_GRAPH.key,
        omissions=_dynamo_omissions,
    ),
    FrontEndEntry(
        speaker="API server",
        load=_importer("frontends.kubernetes.frontend:KUBERNETES"),
        rules=_importer("frontends.kubernetes.rules:RULES"),
        has_objects=_has_kubernetes_gangs,
    ),
    FrontEndEntry(
        speaker="KAI",
        load=_importer("frontends.workloads.frontend:WORKLOADS"),
        rules=_importer("frontends.workloads.rules:RULES"),
        has_objects=lambda inventory: has_kai_candidates(inventory.items),
    ),
)
"""Every front end, in the order in which their workloads are rendered."""

SCHEDULERS: tuple[SchedulerEntry, ...] = (
    SchedulerEntry(
        speaker="KAI",
        load=lambda: kai.KAI,
        rules=kai.rule_table,
        pools=_importer("schedulers.kai.pools:node_pools"),
        simulate=_importer("schedulers.kai.simulation:simulate"),
    ),
    SchedulerEntry(load=lambda: GROVE, rules=tuple),
    SchedulerEntry(load=_importer("schedulers.volcano:VOLCANO"), rules=tuple, backend="volcano"),
    SchedulerEntry(
        load=_importer("schedulers.kueue.podgangs:BACKEND"),
        rules=_importer("schedulers.kueue.podgangs:RULES"),
        backend="kueue",
    ),
    SchedulerEntry(
        load=_importer("schedulers.kueue:KUEUE"),
        rules=_importer("schedulers.kueue:RULES"),
        queued=_importer("schedulers.kueue.queued:queued_pods"),
        simulate=_importer("schedulers.kueue.simulation:simulate"),
        webhook="Kueue's webhook",
        speaker="Kueue",
        word="kueue",
        emit_word=KUEUE_TOPOLOGY.emit_word,
    ),
    SchedulerEntry(
        load=_importer("schedulers.kubernetes.scheduler:KUBERNETES"),
        rules=_importer("schedulers.kubernetes.workload:RULES"),
        simulate=_importer("schedulers.kubernetes.simulation:simulate"),
        word="scheduling.k8s.io",
        emit_word=KUBERNETES_WORKLOAD.emit_word,
    ),
)
"""Every scheduler, in the order in which their findings are reported."""


_JINJA = "osmo-template"
"""The rule that quotes texts of Jinja, with which OSMO fills in templates."""

_OF_PODS = frozenset(rule.name for rule in POD_RULES)
"""The rules of pods, which quote the API server whatever component creates the pods."""


@cache
def speaker_of(rule: str, stage: str) -> str:
    """Return the component that a finding of the rule quotes: Grove, unless another one is registered for the rule.

    Most findings are Grove's. Grove's rules are searched first, so these findings need no other import.
    """
    if stage == Stage.SCHEMA.value or rule in _OF_PODS:
        return "API server"
    if rule == _JINJA:
        return "Jinja"
    entries = [entry for entry in (*FRONT_ENDS, *SCHEDULERS) if entry.speaker]
    return next((entry.speaker for entry in entries if rule in [each.name for each in entry.rules()]), "Grove")


def front_ends(inventory: Inventory) -> tuple[FrontEnd, ...]:
    """Return the front ends that may have workloads in the input. Others are not imported."""
    return tuple(entry.load() for entry in FRONT_ENDS if entry.has_workloads(inventory))


def omission_sources(inventory: Inventory) -> tuple[FindOmissions, ...]:
    """Return the functions that find omissions, one of each front end that may have workloads in the input."""
    return tuple(
        entry.omissions()
        for entry in FRONT_ENDS
        if entry.omissions is not None and entry.has_workloads(inventory)
    )  # fmt: skip


def workload_front_ends() -> tuple[FrontEnd, ...]:
    """Return the front ends for Kubernetes objects."""
    return tuple(entry.load() for entry in FRONT_ENDS if entry.recognition is None)


def schedulers(revision: Revision) -> tuple[Scheduler, ...]:
    """Return the schedulers that `revision` knows."""
    return tuple(entry.load() for entry in _entries_for(revision))


def schedulers_for(source: SchedulerInput) -> tuple[Scheduler, ...]:
    """Return the schedulers that may have objects or findings for the input. Others are not imported."""
    return tuple(entry.load() for entry in _entries_for(source.cluster.revision) if entry.is_asked(source))


def _entries_for(revision: Revision) -> list[SchedulerEntry]:
    backends = (None, *revision.scheduler_backends)
    return [entry for entry in SCHEDULERS if entry.backend in backends]


def simulations(source: SchedulerInput, generated: Iterable[KubeObject], snapshot: Snapshot) -> tuple[Simulation, ...]:
    """Return the simulations of the schedulers that may have objects or findings for the input, in order."""
    return tuple(
        entry.simulate()(source, generated, snapshot)
        for entry in SCHEDULERS
        if entry.simulate is not None and entry.is_asked(source)
    )


def unsimulated_queues() -> tuple[QueuedPodsOf, ...]:
    """Return the sources of pods in the queues of schedulers that packwise does not simulate."""
    return tuple(entry.queued() for entry in SCHEDULERS if entry.queued is not None and entry.simulate is None)


def queued_sources() -> tuple[QueuedPodsOf, ...]:
    """Return the functions that find pods in the schedulers' own queues."""
    return tuple(entry.queued() for entry in SCHEDULERS if entry.queued is not None)


def node_pools(index: Index, placements: Iterable[Placement]) -> tuple[NodePool, ...]:
    """Return the node pools of all schedulers, or () if no object of the input is in a pool."""
    listed = tuple(placements)
    finders = [entry.pools() for entry in SCHEDULERS if entry.pools is not None]
    return tuple(pool for finder in finders for pool in finder(index, listed))


def brings_topologies(inventory: Inventory) -> bool:
    """Return True if the input has documents of another tool. The documents have their own topologies."""
    return any(entry.has_documents(inventory) for entry in FRONT_ENDS)


def document_keys() -> tuple[str, ...]:
    """Return keys that foreign documents have. Every foreign document of a front end has at least one of them."""
    return tuple(key for recognition in _recognitions() for key in recognition.KEYS)


def is_document(value: Value) -> bool:
    """Return True if a YAML document that is not a Kubernetes object belongs to a front end."""
    return any(recognition.is_document(value) for recognition in _recognitions())


def may_be_document(text: str) -> bool:
    """Return True if a text that is not valid YAML may still be a document of a front end."""
    return any(recognition.may_be_document(text) for recognition in _recognitions())


def workload_key_findings(index: Index, settings: TopologyRender) -> Iterable[Finding]:
    """Return findings about keys that no component reads, on workloads that KAI groups itself."""
    if not has_kai_candidates(index):
        return ()
    # The import is here because few inputs have such workloads.
    from packwise.frontends.workloads import keys

    return keys.workload_key_findings(index, settings.kai_version, settings.kai_name)


def metadata_of_workloads(index: Index, kai_name: str) -> Iterable[tuple[KubeObject, FieldPath, Mapping[str, Value]]]:
    """Return the metadata of workloads that KAI groups itself, and of their templates, each with its path."""
    if not has_kai_candidates(index):
        return ()
    # The import is here because few inputs have such workloads.
    from packwise.frontends.workloads import keys

    return keys.metadata_of_workloads(index, kai_name)
