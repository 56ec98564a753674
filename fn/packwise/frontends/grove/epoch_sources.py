"""Find the entries of each replica, and their epochs.

A PodGangMap contains the entries. Without it, the entries follow from the workload, and the epochs come from running
PodGangs. Without these, a placeholder replaces the epochs. Source: spec/grove-releases.md#3.2, #3.4, #3.
"""

from __future__ import annotations

from enum import StrEnum

from krmfn.fieldpath import FieldPath, describe
from krmfn.hints import TYPE_CHECKING, Record
from krmfn.result import Severity
from packwise.findings import Finding, Origin, Place, Rule
from packwise.frontends.grove.admission import live_replicas
from packwise.frontends.grove.podcliqueset import scaling_group, standalone_clique
from packwise.lenient import mapping, strings, value_at
from packwise.objects.index import EPOCH, GENERATION, PART_OF, PLACEHOLDER, REPLICA, ROLE, identity
from packwise.objects.kinds import PODGANG, PODGANG_MAP
from packwise.settings.topologyrender import settings_place
from packwise.wording import count_text, list_known

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from krmfn.kubeobject import KubeObject
    from krmfn.value import Value
    from packwise.frontends.grove.admission import Replicas
    from packwise.frontends.grove.podcliqueset import PodCliqueSet
    from packwise.objects.index import Inventory
    from packwise.settings.topologyrender import TopologyRender


class EntryRole(StrEnum):
    """The role of an entry in its replica."""

    ANCHOR = "Anchor"
    """An entry with the standalone cliques, and with the first minAvailable replicas of each scaling group."""
    TAIL = "Tail"
    """An entry with the further replicas that scaling groups had when the replica was created."""
    SCALE_OUT = "ScaleOut"
    """An entry with the replicas that an autoscaler added later."""


class MapEntry(Record):
    """An entry of a PodGangMap. An anchor is one PodGang. Other entries have a PodGang for each replica of a group."""

    epoch: str
    role: EntryRole
    origin: Origin
    """The source of the epoch."""
    cliques: Mapping[str, int] = {}
    """The number of pods of each standalone clique, by name."""
    groups: Mapping[str, tuple[int, ...]] = {}
    """The indices of the replicas of each scaling group, by name. Indices are ascending."""
    generation: str = ""
    """The hash of the workload's generation, or "" if unknown."""
    depends_on: tuple[str, ...] = ()
    """The epochs of the entries that must be scheduled before this one."""


class Epochs(Record):
    """The epochs of the entries of a replica without a PodGangMap. `origins` has the source of each, by role."""

    anchor: str
    tail: str
    scale_out: str
    origins: Mapping[EntryRole, Origin]
    generation: str = ""


def epochs_from(first: int, origin: Origin) -> Epochs:
    """Return the epochs of the entries of a replica. `first` is the epoch of the anchor."""
    return Epochs(str(first), str(first + 1), str(first + 2), dict.fromkeys(EntryRole, origin))


def entries_of_template(pcs: PodCliqueSet, epochs: Epochs) -> tuple[MapEntry, ...]:
    """Return the entries of a new replica.

    These are an anchor, a tail if scaling groups have further replicas, and a scale-out entry if there are groups.
    """
    grouped = pcs.grouped_cliques()
    anchor = MapEntry(
        epochs.anchor,
        EntryRole.ANCHOR,
        epochs.origins[EntryRole.ANCHOR],
        {clique.name: clique.replicas for clique in pcs.cliques if clique.name not in grouped},
        {group.name: tuple(range(group.min_available)) for group in pcs.groups},
        epochs.generation,
    )
    beyond = {group.name: tuple(range(group.min_available, group.replicas)) for group in pcs.groups}
    tail = MapEntry(
        epochs.tail,
        EntryRole.TAIL,
        epochs.origins[EntryRole.TAIL],
        groups={name: indices for name, indices in beyond.items() if indices},
        generation=epochs.generation,
        depends_on=(epochs.anchor,),
    )
    scale_out = tail.replace(
        epoch=epochs.scale_out, role=EntryRole.SCALE_OUT, origin=epochs.origins[EntryRole.SCALE_OUT], groups={}
    )
    return (anchor, *([tail] if tail.groups else []), *([scale_out] if pcs.groups else []))


def place_entries(entries: Sequence[MapEntry], pcs: PodCliqueSet, replica: int, live: Replicas) -> tuple[MapEntry, ...]:
    """Return the entries in the order of their epochs, with the numbers of live scaling groups and cliques.

    Replicas without an entry are added to the scale-out entry. Replicas that no longer exist are removed. Without live
    objects, the numbers are unchanged. An empty entry is dropped, unless it is the scale-out entry.
    """
    ordered = sorted(entries, key=lambda entry: int(entry.epoch))
    for group in pcs.groups:
        count = live.groups.get((pcs.namespace, scaling_group(pcs.name, replica, group.name)))
        if count is not None:
            ordered = _scale_group(ordered, group.name, count)
    anchors = [entry for entry in ordered if entry.role is EntryRole.ANCHOR]
    if len(anchors) == 1:
        # If there are several anchors, only the PodGangMap shows how many pods of a clique each has.
        ordered = [_with_live_pods(entry, pcs, replica, live) for entry in ordered]
    return tuple(entry for entry in ordered if entry.cliques or entry.groups or entry.role is EntryRole.SCALE_OUT)


def _scale_group(entries: Iterable[MapEntry], group: str, count: int) -> list[MapEntry]:
    """Return the entries with `count` replicas of the group in total."""
    kept = [_with_indices(entry, group, [index for index in _indices(entry, group) if index < count])
            for entry in entries]  # fmt: skip
    there = {index for entry in kept for index in _indices(entry, group)}
    more = [index for index in range(count) if index not in there]
    if not more or not kept:
        return kept
    position = next((at for at in reversed(range(len(kept))) if kept[at].role is EntryRole.SCALE_OUT), None)
    if position is None:
        kept.append(_scale_out_after(kept))
        position = -1
    kept[position] = _with_indices(kept[position], group, sorted([*_indices(kept[position], group), *more]))
    return kept


def _scale_out_after(entries: Sequence[MapEntry]) -> MapEntry:
    """Return a scale-out entry for a replica that has none.

    Its epoch is larger than all others, and at least two larger than the epoch of the anchor.
    """
    anchor = next((entry for entry in reversed(entries) if entry.role is EntryRole.ANCHOR), entries[-1])
    epoch = max(int(anchor.epoch) + 2, int(entries[-1].epoch) + 1)
    return MapEntry(
        str(epoch), EntryRole.SCALE_OUT, anchor.origin, generation=anchor.generation, depends_on=(anchor.epoch,)
    )


def _with_live_pods(entry: MapEntry, pcs: PodCliqueSet, replica: int, live: Replicas) -> MapEntry:
    """Return the entry with the numbers of pods of live cliques."""
    counts = {
        name: live.cliques.get((pcs.namespace, standalone_clique(pcs.name, replica, name)), count)
        for name, count in entry.cliques.items()
    }
    return entry.replace(cliques=counts)


def _with_indices(entry: MapEntry, group: str, indices: Sequence[int]) -> MapEntry:
    groups = {**entry.groups, group: tuple(indices)}
    return entry.replace(groups={name: members for name, members in groups.items() if members})


def _indices(entry: MapEntry, group: str) -> Iterator[int]:
    yield from entry.groups.get(group, ())


MAP = Rule("podgang-map", "A PodGangMap has an entry that packwise cannot read.", "spec/grove-releases.md#3.1")
EMPTY = Rule("podgang-map-empty", "A PodGangMap has no entries.", "spec/grove-releases.md#2.5.3", Severity.WARNING)
UNKNOWN = Rule(
    "podgang-epoch-unknown",
    "The names of PodGangs contain an epoch that only the cluster knows.",
    "spec/grove-releases.md#3.4.3",
    Severity.INFO,
    once=True,
)
RULES = (MAP, EMPTY, UNKNOWN)
"""Rules about the sources of PodGangs."""

_RECOVERED = "spec/grove-releases.md#lost-map"
_ENTRY = "spec/grove-releases.md#3.1"
_ENTRIES = ("spec", "entries")
_MAX_DIGITS = 20


class MapEntries(Record):
    """The entries of each replica of a workload. The replicas in `placeholders` have unknown epochs."""

    by_replica: tuple[tuple[MapEntry, ...], ...] = ()
    placeholders: tuple[int, ...] = ()
    findings: tuple[Finding, ...] = ()


class EpochSources:
    """The epochs of a cluster, from the input and the baseline. If both have an epoch, the input counts."""

    __slots__ = ("_first", "_gangs", "_maps", "_replicas", "_settings")

    def __init__(self, inventory: Inventory, settings: TopologyRender) -> None:
        self._settings = settings
        self._first = settings.podgang_epoch
        before = inventory.baseline
        baseline = () if before is None else (before,)
        self._maps: dict[tuple[str, str], KubeObject] = {}
        self._gangs: dict[tuple[str, str, str], list[KubeObject]] = {}
        for index in (inventory.items, *baseline):
            for item in index.of_kind(*PODGANG_MAP.key):
                self._maps.setdefault(identity(item.value)[2:], item)
        for index in (inventory.items, *baseline):
            gangs = _gangs_by_replica(index.of_kind(*PODGANG.key))
            self._gangs = {**gangs, **self._gangs}
        self._replicas = live_replicas(inventory.items)

    @property
    def count(self) -> int:
        """Return the number of scaling group replicas in all PodGangMaps. A large number could use up the memory."""
        return sum(_size(item.get(_ENTRIES)) for item in self._maps.values())

    def entries(self, workload: KubeObject, pcs: PodCliqueSet) -> MapEntries:
        """Return the entries of every replica of `pcs`, which is `workload` with its defaults."""
        by_replica: list[tuple[MapEntry, ...]] = []
        placeholders: list[int] = []
        findings: list[Finding] = []
        for replica in range(pcs.replicas):
            entries = self._entries_of_map(workload, pcs, replica, findings)
            if entries is None:
                epochs = self._epochs_of_gangs(pcs, replica)
                if epochs is None:
                    placeholders.append(replica)
                    epochs = epochs_from(self._first, self._placeholder(workload))
                entries = entries_of_template(pcs, epochs)
            by_replica.append(place_entries(entries, pcs, replica, self._replicas))
        return MapEntries(tuple(by_replica), tuple(placeholders), tuple(findings))

    def _placeholder(self, workload: KubeObject) -> Origin:
        settings = self._settings
        if settings.podgang_epoch_is_set and settings.item is not None:
            return Origin(settings_place(settings).child("podGangEpoch"), PLACEHOLDER)
        return Origin(Place(workload, ("metadata", "name")), PLACEHOLDER)

    def _entries_of_map(
        self, workload: KubeObject, pcs: PodCliqueSet, replica: int, findings: list[Finding]
    ) -> tuple[MapEntry, ...] | None:
        """Return the entries of the replica's PodGangMap, or None. Add its findings. An empty map gives None."""
        item = self._maps.get((pcs.namespace or "default", f"{pcs.name}-{replica}"))
        if item is None:
            return None
        entries = item.get(_ENTRIES)
        if not isinstance(entries, list):
            entries = [] if entries is None else [entries]
        if not entries:
            findings.append(_empty_map_finding(item, workload, replica))
            return None
        reader = _EntryReader(item)
        read = [reader.entry(position, entry) for position, entry in enumerate(entries)]
        findings += reader.findings
        return tuple(read)

    def _epochs_of_gangs(self, pcs: PodCliqueSet, replica: int) -> Epochs | None:
        """Return the epochs of the replica's PodGangs. Return None if no PodGang is an anchor.

        If several PodGangs have one role, the first by name counts.
        """
        by_role: dict[EntryRole, KubeObject] = {}
        for item in self._gangs.get((pcs.namespace or "default", pcs.name, str(replica)), ()):
            role = next((role for role in EntryRole if role.value == _label(item, ROLE)), None)
            if role is not None:
                by_role.setdefault(role, item)
        anchor = by_role.get(EntryRole.ANCHOR)
        if anchor is None:
            return None
        following = epochs_from(int(_label(anchor, EPOCH)), _origin(anchor))
        epochs = {role: _label(item, EPOCH) for role, item in by_role.items()}
        return Epochs(
            epochs[EntryRole.ANCHOR],
            epochs.get(EntryRole.TAIL, following.tail),
            epochs.get(EntryRole.SCALE_OUT, following.scale_out),
            {**following.origins, **{role: _origin(item) for role, item in by_role.items()}},
            _label(anchor, GENERATION),
        )


def placeholder_notice(workloads: Sequence[KubeObject], settings: TopologyRender) -> Finding:
    """Return one finding about all `workloads` with placeholders in the names of their PodGangs."""
    others = len(workloads) - 1
    more = "" if not others else f"; also for {count_text(others, 'more workload')}"
    message = (
        f"the epochs of the PodGangs are unknown, so their names and labels contain the placeholder "
        f"{settings.podgang_epoch}. To get the cluster's names, add its PodGangMaps to the input or the baseline{more}"
    )
    return Finding.of(UNKNOWN, workloads[0], ("metadata", "name"), message)


def _gangs_by_replica(gangs: Iterable[KubeObject]) -> dict[tuple[str, str, str], list[KubeObject]]:
    """Return the PodGangs with an epoch, by namespace, workload and replica. Each list is sorted by name."""
    by_replica: dict[tuple[str, str, str], list[KubeObject]] = {}
    for item in sorted(gangs, key=lambda item: identity(item.value)):
        if _is_number(_label(item, EPOCH)):
            workload, replica = _label(item, PART_OF), _label(item, REPLICA)
            by_replica.setdefault((identity(item.value)[2], workload, replica), []).append(item)
    return by_replica


def _origin(item: KubeObject) -> Origin:
    return Origin(Place(item, ("metadata", "labels", EPOCH)), _RECOVERED)


def _label(item: KubeObject, key: str) -> str:
    text = item.get(("metadata", "labels", key))
    return text if isinstance(text, str) else ""


def _is_number(text: Value) -> bool:
    """Return True if `text` can be an epoch: at most 20 decimal digits."""
    return isinstance(text, str) and text.isascii() and text.isdecimal() and len(text) <= _MAX_DIGITS


def _size(entries: Value) -> int:
    return sum(
        len(indices)
        for entry in (entries if isinstance(entries, list) else ())
        for groups in [value_at(entry, "pcsgReplicaIndices")]
        for indices in mapping(groups).values()
        if isinstance(indices, list)
    )


def _empty_map_finding(item: KubeObject, workload: KubeObject, replica: int) -> Finding:
    namespace, name = identity(workload.value)[2:]
    message = (
        f"the PodGangMap has no entries for replica {replica} of PodCliqueSet {namespace}/{name}. Grove "
        "v0.1.0-alpha.12 stops with ERR_PODGANGMAP_NO_ENTRIES; later releases make new entries. Delete the PodGangMap"
    )
    return Finding.of(EMPTY, item, _ENTRIES, message)


class _EntryReader:
    """Reads the entries of one PodGangMap. An invalid part is reported in `findings`, and counts as absent."""

    __slots__ = ("_item", "findings")

    def __init__(self, item: KubeObject) -> None:
        self._item = item
        self.findings: list[Finding] = []

    def entry(self, position: int, value: Value) -> MapEntry:
        path = (*_ENTRIES, position)
        fields: Mapping[str, Value] = mapping(value)
        epoch, role = fields.get("epoch"), fields.get("role")
        if not isinstance(epoch, str) or not _is_number(epoch):
            self._refuse((*path, "epoch"), f"must be a string of at most {_MAX_DIGITS} digits")
            epoch = "0"
        roles = {known.value: known for known in EntryRole}
        if not isinstance(role, str) or role not in roles:
            self._refuse((*path, "role"), f"must be one of {list_known(list(roles))}")
            role = EntryRole.ANCHOR.value
        generation = fields.get("podCliqueSetGenerationHash")
        return MapEntry(
            epoch=epoch,
            role=roles[role],
            origin=Origin(Place(self._item, (*path, "epoch")), _ENTRY),
            cliques=dict(self._numbers(path, fields, "podCliques")),
            groups={name: tuple(sorted(indices)) for name, indices in self._indices(path, fields) if indices},
            generation=generation if isinstance(generation, str) else "",
            depends_on=tuple(strings(fields.get("dependsOn"))),
        )

    def _numbers(self, path: FieldPath, fields: Mapping[str, Value], key: str) -> Iterator[tuple[str, int]]:
        for name, count in self._mapping(path, fields, key).items():
            if type(count) is int:
                yield name, count
            else:
                self._refuse((*path, key, name), "must be a whole number")

    def _indices(self, path: FieldPath, fields: Mapping[str, Value]) -> Iterator[tuple[str, set[int]]]:
        key = "pcsgReplicaIndices"
        for name, indices in self._mapping(path, fields, key).items():
            listed = indices if isinstance(indices, list) else [indices]
            numbers = {index for index in listed if type(index) is int and index >= 0}
            if not all(type(index) is int and index >= 0 for index in listed):
                self._refuse((*path, key, name), "must be a list of whole numbers, each at least 0")
            yield name, numbers

    def _mapping(self, path: FieldPath, fields: Mapping[str, Value], key: str) -> Mapping[str, Value]:
        value = fields.get(key)
        if isinstance(value, dict):
            return value
        if value is not None:
            self._refuse((*path, key), "must be a mapping")
        return {}

    def _refuse(self, path: FieldPath, message: str) -> None:
        value = self._item.get(path)
        self.findings.append(Finding.of(MAP, self._item, path, f"{message}; got {describe(value)}"))
