"""Topologies and their users; levels proposed from the labels of nodes.

Source: spec/packwise.md#3; topograph's reference of node labels, both generations.
"""

from __future__ import annotations

import re
from collections import Counter

from krmfn.errors import FieldError
from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from krmfn.result import exit_code
from packwise.objects.kinds import KUEUE_TOPOLOGY
from packwise.pipeline.registry import brings_topologies, front_ends, queued_sources
from packwise.pipeline.steps import read_package, results_of, unreadable
from packwise.schedulers.kai.allocate.scene import GPU
from packwise.select import topologies_of
from packwise.topology.known import ListedTopology, Use
from packwise.topology.levels import DOMAINS, new_label

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from krmfn.result import Result
    from packwise.objects.index import Inventory
    from packwise.schedulers.kai.allocate.scene import Node
    from packwise.select import Package, Selection
    from packwise.topology.known import KnownTopologies


def has_sources(package: Package) -> bool:
    """Whether something among the package is to be rendered: a configuration, a topology or a workload."""
    inventory, selection = read_package(package)
    # TAS is enabled by users' topologies alone, too.
    if selection.is_configured or brings_topologies(inventory):
        return True
    settings, revision = selection.settings, selection.revision
    return any(True for front_end in front_ends(inventory) for _ in front_end.uses(inventory, settings, revision))


class Overview(NamedTuple):
    """The topologies there are, by name, and which workload uses which; `enabled`: whether TAS is.

    `results` are about the configuration and the CRDs; `is_known` is whether the rest could be told all the same.
    """

    topologies: tuple[ListedTopology, ...] = ()
    uses: tuple[Use, ...] = ()
    enabled: bool = False
    results: tuple[Result, ...] = ()
    is_known: bool = True


def _queued(inventory: Inventory, known: KnownTopologies, selection: Selection) -> Iterator[Use]:
    """The workloads that a scheduler queues itself, by the topologies of their queues."""
    for queued_pods in queued_sources():
        for pods in queued_pods(inventory, known, selection.settings):
            for name in pods.topologies:
                yield Use(name, pods.workload, explicit=False, queue=pods.queue)


def overview(package: Package) -> Overview:
    """Which topologies the package has, and who uses them."""
    inventory, selection = read_package(package)
    settings, revision = selection.settings, selection.revision
    refusing = results_of(selection.findings, selection.results)
    results = (*refusing, *results_of(selection.definitions.findings))
    if exit_code(refusing):
        return Overview(results=results, is_known=False)
    chosen = front_ends(inventory)
    try:
        known = topologies_of(inventory, selection)
        topologies = tuple(
            topology
            for front_end in chosen
            for topology in front_end.topologies(inventory, settings, revision, known)
        )  # fmt: skip
    except FieldError as error:
        return Overview(results=(*results, unreadable(error)), is_known=False)
    # Nobody but the author makes these; those that are rendered are of the topologies above.
    own = sorted(inventory.items.of_kind(*KUEUE_TOPOLOGY.key), key=lambda item: item.name)
    topologies += tuple([ListedTopology.of_scheduler(KUEUE_TOPOLOGY.word, item) for item in own])
    uses = tuple(use for front_end in chosen for use in front_end.uses(inventory, settings, revision))
    uses += tuple(dict.fromkeys(_queued(inventory, known, selection)))
    if selection.enabled or selection.configuration is not None or not topologies:
        absent = [] if selection.absent is None else [selection.absent]
        return Overview(topologies, uses, selection.enabled, results_of(absent, results))
    # An export of a cluster shows its topologies, and needs no configuration that says so.
    return Overview(topologies, uses, enabled=True, results=results)


_HOST = "kubernetes.io/hostname"
_HINTS: tuple[tuple[str, str], ...] = (
    ("region", r"topology\.kubernetes\.io/region|.*[/.-]region"),
    ("zone", r"topology\.kubernetes\.io/zone|.*[/.-](availability-?)?zone"),
    (
        "datacenter",
        r"fabric\.topograph\.run/tier-([2-9]|[1-9]\d+)|network\.topology\.nvidia\.com/(core|datacenter|tier-2)|"
        r"topology\.k8s\.aws/network-node-layer-1|.*[/.-](data-?cent(er|re)|dc|core|room|hall|building)",
    ),
    (
        "block",
        r"fabric\.topograph\.run/tier-1|network\.topology\.nvidia\.com/(spine|tier-1)|"
        r"topology\.k8s\.aws/network-node-layer-2|cloud\.google\.com/gce-topology-block|"
        r".*[/.-](block|spine|row|pod|island|superpod|su|scalable-?unit)",
    ),
    (
        "rack",
        r"fabric\.topograph\.run/tier-0|network\.topology\.nvidia\.com/(leaf|block|accelerator|tier-0)|"
        r"accelerator\.[\w.-]+/(sub-)?domain|topology\.k8s\.aws/network-node-layer-3|"
        r"cloud\.google\.com/gce-topology-subblock|nvidia\.com/gpu\.clique|"
        r".*[/.-](rack|leaf|tor|sub-?block|clique|nvl-?domain|chassis|switch)",
    ),
    ("host", r"kubernetes\.io/hostname|cloud\.google\.com/gce-topology-host"),
)
_PATTERNS = [(domain, re.compile(pattern, re.IGNORECASE)) for domain, pattern in _HINTS]

_KEPT = ("region", "zone")
"""Domains that are levels also where there is one of them only: further ones come."""

_FEW = 0.1
"""The share of nodes that may contradict a nesting which all others show."""


class ProposedLevel(NamedTuple):
    """A level: how many domains the label tells apart, and how many nodes carry it. `notes` are for its reader."""

    domain: str
    key: str
    domains: int
    nodes: int
    notes: tuple[str, ...] = ()


class Contradiction(NamedTuple):
    """A node that has a label by which its domain stands in another domain than those of the other nodes in it."""

    node: str
    key: str
    value: str
    above: str
    here: str
    elsewhere: str


class LeftOutLabel(NamedTuple):
    """A label that looks like a level and is none, and why."""

    key: str
    reason: str


class Proposal(NamedTuple):
    """The levels, the broadest first, of `nodes` nodes; what contradicts them; what was left out."""

    levels: tuple[ProposedLevel, ...]
    nodes: int
    contradictions: tuple[Contradiction, ...] = ()
    left_out: tuple[LeftOutLabel, ...] = ()


class _Label(NamedTuple):
    """A label that may be a level: its hint, and its value by node."""

    key: str
    hint: str
    values: dict[str, str]

    @property
    def domains(self) -> int:
        return len(set(self.values.values()))


def propose(nodes: Sequence[Node]) -> Proposal:
    """The levels that the labels of the nodes show; of nodes with GPUs only, where any has them."""
    useful = [node for node in nodes if node.allocatable.get(GPU)] or list(nodes)
    left_out: list[LeftOutLabel] = []
    chain: list[_Label] = []
    notes: dict[str, list[str]] = {}
    contradictions: list[Contradiction] = []
    for label in _labels(useful):
        if label.domains == 1 and label.hint not in _KEPT and len(useful) > 1:
            left_out.append(LeftOutLabel(label.key, "has one value, and tells no nodes apart"))
            continue
        twin = next((other for other in chain if _is_same(label, other)), None)
        if twin is not None:
            notes.setdefault(twin.key, []).append(f"{label.key} tells the same domains apart")
            continue
        against = _against(chain[-1], label) if chain else []
        if len(against) > _FEW * len(label.values):
            reason = f"does not nest in {chain[-1].key}: {len(against)} of {len(label.values)} nodes contradict"
            left_out.append(LeftOutLabel(label.key, reason))
            continue
        contradictions += against
        chain.append(label)
    named = _named(chain, left_out)
    levels = [
        ProposedLevel(
            domain, label.key, label.domains, len(label.values), (*notes.get(label.key, ()), *_renamed(label))
        )
        for label, domain in named
    ]
    keys = {level.key for level in levels}
    kept = [contradiction for contradiction in contradictions if {contradiction.key, contradiction.above} <= keys]
    return Proposal(tuple(levels), len(useful), tuple(kept), tuple(left_out))


def _labels(nodes: Sequence[Node]) -> list[_Label]:
    """The labels that may be levels: known ones, and those whose key ends in a level's word; the broadest first."""
    keys = dict.fromkeys(key for node in nodes for key in sorted(node.labels))
    labels: list[_Label] = []
    for key in keys:
        hint = next((domain for domain, pattern in _PATTERNS if pattern.fullmatch(key)), None)
        if hint is not None:
            values = {node.name: node.labels[key] for node in nodes if node.labels.get(key)}
            if values:
                labels.append(_Label(key, hint, values))
    # Among labels that tell the same domains apart the newer, then the first by name, is the level.
    return sorted(
        labels,
        key=lambda label: (
            label.hint == "host",
            label.domains,
            DOMAINS.index(label.hint),
            new_label(label.key) is not None,
            label.key,
        ),
    )


def _is_same(label: _Label, other: _Label) -> bool:
    """Whether both labels tell the same domains apart, on the same nodes."""
    if label.values.keys() != other.values.keys() or label.domains != other.domains:
        return False
    return len({(value, other.values[name]) for name, value in label.values.items()}) == label.domains


def _against(above: _Label, label: _Label) -> list[Contradiction]:
    """The nodes by which a domain of `label` stands in a second domain of `above`: where fewer of its nodes stand."""
    parents: dict[str, Counter[str]] = {}
    for name, value in label.values.items():
        if name in above.values:
            parents.setdefault(value, Counter())[above.values[name]] += 1
    usual = {value: min(counts, key=lambda parent: (-counts[parent], parent)) for value, counts in parents.items()}
    return [
        Contradiction(name, label.key, value, above.key, above.values[name], usual[value])
        for name, value in sorted(label.values.items())
        if name in above.values and above.values[name] != usual[value]
    ]


def _named(chain: Iterable[_Label], left_out: list[LeftOutLabel]) -> list[tuple[_Label, str]]:
    """The labels with domains in the fixed order of Grove; what finds none between its neighbours is left out."""
    labels = list(chain)
    named: list[tuple[_Label, str]] = []
    last = -1
    for position, label in enumerate(labels):
        is_host = label.hint == "host"
        after = sum(other.hint != "host" for other in labels[position + 1 :])
        bound = DOMAINS.index("host") if is_host else DOMAINS.index("rack") - after
        rank = max(last + 1, min(DOMAINS.index(label.hint), bound))
        if rank > DOMAINS.index("host" if is_host else "rack"):
            left_out.append(LeftOutLabel(label.key, "Grove has no further domain between its neighbours"))
            continue
        named.append((label, DOMAINS[rank]))
        last = rank
    return named


def _renamed(label: _Label) -> list[str]:
    now = new_label(label.key)
    return [] if now is None else [f"topograph writes {now} since its version 1.0"]
