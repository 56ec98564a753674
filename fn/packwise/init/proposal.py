"""Levels that the labels of nodes show, as a TopologyRender.

Source: spec/packwise.md#3; topograph's reference of node labels, both generations.
"""

from __future__ import annotations

import json
import re
from collections import Counter

from krmfn.hints import TYPE_CHECKING, Record
from krmfn.kubeobject import KubeObject
from krmfn.terminal import escape_line
from packwise.answer import Answer, Text
from packwise.inputs.request import UsageError
from packwise.objects.index import identity
from packwise.objects.kinds import CLUSTER_TOPOLOGY_BINDING, KINDS, TOPOLOGY
from packwise.place.cluster import read_cluster, read_cluster_objects
from packwise.revisions.grove import ALPHA_8
from packwise.schedulers.kai.allocate.scene import GPU
from packwise.topology.known import DOMAINS, ListedTopology, new_label
from packwise.wording import count_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from krmfn.value import Value
    from packwise.init.options import ImportTopology
    from packwise.schedulers.kai.allocate.scene import Node

_SHOWN = 20

_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]*")


def topology(command: ImportTopology) -> Answer:
    """Return the configuration. Raise UsageError if no label is a level."""
    objects = read_cluster_objects(command.paths)
    topologies = [] if any(each.get("kind") == "Node" for each in objects) else _topologies(objects)
    if topologies:
        return Answer((Text([f"{line}\n" for line in _lines_of(topologies)]),))
    proposal = propose(read_cluster(command.paths, objects, option="").nodes)
    if not proposal.levels:
        raise UsageError(
            "no label of the nodes shows topology domains; label the nodes by hand or with topograph, for example with "
            "topology.kubernetes.io/zone"
        )
    return Answer((Text([f"{line}\n" for line in _lines(proposal)]),))


def _topologies(objects: Iterable[Mapping[str, Value]]) -> list[ListedTopology]:
    """Return the Topologies of schedulers among the objects of a cluster."""
    kinds = {kind.key: kind.word for kind in KINDS if kind is TOPOLOGY or kind.is_listed}
    items = [KubeObject.new(each) for each in objects if identity(each)[:2] in kinds]
    return [ListedTopology.of_scheduler(kinds[identity(item.value)[:2]], item) for item in items]


def _lines_of(topologies: Sequence[ListedTopology]) -> Iterator[str]:
    """Yield the lines of a configuration with the levels of the Topologies. Raise UsageError if their levels differ."""
    first, *others = topologies
    keys = [level.key for level in first.levels]
    names = ", ".join(dict.fromkeys([f"{each.kind} {escape_line(each.name)}" for each in topologies]))
    if any([level.key for level in each.levels] != keys for each in others):
        raise UsageError(f"the Topologies {names} have different levels; pass only one of them, or pass nodes")
    skipped: list[SkippedLabel] = []
    # An unknown label gets the narrowest domain that is still broader than the levels below it.
    labels = [_Label(key, _hint_of(key) or "rack", {}) for key in keys]
    named = _name_levels(labels, skipped)
    yield f"# Levels of {names}. Workloads of Grove use the names of the domains."
    yield from _head()
    for label, domain in named:
        yield f"    - {{domain: {domain}, key: {_scalar(label.key)}}}"
    yield from _skipped_lines(skipped)


def _head() -> Iterator[str]:
    yield from ("apiVersion: packwise.dev/v1alpha1", "kind: TopologyRender", "metadata:", "  name: topology", "spec:")
    kind = CLUSTER_TOPOLOGY_BINDING.name
    yield f"  # The newest release of Grove that reads levels from here; later releases read them from {kind}s."
    yield f"  revision: {ALPHA_8.name}"
    yield from ("  topologyAwareScheduling:", "    enabled: true", "    levels:")


def _skipped_lines(skipped: Sequence[SkippedLabel]) -> Iterator[str]:
    if skipped:
        yield ""
        yield "# Skipped labels that look like levels:"
        for label in skipped:
            yield f"#   {escape_line(label.key)}: {escape_line(label.reason)}"


def _lines(proposal: LevelProposal) -> Iterator[str]:
    nodes = count_text(proposal.nodes, "node")
    yield f"# Levels from the labels of {nodes}. Check them before you use them."
    yield from _head()
    for level in proposal.levels:
        yield f"    - {{domain: {level.domain}, key: {_scalar(level.key)}}} # {level.counts(proposal.nodes)}"
        for note in level.notes:
            yield f"      # {escape_line(note)}"
    if proposal.contradictions:
        yield ""
        yield f"# Nodes that contradict the nesting ({len(proposal.contradictions)}):"
        for each in proposal.contradictions[:_SHOWN]:
            yield escape_line(
                f"#   {each.node}: {each.key} {each.value} is in {each.above} {each.here} on this node, "
                f"in {each.elsewhere} on other nodes"
            )
        if len(proposal.contradictions) > _SHOWN:
            yield f"#   and {len(proposal.contradictions) - _SHOWN} more"
    yield from _skipped_lines(proposal.skipped)


def _scalar(key: str) -> str:
    return key if _PLAIN.fullmatch(key) else json.dumps(key)


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
"""Domains that become levels even if the cluster has only one of them, because more may follow."""

_FEW = 0.1
"""The largest share of nodes that may contradict a nesting of labels."""


class ProposedLevel(Record):
    """A level with the number of its domains and of its nodes. `notes` are for the reader."""

    domain: str
    key: str
    domains: int
    nodes: int
    notes: tuple[str, ...] = ()

    def counts(self, nodes: int) -> str:
        """Return the numbers of domains, nodes, and nodes without the label as text. `nodes` counts all nodes."""
        counts = f"{count_text(self.domains, 'domain')}, {count_text(self.nodes, 'node')}"
        missing = nodes - self.nodes
        return (
            counts
            if not missing
            else f"{counts}; {count_text(missing, 'node')} without the label, outside of the topology"
        )


class Contradiction(Record):
    """A node with labels that do not nest. Other nodes with the same `value` of `key` are in another broader domain."""

    node: str
    key: str
    value: str
    above: str
    here: str
    elsewhere: str


class SkippedLabel(Record):
    """A label that looks like a level but is not used, and the reason."""

    key: str
    reason: str


class LevelProposal(Record):
    """The levels of `nodes` nodes, broadest first, the nodes that contradict them, and skipped labels."""

    levels: tuple[ProposedLevel, ...] = ()
    nodes: int = 0
    contradictions: tuple[Contradiction, ...] = ()
    skipped: tuple[SkippedLabel, ...] = ()


class _Label(Record):
    """A label that may be a level: its hint, and its value by node."""

    key: str
    hint: str
    values: dict[str, str]

    @property
    def domains(self) -> int:
        return len(set(self.values.values()))


def propose(nodes: Sequence[Node]) -> LevelProposal:
    """Return the levels that the nodes' labels show. If some nodes have GPUs, all other nodes are ignored."""
    useful = [node for node in nodes if node.allocatable.get(GPU)] or list(nodes)
    skipped: list[SkippedLabel] = []
    chain: list[_Label] = []
    notes: dict[str, list[str]] = {}
    contradictions: list[Contradiction] = []
    for label in _labels(useful):
        if label.domains == 1 and label.hint not in _KEPT and len(useful) > 1:
            skipped.append(SkippedLabel(label.key, "all nodes have the same value"))
            continue
        twin = next((other for other in chain if _is_same(label, other)), None)
        if twin is not None:
            notes.setdefault(twin.key, []).append(f"{label.key} has the same domains")
            continue
        against = _contradictions(chain[-1], label) if chain else []
        if len(against) > _FEW * len(label.values):
            reason = f"does not nest in {chain[-1].key}: {len(against)} of {len(label.values)} nodes contradict it"
            skipped.append(SkippedLabel(label.key, reason))
            continue
        contradictions += against
        chain.append(label)
    named = _name_levels(chain, skipped)
    levels = [
        ProposedLevel(
            domain, label.key, label.domains, len(label.values), (*notes.get(label.key, ()), *_new_name(label))
        )
        for label, domain in named
    ]
    keys = {level.key for level in levels}
    kept = [contradiction for contradiction in contradictions if {contradiction.key, contradiction.above} <= keys]
    return LevelProposal(tuple(levels), len(useful), tuple(kept), tuple(skipped))


def _hint_of(key: str) -> str | None:
    """Return the domain that a label's key suggests."""
    return next((domain for domain, pattern in _PATTERNS if pattern.fullmatch(key)), None)


def _labels(nodes: Sequence[Node]) -> list[_Label]:
    """Return the labels that may be levels, broadest first: known labels, and keys that end in a level's word."""
    keys = dict.fromkeys(key for node in nodes for key in sorted(node.labels))
    labels: list[_Label] = []
    for key in keys:
        hint = _hint_of(key)
        if hint is not None:
            values = {node.name: node.labels[key] for node in nodes if node.labels.get(key)}
            if values:
                labels.append(_Label(key, hint, values))
    # If labels have the same domains, the newer label comes first, then the first by name. It becomes the level.
    return sorted(
        labels,
        key=lambda label: (
            label.hint == "host",
            label.domains,
            DOMAINS.index(label.hint),
            _is_renamed(label.key),
            label.key,
        ),
    )


def _is_renamed(key: str) -> bool:
    """Return True if the label has a newer name. Source: topograph; Kubernetes' well-known labels."""
    return new_label(key) is not None or key.partition("/")[0].endswith("beta.kubernetes.io")


def _is_same(label: _Label, other: _Label) -> bool:
    """Return True if both labels divide the same nodes into the same domains."""
    if label.values.keys() != other.values.keys() or label.domains != other.domains:
        return False
    return len({(value, other.values[name]) for name, value in label.values.items()}) == label.domains


def _contradictions(above: _Label, label: _Label) -> list[Contradiction]:
    """Return each node in another domain of `above` than most nodes with the same value of `label`."""
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


def _name_levels(chain: Iterable[_Label], skipped: list[SkippedLabel]) -> list[tuple[_Label, str]]:
    """Return the labels with domains in Grove's fixed order. A label is skipped if no domain is left between its
    neighbours.
    """
    labels = list(chain)
    named: list[tuple[_Label, str]] = []
    last = -1
    for position, label in enumerate(labels):
        is_host = label.hint == "host"
        after = sum(other.hint != "host" for other in labels[position + 1 :])
        bound = DOMAINS.index("host") if is_host else DOMAINS.index("rack") - after
        rank = max(last + 1, min(DOMAINS.index(label.hint), bound))
        if rank > DOMAINS.index("host" if is_host else "rack"):
            skipped.append(SkippedLabel(label.key, "Grove has no domain between the levels above and below it"))
            continue
        named.append((label, DOMAINS[rank]))
        last = rank
    return named


def _new_name(label: _Label) -> list[str]:
    now = new_label(label.key)
    return [] if now is None else [f"topograph writes {now} since its version 1.0"]
