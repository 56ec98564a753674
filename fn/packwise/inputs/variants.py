"""Variants of an object: objects with the same identity that no client applies together.

A batch is the set of objects that one client applies together. It has at most one variant of each object.
"""

from __future__ import annotations

import posixpath
from pathlib import Path

from krmfn.hints import TYPE_CHECKING
from packwise.discovery import KUSTOMIZATIONS, mapping_in, texts_in
from packwise.inputs.paths import folder_of, landmark_text, real
from packwise.inputs.reader import is_readable
from packwise.objects.index import ONCE, identity, pair_by_file, repetitions
from packwise.objects.kinds import DYNAMO_GRAPH, KINDS, POD_CLIQUE_SET

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from krmfn.kubeobject import KubeObject
    from krmfn.result import Result
    from packwise.inputs.groups import Group
    from packwise.objects.index import Identity
    from packwise.pipeline.selection import Package


_STREAM = ("stream", "")


_KPTFILE = "Kptfile"


_RENAMING = ("namePrefix", "nameSuffix", "namespace")


_WORKLOADS = frozenset({POD_CLIQUE_SET.key, DYNAMO_GRAPH.key})


_DEFINING = frozenset(kind.key for kind in KINDS if kind.before_workloads)


_MAX_BASES = 100
"""The largest number of kustomizations in a chain."""


def has_repeated(results: Iterable[Result]) -> bool:
    """Return True if a result reports a repeated object."""
    return any(result.tags.get("rule") == ONCE.name for result in results)


def variants_as_one(results: Iterable[Result], group: Group) -> tuple[Result, ...]:
    """Return the results. Errors about repeated objects become one error if the objects are variants.

    The error advises to pass only one variant.
    """
    results = tuple(results)
    batches = batches_of(group) if has_repeated(results) else []
    if len(batches) < 2:
        return results
    twice = {finding.subject for batch in batches for finding in repetitions(batch)}
    of_variants = [finding for finding in repetitions(group.package.items) if finding.subject not in twice]
    texts = {str(finding.to_result()) for finding in of_variants}
    if not texts.intersection(map(str, results)):
        return results
    first = of_variants[0]
    number = len(of_variants)
    are = "1 object is a variant of another" if number == 1 else f"{number} objects are variants of others"
    message = (
        f"the input has this object twice, because {are}, and clients apply only one of them. Pass the file or folder "
        f"of one, such as {' or '.join(_places_of(first.subject, group.package.items))}"
    )
    others = [result for result in results if str(result) not in texts]
    return (*others, first.replace(message=message).to_result())


def _places_of(variant: KubeObject | None, items: Iterable[KubeObject]) -> list[str]:
    """Return the places of two variants of an object: their folders, or their files if the folder has variants too."""
    items = [item for item in items if item.file is not None]
    same = [item for item in items if variant is not None and identity(item.value) == identity(variant.value)]
    places: list[str] = []
    for file in list(dict.fromkeys([item.file or "" for item in same]))[:2]:
        folder = posixpath.dirname(file)
        within = [each for each in items if (each.file or "").startswith(f"{folder}/")]
        places.append(folder if folder and not _repeated_identities(within) else file)
    return places


def batches_of(group: Group) -> list[tuple[KubeObject, ...]]:
    """Return the items of the group in batches. Each batch has one variant of an object.

    The first batch also has all other items. Later batches have only variants.
    """
    items = group.package.items
    clients = _Clients(group)
    batches: list[list[KubeObject]] = [[]]
    # For each identity, the keys of the items in each variant.
    taken: dict[Identity, list[set[tuple[str, str]]]] = {}
    repeated = _repeated_identities(items)
    # Below a configuration, topologies with the same name belong to one cluster, whatever their folders.
    varying = _WORKLOADS | _DEFINING if group.applied == "file" else _WORKLOADS
    for item in items:
        key = identity(item.value)
        if key not in repeated or key[:2] not in varying:
            batches[0].append(item)
            continue
        keys = clients.keys_of(item)
        variants = taken.setdefault(key, [])
        # Objects that are applied together must be in one variant, so that duplicates are found.
        place = next((place for place, variant in enumerate(variants) if variant & keys), len(variants))
        if place == len(variants):
            variants.append(set())
        variants[place] |= keys
        if place == len(batches):
            batches.append([])
        batches[place].append(item)
    return [tuple(batch) for batch in batches]


def packages_of(package: Package, batches: Sequence[tuple[KubeObject, ...]]) -> list[Package]:
    """Return a package for each batch of items. The package of a later batch also has the definitions of the first
    batch.

    A variant is compared with its own file in the baseline.
    """
    variants = {identity(item.value) for batch in batches[1:] for item in batch}
    first = batches[0]
    own = [
        first,
        *[
            (*[item for item in first if _is_read(item) and identity(item.value) not in variants], *batch)
            for batch in batches[1:]
        ],
    ]
    pairs = _pairs(package, variants)
    return [package.replace(items=items, baseline=_baseline(package.baseline, items, variants, pairs)) for items in own]


def _is_read(item: KubeObject) -> bool:
    """Return True if the item affects the checks of workloads."""
    return identity(item.value)[:2] not in _WORKLOADS


def _baseline(
    baseline: tuple[KubeObject, ...] | None,
    items: Iterable[KubeObject],
    variants: set[Identity],
    pairs: Mapping[int, KubeObject | None],
) -> tuple[KubeObject, ...] | None:
    if baseline is None:
        return None
    chosen = [pairs.get(id(item)) for item in items]
    others = [item for item in baseline if not is_readable(item) or identity(item.value) not in variants]
    return (*others, *[item for item in chosen if item is not None])


def _pairs(package: Package, variants: set[Identity]) -> dict[int, KubeObject | None]:
    """Return the object before the change for each variant, by the id of the variant."""
    sides: tuple[dict[Identity, list[KubeObject]], ...] = ({}, {})
    for side, items in zip(sides, (package.items, package.baseline or ()), strict=True):
        for item in items:
            if is_readable(item) and (key := identity(item.value)) in variants:
                side.setdefault(key, []).append(item)
    after, before = sides
    pairs: dict[int, KubeObject | None] = {}
    for key, items in after.items():
        pairs.update(pair_by_file(items, before.get(key, ())))
    return pairs


def _repeated_identities(items: Iterable[KubeObject]) -> set[Identity]:
    seen: set[Identity] = set()
    return {key for item in items if (key := identity(item.value)) in seen or seen.add(key)}


class _Clients:
    """A search for the clients that apply the file of an item.

    Each key identifies the files that a client applies together.
    """

    def __init__(self, group: Group) -> None:
        self._applied = group.applied
        self._kustomizations = [real(name) for name in group.kustomizations]
        self._clusters = {str(file.path.name): file.built.cluster for file in group.files if file.built is not None}
        self._keys: dict[str, frozenset[tuple[str, str]]] = {}
        self._named: dict[str, tuple[tuple[str, ...], bool]] = {}
        self._reached: dict[str, frozenset[str]] = {}

    def keys_of(self, item: KubeObject) -> frozenset[tuple[str, str]]:
        """Return the keys of the sets that include the item."""
        if self._applied == "all" or item.file is None or item.origin.file is None:
            return frozenset({_STREAM})
        if item.file in self._clusters:
            return frozenset({("cluster", self._clusters[item.file])})
        file = real(item.file)
        if file not in self._keys:
            self._keys[file] = frozenset(self._keys_of(file))
        return self._keys[file]

    def _keys_of(self, file: str) -> Iterator[tuple[str, str]]:
        yield "file", file
        start = folder_of(file)
        if self._applied == "folder" and _kustomization_in(start) is None:
            yield "folder", start
        known = dict.fromkeys(self._kustomizations)
        for folder in _folders_up(start):
            if (Path(folder) / _KPTFILE).is_file():
                yield _KPTFILE, folder
            kustomization = _kustomization_in(folder)
            if kustomization is not None:
                known[kustomization] = None
        for kustomization in known:
            if file in self._reach(kustomization, ()):
                yield "kustomization", kustomization

    def _reach(self, kustomization: str, outer: tuple[str, ...]) -> frozenset[str]:
        """Return the files in a build, except files with objects that an inner kustomization renames."""
        if kustomization in self._reached:
            return self._reached[kustomization]
        if kustomization in outer or len(outer) > _MAX_BASES:
            return frozenset()
        reached: set[str] = set()
        for path in self._bases_of(kustomization)[0]:
            inner = _kustomization_in(path)
            if inner is None:
                reached.add(path)
            elif not self._bases_of(inner)[1]:
                reached |= self._reach(inner, (*outer, kustomization))
        if not outer:
            # In a cycle, the result depends on the member that is visited first.
            self._reached[kustomization] = frozenset(reached)
        return frozenset(reached)

    def _bases_of(self, kustomization: str) -> tuple[tuple[str, ...], bool]:
        """Return the real paths on which a kustomization builds, and True if it renames objects."""
        if kustomization not in self._named:
            value = mapping_in(landmark_text(Path(kustomization)) or "")
            folder = folder_of(kustomization)
            entries = [entry for key in ("resources", "bases") for entry in texts_in(value.get(key))]
            paths = tuple(real(posixpath.join(folder, entry)) for entry in entries if "://" not in entry)
            self._named[kustomization] = paths, any(value.get(key) for key in _RENAMING)
        return self._named[kustomization]


def _folders_up(start: str) -> Iterator[str]:
    """Yield the folder and the folders above it, up to the root of its repository if it has one."""
    for folder in (start, *map(str, Path(start).parents)):
        yield folder
        if (Path(folder) / ".git").exists():
            return


def _kustomization_in(folder: str) -> str | None:
    paths = [posixpath.join(folder, name) for name in KUSTOMIZATIONS]
    return next((path for path in paths if Path(path).is_file()), None)
