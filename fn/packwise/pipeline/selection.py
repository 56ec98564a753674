"""The configuration of a render, selected from its input: settings, revision, topology configuration, definitions.

Source: spec/designs.md#2, spec/packwise.md#1.
"""

from __future__ import annotations

import posixpath

from krmfn.fieldpath import FieldError
from krmfn.hints import TYPE_CHECKING, Record
from krmfn.result import Severity
from packwise.findings import Finding, Rule, has_errors, place_text
from packwise.objects.index import Index, Inventory, identity
from packwise.objects.kinds import DYNAMO_GRAPH, GANGS, POD_CLIQUE_SET, kind_of
from packwise.placement import Cluster
from packwise.revisions.grove import ALPHA_8, GREP_244_MULTI, NEWEST, RECORDS, REVISIONS
from packwise.settings.configuration import (
    KUBE_PROFILE,
    SOURCES,
    Configuration,
    TopologySource,
    check_levels,
    chosen_source,
    is_operator,
    operators_of,
    read_schedulers,
    read_source,
)
from packwise.settings.topologyrender import (
    GROUP,
    KAI_PROFILE,
    KIND,
    NewerRelease,
    TopologyRender,
    load,
    no_configuration,
    settings_place,
)
from packwise.topology.known import ConfiguredTopology, check_labels, known_topologies
from packwise.validate.crds import NO_DEFINITIONS, Definitions, definitions_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from krmfn.kubeobject import KubeObject
    from krmfn.result import Result
    from krmfn.value import Value
    from packwise.pipeline.evidence import Evidence
    from packwise.placement import Schedulers
    from packwise.revisions.grove import Revision
    from packwise.settings.configuration import Operator
    from packwise.topology.known import KnownTopologies

# The revision of a render, and the reason for its choice. Source: spec/designs.md#2, spec/grove-releases.md#1.

REVISION = Rule("revision", "packwise does not know the revision.", "spec/designs.md#1")
NEWER = Rule(
    "revision-newer",
    "The release is newer than the releases that packwise knows.",
    "spec/grove-releases.md#1",
    Severity.WARNING,
)
UNNAMED = Rule(
    "revision-unnamed",
    "The release of Grove is not set, and packwise assumes one.",
    "spec/grove-releases.md#1.1",
    Severity.WARNING,
    once=True,
)
"""Reported by `packwise.pipeline.evidence`, which reads the release that the input shows."""

DEPLOYING = frozenset({
    ("apps", "Deployment"),
    ("argoproj.io", "Application"),
    ("argoproj.io", "ApplicationSet"),
    ("helm.cattle.io", "HelmChart"),
    ("helm.toolkit.fluxcd.io", "HelmRelease"),
    ("kustomize.config.k8s.io", "Kustomization"),
    ("source.toolkit.fluxcd.io", "OCIRepository"),
})  # fmt: skip
"""Kinds of objects that deploy operators."""


class ChosenRevision(Record):
    """The revision of a render. `reason` names its source in a summary. `is_named` is true if the user named it.

    `is_assumed` is true if the input shows no release, or only the oldest possible one. `is_shared` is true if a key
    selected a design, although releases have the same key.
    """

    revision: Revision
    reason: str
    is_named: bool = False
    is_assumed: bool = False
    is_shared: bool = False


def choose_revision(
    settings: TopologyRender,
    configuration: Configuration | None,
    index: Index,
    findings: list[Finding],
    *,
    has_levels: bool,
) -> ChosenRevision:
    """Return `spec.revision` if it is set. Otherwise return the revision that the input shows, else the newest release.

    Topologies, the key of a topology section, and fields of workloads show a revision.
    """
    if settings.revision is not None:
        revision = _revision_named(settings, settings.revision, configuration, findings)
        return ChosenRevision(revision, "spec.revision", is_named=True)
    for revision in RECORDS:
        if revision.chosen_by_topologies and has_topologies(index, revision):
            return ChosenRevision(revision, f"a {revision.topology_kind} in the input")
    key = configuration.key if configuration is not None else None
    for revision in RECORDS:
        if revision.chosen_by_key and not revision.needs_levels and revision.configuration_key == key:
            return ChosenRevision(revision, f"the key {key}")
    return _shown_design(index, has_levels=has_levels) or _guess_revision(index)


def _guess_revision(index: Index) -> ChosenRevision:
    """Return the revision to assume if the input shows none."""
    from packwise.pipeline.evidence import has_designs_domain, has_later_fields

    if _key_of(ALPHA_8, index) is not None or has_later_fields(index):
        return ChosenRevision(NEWEST, "workloads of a later API", is_assumed=True)
    if has_designs_domain(index):
        return ChosenRevision(GREP_244_MULTI, "the key packDomain", is_shared=True)
    return ChosenRevision(NEWEST, "the default", is_assumed=True)


def _shown_design(index: Index, *, has_levels: bool) -> ChosenRevision | None:
    """Return the revision that has the distinctive fields of the input: a design, or the release with levels in its
    configuration.
    """
    if has_levels and (key := _key_of(ALPHA_8, index)) is not None:
        return ChosenRevision(ALPHA_8, f"levels in the configuration, and {key}")
    for revision in RECORDS:
        if not revision.needs_levels:
            continue
        if has_levels:
            is_shown = has_topologies(index, revision) or _key_of(revision, index) is not None
            return ChosenRevision(revision, f"the key {revision.configuration_key}", is_shared=not is_shown)
        if has_topologies(index, revision):
            return ChosenRevision(revision, f"a {revision.topology_kind} in the input")
        if (key := _key_of(revision, index)) is not None:
            return ChosenRevision(revision, f"the key {key}")
    return None


def _key_of(revision: Revision, index: Index) -> str | None:
    """Return the first key of a workload that shows the revision, or None."""
    from packwise.pipeline.evidence import owners

    for item in index.of_kind(*POD_CLIQUE_SET.key):
        for _, owner in owners(item):
            for key in revision.workload_keys:
                if key in owner:
                    return key
    return None


def has_topologies(index: Index, revision: Revision) -> bool:
    """Return True if the input has topologies of the revision's kind."""
    return bool(index.of_kind(*kind_of(revision.topology_kind).key))


def has_grove_workloads(index: Index) -> bool:
    """Return True if a release of Grove affects the check of an object in the input."""
    return any(index.of_kind(*kind.key) for kind in (POD_CLIQUE_SET, DYNAMO_GRAPH))


def revision_called(name: str) -> Revision:
    """Return the record of a revision. For a newer release than all known ones, return the newest record."""
    known = REVISIONS.get(name)
    if known is not None:
        return known
    # The import is here because few inputs name such a release.
    from packwise.revisions.tags import newest_as

    return newest_as(name)


def _revision_named(
    settings: TopologyRender, name: str, configuration: Configuration | None, findings: list[Finding]
) -> Revision:
    revision = revision_called(name)
    if name not in REVISIONS:
        _tell_newer(settings, name, findings)
    if configuration is not None and configuration.key != revision.configuration_key:
        message = (
            f'revision "{revision.name}" reads "{revision.configuration_key}", not "{configuration.key}"; rename the '
            "section"
        )
        findings.append(configuration.place.finding(REVISION, message, at_key=True))
    return revision


def _tell_newer(settings: TopologyRender, name: str, findings: list[Finding]) -> None:
    """Report that a release is newer than all known ones. It is an error unless the settings allow it."""
    from packwise.revisions.tags import NEWEST

    findings.append(_newer_finding(settings, NewerRelease(("revision",), "Grove", name, NEWEST)))


def _newer_finding(settings: TopologyRender, newer: NewerRelease) -> Finding:
    place = settings_place(settings).child(*newer.steps)
    known = f'"{newer.newest}", the newest release of {newer.component} that packwise knows'
    if settings.newer_revision == "Warn":
        return place.finding(NEWER, f"packwise does not know this release and uses {known}")
    message = (
        f'"{newer.written}" is newer than {known}. Upgrade packwise, or set `newerRevision: Warn` to use the rules of '
        "the newest known release"
    )
    return place.finding(REVISION, message)


class Configured(Record):
    """The configuration that a client or the user chose: packwise's own, or an operator's in `context`."""

    function_config: KubeObject | None = None
    context: tuple[KubeObject, ...] = ()

    @classmethod
    def of(cls, item: KubeObject) -> Configured:
        """Return the configuration in an object. An operator's configuration belongs to `context`."""
        return cls(context=(item,)) if is_operator(item) else cls(item)


class Package(Record):
    """The items of a ResourceList or the documents of files. `function_config` is packwise's own configuration.

    `baseline` holds the objects before the change under review, or is None. `configured_before` is the configuration of
    the baseline, or None to use the current one. `crds` are the cluster's CRDs, and replace CRDs among the items.
    `documents` are OSMO's documents, which are not Kubernetes objects. `documents_before` are the documents of the
    baseline. `values` set variables of document templates, from the command line.

    `context` are objects that are only read: definitions in other files and a chosen configuration. With `is_part`, the
    items are checked without a configuration, because several clusters with different configurations use them. `nodes`
    are the cluster's nodes, pods and topologies, if the user passed them. With `is_chosen`, the user named the
    configuration. It then overrides a topology among the items. `folder` is the cluster's folder for its objects, or ""
    for the top. `folders` maps the folders of files, as users see them, to the real folders.
    """

    items: tuple[KubeObject, ...]
    function_config: KubeObject | None = None
    baseline: tuple[KubeObject, ...] | None = None
    crds: tuple[KubeObject, ...] = ()
    documents: tuple[KubeObject, ...] = ()
    documents_before: tuple[KubeObject, ...] = ()
    values: Mapping[str, Value] = {}
    context: tuple[KubeObject, ...] = ()
    is_part: bool = False
    nodes: tuple[Mapping[str, Value], ...] = ()
    folder: str = ""
    folders: Mapping[str, str] = {}
    configured_before: Configured | None = None
    is_chosen: bool = False

    @property
    def baseline_package(self) -> Package | None:
        """Return the package before the change under review, or None without a baseline. Its workloads count as
        running.
        """
        if self.baseline is None:
            return None
        earlier = self.replace(items=self.baseline, documents=self.documents_before)
        if self.configured_before is None:
            return earlier
        chosen = self.configured_before
        return earlier.replace(function_config=chosen.function_config, context=chosen.context, configured_before=None)


SETTINGS = Rule(
    "configuration-fields",
    "packwise's configuration has an unknown field or a value of the wrong type.",
    "spec/packwise.md#2.2",
)
UNSUPPORTED = Rule("configuration-unsupported", "A setting has no effect.", "spec/packwise.md#2.8", Severity.WARNING)
LEVELS_UNUSED = Rule(
    "configuration-levels-unused",
    "The operator of this revision ignores the levels of its configuration.",
    "spec/grove.md#9.3",
    Severity.WARNING,
)
ABSENT = Rule(
    "configuration-absent", "The input has no topology configuration.", "spec/designs.md#2", Severity.WARNING, once=True
)
APPLY = Rule(
    "apply-podgangs",
    "PodGangs would be applied from Git, but the operator creates them itself.",
    "spec/grove-releases.md#3.4.6",
)
RULES = (REVISION, NEWER, SETTINGS, UNSUPPORTED, APPLY, LEVELS_UNUSED, ABSENT)
"""Rules of packwise's own configuration."""


class Selection(Record):
    """The configuration of a render: the settings, the revision, the topology configuration, the cluster's CRDs.

    `revision_before` is the baseline's revision. None means that it is unknown, and assumed to be the same. `chosen_by`
    is the source of the revision. `is_named` is true if the user named it. `is_assumed` is true if the input shows no
    release, or only the oldest possible one. `evidence` has contradictions in the input, or is None for a named
    revision. `absent` reports a missing topology configuration. Errors of CRDs among the items are in `definitions` and
    do not prevent other checks.

    `configuration` is None without a topology configuration. With a topology, `around` is `configuration`. Without
    a topology, it has only the scheduler and network sections, or is None. `enabled` is true if topology-aware
    scheduling is enabled. `schedulers` is None if the revision has no list of schedulers. `results` are
    krmfn's results about packwise's own configuration.
    """

    settings: TopologyRender
    revision: Revision
    configuration: Configuration | None
    enabled: bool
    around: Configuration | None = None
    definitions: Definitions = NO_DEFINITIONS
    schedulers: Schedulers | None = None
    findings: tuple[Finding, ...] = ()
    results: tuple[Result, ...] = ()
    chosen_by: str = ""
    is_named: bool = False
    is_assumed: bool = False
    evidence: Evidence | None = None
    absent: Finding | None = None
    revision_before: Revision | None = None

    @property
    def is_configured(self) -> bool:
        """Return True if the input configures packwise, a topology, or topology-aware scheduling, even with errors."""
        configured = self.settings.item is not None or self.configuration is not None
        return configured or self.enabled or bool(self.results)

    @property
    def is_contested(self) -> bool:
        """Return True if several objects configure the render."""
        return any(finding.rule == SOURCES.name for finding in self.findings)

    @property
    def files(self) -> list[str]:
        """Return the distinct files that configure packwise and the topology."""
        items = [self.settings.item, None if self.configuration is None else self.configuration.place.item]
        files = [item.location().file for item in items if item is not None]
        return list(dict.fromkeys([file for file in files if file is not None]))


def index_package(package: Package) -> Inventory:
    """Return the objects of the package by kind."""
    baseline = None if package.baseline is None else Index.of(package.baseline)
    before = () if baseline is None else package.documents_before
    return Inventory.of(Index.of((*package.items, *package.context)), baseline, package.documents, before)


def select(package: Package, inventory: Inventory, *, configured_otherwise: bool = False) -> Selection:
    """Return the configuration of the render with all findings about it. `inventory` has the objects of the package.

    `configured_otherwise` is true if documents in the input have a topology, so that a configuration is optional.
    """
    index = inventory.items
    findings = list(index.findings)
    definitions = _definitions(package, index, findings)
    results: list[Result] = []
    settings = _settings(package, index, findings, results)
    operators = operators_of(index, findings)
    if package.is_chosen:
        settings, operators = _as_chosen(package, settings, operators)
    source = chosen_source(settings, operators, findings)
    shape: list[Finding] = []
    configuration = read_source(source, shape) if source is not None and not results else None
    choice = choose_revision(settings, configuration, index, findings, has_levels=_has_levels(source))
    revision = choice.revision
    findings += _shape_findings(operators, revision, shape)
    evidence = None if choice.is_named or results else _evidence(package, choice, index, settings)
    findings += [_newer_finding(settings, newer) for newer in settings.newer_releases]
    findings += _kai_evidence(index, settings)
    findings += _without_effect(settings, configuration, revision)
    findings += check_labels(index, settings.item)
    if not choice.is_assumed or has_grove_workloads(index):
        settings = _as_applied(settings, revision, findings)
    revision = _configured_revision(revision, settings, configuration)
    findings += _level_findings(configuration, revision)
    around = configuration if source is not None else _sections_around(settings, revision, index)
    schedulers = _schedulers(around, revision, settings, findings, is_assumed=choice.is_assumed)
    findings += _podgroup_race(index, settings, revision, schedulers)
    enabled = configuration.enabled if configuration is not None else _topologies_only(index, revision)
    absent = None
    if source is None and not enabled and not results and not configured_otherwise and not has_errors(findings):
        absent = _absent_finding(settings, revision)
    return Selection(
        settings=settings.with_values(package.values),
        revision=revision,
        configuration=configuration,
        around=around,
        enabled=enabled,
        definitions=definitions,
        schedulers=schedulers,
        findings=tuple(findings),
        results=tuple(results),
        chosen_by=choice.reason,
        is_named=choice.is_named,
        is_assumed=choice.is_assumed,
        evidence=evidence,
        absent=absent,
        revision_before=_revision_before(package, inventory, is_named=choice.is_named),
    )


def _definitions(package: Package, index: Index, findings: list[Finding]) -> Definitions:
    """Return the CRDs of the render. Errors of CRDs that the user passed are added to `findings`.

    With such an error, every answer would be a guess.
    """
    definitions = definitions_of(package.crds, index)
    if not package.crds:
        return definitions
    asked = frozenset(package.crds)
    findings += [finding for finding in definitions.findings if finding.subject in asked]
    return definitions.replace(findings=tuple([each for each in definitions.findings if each.subject not in asked]))


def _configured_revision(revision: Revision, settings: TopologyRender, configuration: Configuration | None) -> Revision:
    """Return `revision`, adapted to the topology's configuration and to the settings."""
    name = configuration.name if configuration is not None else None
    revision = revision.with_configuration(name, annotate_topology=settings.topology_name_annotation)
    return revision.with_planned_backends() if settings.kueue.unreleased else revision


def _level_findings(configuration: Configuration | None, revision: Revision) -> Iterable[Finding]:
    """Return findings about the levels of the configuration."""
    if configuration is None:
        return ()
    if revision.default_topology is not None:
        return check_levels(configuration, revision)
    return (_levels_unused(configuration, revision),) if configuration.levels else ()


def topologies_of(inventory: Inventory, selection: Selection) -> KnownTopologies:
    """Return the topologies that workloads can name."""
    revision, configuration = selection.revision, selection.configuration
    finalizers = (revision.finalizer,) if revision.finalizer is not None and selection.settings.finalizers else ()
    configured = ConfiguredTopology(
        configuration.topology(revision) if configuration is not None else None, configuration is not None, finalizers
    )
    enabled = selection.schedulers.names if selection.schedulers is not None else ()
    return known_topologies(inventory, selection.definitions, revision, configured, enabled)


def _makes_topologies(selection: Selection) -> bool:
    """Return True if the operator creates KAI's Topologies."""
    if not selection.revision.scheduler_profiles:
        return True
    if selection.schedulers is not None and KAI_PROFILE not in selection.schedulers.names:
        return False
    return selection.around is None or selection.around.makes_kai_topologies is not False


def cluster_of(selection: Selection, known: KnownTopologies, nodes: tuple[Mapping[str, Value], ...] = ()) -> Cluster:
    """Return the known facts about the cluster. `nodes` are the objects of `--nodes`, or the Nodes of the input."""
    configuration, around, revision = selection.configuration, selection.around, selection.revision
    return Cluster(
        revision=revision,
        enabled=selection.enabled,
        domains=configuration.domains if configuration is not None else (),
        topologies={name: topology.topology for name, topology in known.by_name.items()},
        auto_mnnvl=around is not None and around.auto_mnnvl,
        is_mnnvl_known=around is not None or not selection.is_assumed,
        schedulers=selection.schedulers,
        makes_topologies=_makes_topologies(selection),
        revision_before=selection.revision_before,
        nodes=nodes,
    )


def _kai_evidence(index: Index, settings: TopologyRender) -> Iterable[Finding]:
    """Return the warning about a release of KAI that the input deploys and the settings do not name."""
    if DEPLOYING.isdisjoint(index.by_kind):
        return ()
    # Input that deploys nothing does not need this import.
    from packwise.pipeline.evidence import kai_evidence

    return kai_evidence(index, settings)


def _podgroup_race(
    index: Index, settings: TopologyRender, revision: Revision, schedulers: Schedulers | None
) -> Iterable[Finding]:
    """Return the warning that Grove's operator and an old KAI both make PodGroups, or none."""
    makes = revision.podgroups_by_operator and schedulers is not None and KAI_PROFILE in schedulers.names
    if not makes or (settings.kai_version is None and DEPLOYING.isdisjoint(index.by_kind)):
        return ()
    from packwise.pipeline.evidence import podgroup_race

    return podgroup_race(index, settings, revision)


def _revision_before(package: Package, inventory: Inventory, *, is_named: bool) -> Revision | None:
    """Return the baseline's revision: the one in its own configuration, else the one that it deploys. Return None if
    unknown.

    A deployed release is used only if the user named the current one. Otherwise packwise assumes the same for both
    states.
    """
    if inventory.baseline is None:
        return None
    beside = package.configured_before
    items = () if beside is None else (beside.function_config, *beside.context)
    configurations = [item for item in (*items, *inventory.baseline.of_kind(GROUP, KIND)) if item is not None]
    names = {name for item in configurations if (name := _name_in(item)) is not None}
    if names:
        return revision_called(names.pop()) if len(names) == 1 else None
    if not is_named:
        return None
    from packwise.pipeline.evidence import deployed_release

    deployed = deployed_release(inventory.baseline)
    return None if deployed is None else deployed.revision


def _name_in(item: KubeObject) -> str | None:
    """Return the revision that a configuration names. Return None if it names none or is unreadable."""
    try:
        return load(item).revision
    except (FieldError, ValueError):
        return None


def _as_chosen(
    package: Package, settings: TopologyRender, operators: list[Operator]
) -> tuple[TopologyRender, list[Operator]]:
    """Return the user's chosen configuration, without other topologies.

    If the chosen TopologyRender has no topology, an operator's configuration still completes it.
    """
    chosen = [operator for operator in operators if operator.place.item in package.context]
    if package.function_config is None and chosen:
        return settings.replace(sections={}), chosen
    return settings, [] if settings.sections else operators


def _has_levels(source: TopologySource | None) -> bool:
    """Return True if a topology section has levels of any type."""
    sections = () if source is None else source.sections.values()
    return any(isinstance(section, dict) and "levels" in section for section in sections)


def _evidence(package: Package, choice: ChosenRevision, index: Index, settings: TopologyRender) -> Evidence:
    """Return the evidence against a revision that the user did not name."""
    from packwise.pipeline.evidence import evidence_against

    # Several clusters use this part of the input, and their configurations may name a release.
    return evidence_against(choice.replace(is_shared=False) if package.is_part else choice, index, settings)


def _settings(package: Package, index: Index, findings: list[Finding], results: list[Result]) -> TopologyRender:
    """Return packwise's own settings, from the functionConfig or else from the items."""
    function_config = function_config_of(package)
    items = [item for item in index.of_kind(GROUP, KIND) if not _is_same(item, function_config)]
    chosen = function_config if function_config is not None else (items.pop(0) if items else None)
    if chosen is None:
        return no_configuration()
    try:
        settings = load(chosen)
    except FieldError as error:
        results.append(_with_rule(error.to_result()))
        return no_configuration()
    except ValueError as error:
        errors: tuple[Result, ...] = getattr(error, "results", ())
        if not errors:
            raise
        results += [_with_rule(result) for result in errors]
        return no_configuration()
    for other in items:
        message = _BESIDE_CHOSEN if function_config is not None else _second_message(chosen, other, package.folders)
        findings.append(Finding.of(SOURCES, other, (), message))
    return settings


_BESIDE_CHOSEN = (
    f"found another {KIND}, but functionConfig or --config already sets one for every object. Keep one, or set none "
    "there: packwise then uses the nearest one for each object"
)


def _second_message(chosen: KubeObject, other: KubeObject, real: Mapping[str, str]) -> str:
    """Return the message about a second TopologyRender. Two TopologyRenders in two folders are for two clusters."""
    folders = [(each.file or "").rpartition("/")[0] for each in (chosen, other)]
    # One folder may have a full path, and a path relative to the current folder. Compare the real paths.
    at = [posixpath.normpath(real.get(folder, folder)) for folder in folders]
    message = f"found two {KIND} objects; the other one is {place_text(chosen)}"
    if at[0] == at[1]:
        return f"{message}. Keep one, or move this one to another folder"
    clusters = " and ".join([f'"{folder or "."}"' for folder in folders])
    return f"{message}. These are two clusters, and only check and fn read several: pass {clusters} one by one"


def _shape_findings(operators: list[Operator], revision: Revision, shape: list[Finding]) -> list[Finding]:
    """Return findings about wrong types in configurations: from Grove's decoder, and from `shape` about other
    fields.
    """
    if not operators:
        return shape
    from packwise.settings.operator import operator_findings

    findings = operator_findings(operators, revision)
    decoded = {(finding.subject, finding.path, finding.location) for finding in findings}
    rest = [finding for finding in shape if (finding.subject, finding.path, finding.location) not in decoded]
    return [*findings, *rest]


def function_config_of(package: Package) -> KubeObject | None:
    """Return the functionConfig. Return None if it is empty. kpt sends a ConfigMap without data by default."""
    item = package.function_config
    if item is not None and item.get(("kind",)) == "ConfigMap" and not item.get(("data",)):
        return None
    return item


def _is_same(item: KubeObject, function_config: KubeObject | None) -> bool:
    """Return True if `item` is the functionConfig itself. kpt also lists its file among the items."""
    return function_config is not None and identity(item.value) == identity(function_config.value)


def _with_rule(result: Result) -> Result:
    return result.replace(tags={**result.tags, "rule": SETTINGS.name})


def _without_effect(
    settings: TopologyRender, configuration: Configuration | None, revision: Revision
) -> Iterator[Finding]:
    """Report settings that have no effect in the revision."""
    message = f'revision "{revision.name}" ignores this setting; remove it'
    if settings.topology_name_annotation and revision.annotate_topology:
        yield settings_place(settings).child("topologyNameAnnotation").finding(UNSUPPORTED, message)
    if settings.finalizers and revision.finalizer is None:
        yield settings_place(settings).child("finalizers").finding(UNSUPPORTED, message)
    if configuration is not None and configuration.name is not None and not revision.named_by_configuration:
        yield configuration.place.child("name").finding(UNSUPPORTED, message)


def _as_applied(settings: TopologyRender, revision: Revision, findings: list[Finding]) -> TopologyRender:
    """Return the settings. If PodGangs are built from PodGangMaps, objects are applied only if the settings request it.

    This request is an error if PodGangs are rendered.
    """
    if not revision.podgang_maps:
        return settings
    if not settings.apply_is_set:
        return settings.replace(apply=False)
    kinds = [word for word in dict.fromkeys([kind.emit_word for kind in GANGS]) if settings.emits(word)]
    if settings.apply and kinds:
        message = (
            f'with revision "{revision.name}", the operator deletes PodGangs that its PodGangMaps do not list, and '
            f"applied objects ({', '.join(kinds)}) conflict with the operator's objects. Remove `apply`, or emit "
            "other kinds"
        )
        findings.append(settings_place(settings).child("apply").finding(APPLY, message))
    return settings


def _sections_around(settings: TopologyRender, revision: Revision, index: Index) -> Configuration | None:
    """Return the scheduler and network sections of settings without a topology.

    Return None if the settings have neither, or if the input has no workloads of Grove.
    """
    if (settings.scheduler is None and settings.network is None) or not has_grove_workloads(index):
        return None
    place = settings_place(settings)
    sections: dict[str, Value] = {revision.configuration_key: {}}
    # `load` has checked their types.
    return read_source(TopologySource(f"the {KIND}", place, sections, settings.scheduler, settings.network), [])


def _schedulers(
    configuration: Configuration | None,
    revision: Revision,
    settings: TopologyRender,
    findings: list[Finding],
    *,
    is_assumed: bool,
) -> Schedulers | None:
    if not revision.scheduler_backends:
        return None
    schedulers, problems = read_schedulers(configuration, revision, settings.item)
    findings += problems
    if is_assumed and configuration is None:
        # Grove's chart does the same: KAI schedules pods that name it, and other pods need no queue.
        return schedulers.replace(default=KUBE_PROFILE)
    return schedulers


def _topologies_only(index: Index, revision: Revision) -> bool:
    """Return True if topologies of users alone show that topology-aware scheduling is enabled.

    Source: spec/designs.md#2.
    """
    return revision.chooses_topology and has_topologies(index, revision)


def _levels_unused(configuration: Configuration, revision: Revision) -> Finding:
    message = f'revision "{revision.name}" ignores these levels; move them to {revision.topology_kind} objects'
    return configuration.place.child("levels").finding(LEVELS_UNUSED, message, at_key=True)


def _absent_finding(settings: TopologyRender, revision: Revision) -> Finding:
    where = f"a {KIND}" if settings.item is None else f"the {KIND}"
    message = (
        "topology-aware scheduling is disabled because the input has no topology configuration. Add "
        f"`{revision.configuration_key}` to {where}, or add a Grove OperatorConfiguration to the input"
    )
    path = ("data",) if settings.embedded else ("spec",)
    return Finding.of(ABSENT, settings.item, path if settings.item is not None else (), message)
