"""The groups of a check judged one by one, each by the layers that one client applies together.

Together are: one file; what a kustomization reaches; a package of kpt; stdin; and, below a configuration of packwise, a
folder that holds no kustomization, as Argo CD and `kubectl apply -f` take it. Where nothing says so, two files of one
folder are variants of a recipe, of which somebody applies one. Source: spec/gitops.md; spec/clients.md#2a and #3.
"""

from __future__ import annotations

import posixpath
from pathlib import Path

from krmfn.hints import TYPE_CHECKING
from krmfn.record import Record
from krmfn.result import Severity, exit_code, sort_results
from packwise.cli.findings_text import Coverage, groups_covered, judge_of, objects_judged
from packwise.cli.input_paths import folder_of, landmark_text, real
from packwise.cli.reader import is_readable
from packwise.discovery import KUSTOMIZATIONS, count_unjudged, mapping_in, texts_in
from packwise.findings.known import compare, fingerprints, without_echoes
from packwise.objects import ONCE, identity, repetitions
from packwise.objects.kinds import DYNAMO_GRAPH, KINDS, POD_CLIQUE_SET, WORKLOADS
from packwise.pipeline import render
from packwise.pipeline.rules import prevents, rules_of_packages
from packwise.pipeline.steps import NO_WORKLOADS
from packwise.select import ABSENT, UNNAMED
from packwise.select.evidence import KAI_UNNAMED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from krmfn.kubeobject import KubeObject
    from krmfn.result import Result
    from packwise.cli.inputs import Checkup, Group
    from packwise.objects import Identity
    from packwise.pipeline import Rendered
    from packwise.select import Package

_STREAM = ("stream", "")
_KPTFILE = "Kptfile"
_RENAMING = ("namePrefix", "nameSuffix", "namespace")
_WORKLOADS = frozenset({POD_CLIQUE_SET.key, DYNAMO_GRAPH.key})
_DEFINING = frozenset(kind.key for kind in KINDS if kind.before_workloads)
_MOST_BASES = 100
"""Kustomizations that may build on each other at most."""


def has_repeated(results: Iterable[Result]) -> bool:
    """True if an object is said to stand twice."""
    return any(result.tags.get("rule") == ONCE.name for result in results)


def variants_as_one(results: Iterable[Result], group: Group) -> tuple[Result, ...]:
    """The results; where all of it is asked about at once, its variants are one error, which names one to ask about."""
    results = tuple(results)
    layers = layers_of(group) if has_repeated(results) else []
    if len(layers) < 2:
        return results
    twice = {finding.subject for layer in layers for finding in repetitions(layer)}
    of_variants = [finding for finding in repetitions(group.package.items) if finding.subject not in twice]
    texts = {str(finding.to_result()) for finding in of_variants}
    if not texts.intersection(map(str, results)):
        return results
    first = of_variants[0]
    number = len(of_variants)
    are = "1 object is a variant of another" if number == 1 else f"{number} objects are variants of others"
    message = (
        f"must stand in the input once; {are}, which no client applies together: name the file or folder of "
        f"one, as {' or '.join(_places_of(first.subject, group.package.items))}"
    )
    others = [result for result in results if str(result) not in texts]
    return (*others, first.replace(message=message).to_result())


def _places_of(variant: KubeObject | None, items: Iterable[KubeObject]) -> list[str]:
    """Where two variants of an object stand: each by its folder, or by its file where the folder has variants too."""
    items = [item for item in items if item.file is not None]
    same = [item for item in items if variant is not None and identity(item.value) == identity(variant.value)]
    places: list[str] = []
    for file in list(dict.fromkeys([item.file or "" for item in same]))[:2]:
        folder = posixpath.dirname(file)
        within = [each for each in items if (each.file or "").startswith(f"{folder}/")]
        places.append(folder if folder and not _repeated_identities(within) else file)
    return places


def layers_of(group: Group) -> list[tuple[KubeObject, ...]]:
    """The items of the group in layers: of objects that are variants of one another, each has one.

    The first layer has everything that is no later variant; a later one has nothing else than variants.
    """
    items = group.package.items
    clients = _Clients(group)
    layers: list[list[KubeObject]] = [[]]
    # Of each identity, the keys of the items that each layer has.
    taken: dict[Identity, list[set[tuple[str, str]]]] = {}
    repeated = _repeated_identities(items)
    # Below a configuration, topologies of one name are of one cluster, whatever their folders.
    varying = _WORKLOADS | _DEFINING if group.applied == "file" else _WORKLOADS
    for item in items:
        key = identity(item.value)
        if key not in repeated or key[:2] not in varying:
            layers[0].append(item)
            continue
        keys = clients.keys_of(item)
        variants = taken.setdefault(key, [])
        # What is applied together has to stand in one layer, where it is found to stand twice.
        place = next((place for place, variant in enumerate(variants) if variant & keys), len(variants))
        if place == len(variants):
            variants.append(set())
        variants[place] |= keys
        if place == len(layers):
            layers.append([])
        layers[place].append(item)
    return [tuple(layer) for layer in layers]


def packages_of(package: Package, layers: Sequence[tuple[KubeObject, ...]]) -> list[Package]:
    """The package with the items of each layer; a later one reads what the first one has of definitions.

    A variant is compared with what its own file held in the baseline.
    """
    variants = {identity(item.value) for layer in layers[1:] for item in layer}
    first = layers[0]
    own = [
        first,
        *[
            (*[item for item in first if _is_read(item) and identity(item.value) not in variants], *layer)
            for layer in layers[1:]
        ],
    ]
    return [package.replace(items=items, baseline=_baseline(package.baseline, items, variants)) for items in own]


def _is_read(item: KubeObject) -> bool:
    """True if workloads are judged by the item."""
    return identity(item.value)[:2] not in _WORKLOADS


def _baseline(
    baseline: tuple[KubeObject, ...] | None, items: Iterable[KubeObject], variants: set[Identity]
) -> tuple[KubeObject, ...] | None:
    if baseline is None:
        return None
    earlier: dict[Identity, list[KubeObject]] = {}
    for item in baseline:
        if is_readable(item) and (key := identity(item.value)) in variants:
            earlier.setdefault(key, []).append(item)
    chosen = [_before(item, earlier.get(identity(item.value), [])) for item in items]
    others = [item for item in baseline if not is_readable(item) or identity(item.value) not in variants]
    return (*others, *[item for item in chosen if item is not None])


def _before(item: KubeObject, baseline: Sequence[KubeObject]) -> KubeObject | None:
    """Of the objects of one identity in a baseline, the one whose file's path ends as that of `item` does."""
    path = _steps(item.file)
    common = [_common(path, _steps(each.file)) for each in baseline]
    best = max(common, default=0)
    return baseline[common.index(best)] if best else None


def _steps(file: str | None) -> list[str]:
    return (file or "").rpartition(":")[2].split("/")[::-1]


def _common(mine: list[str], other: list[str]) -> int:
    """The number of names that two paths have in common, from the last one on."""
    number = 0
    for own, theirs in zip(mine, other, strict=False):
        if own != theirs:
            break
        number += 1
    return number


def _repeated_identities(items: Iterable[KubeObject]) -> set[Identity]:
    seen: set[Identity] = set()
    return {key for item in items if (key := identity(item.value)) in seen or seen.add(key)}


class _Clients:
    """Who applies the file of an item: each key stands for something that one client applies at once."""

    def __init__(self, group: Group) -> None:
        self._applied = group.applied
        self._kustomizations = [real(name) for name in group.kustomizations]
        self._keys: dict[str, frozenset[tuple[str, str]]] = {}
        self._named: dict[str, tuple[tuple[str, ...], bool]] = {}
        self._reached: dict[str, frozenset[str]] = {}

    def keys_of(self, item: KubeObject) -> frozenset[tuple[str, str]]:
        """The keys of what the item is applied with."""
        if self._applied == "all" or item.file is None or item.origin.file is None:
            return frozenset({_STREAM})
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
        """The files that a build reaches whose objects it does not rename before they meet others."""
        if kustomization in self._reached:
            return self._reached[kustomization]
        if kustomization in outer or len(outer) > _MOST_BASES:
            return frozenset()
        reached: set[str] = set()
        for path in self._bases_of(kustomization)[0]:
            inner = _kustomization_in(path)
            if inner is None:
                reached.add(path)
            elif not self._bases_of(inner)[1]:
                reached |= self._reach(inner, (*outer, kustomization))
        if not outer:
            # Within a cycle this depends on where it was entered.
            self._reached[kustomization] = frozenset(reached)
        return frozenset(reached)

    def _bases_of(self, kustomization: str) -> tuple[tuple[str, ...], bool]:
        """The real paths that a kustomization builds on, and whether it renames what it builds."""
        if kustomization not in self._named:
            value = mapping_in(landmark_text(Path(kustomization)) or "")
            folder = folder_of(kustomization)
            entries = [entry for key in ("resources", "bases") for entry in texts_in(value.get(key))]
            paths = tuple(real(posixpath.join(folder, entry)) for entry in entries if "://" not in entry)
            self._named[kustomization] = paths, any(value.get(key) for key in _RENAMING)
        return self._named[kustomization]


def _folders_up(start: str) -> Iterator[str]:
    """The folder and those above it, up to the root of its repository where it is in one."""
    for folder in (start, *map(str, Path(start).parents)):
        yield folder
        if (Path(folder) / ".git").exists():
            return


def _kustomization_in(folder: str) -> str | None:
    paths = [posixpath.join(folder, name) for name in KUSTOMIZATIONS]
    return next((path for path in paths if Path(path).is_file()), None)


_OF_WORKLOADS = frozenset({ABSENT.name, KAI_UNNAMED.name})
"""Rules about what only workloads ask for: where there is none, they report nothing."""

_NAMES = frozenset(kind.name for kind in WORKLOADS)


def is_of_release(result: Result) -> bool:
    """True if a result says that nobody names the release: what else a command says rests on the assumed one."""
    return result.tags.get("rule") == UNNAMED.name


class Judgement(Record):
    """The sorted `results` of all groups, and what was judged; whether a workload `is_new`: it has no status."""

    results: tuple[Result, ...]
    coverage: Coverage = Coverage()
    is_new: bool = False


class Layer(Record):
    """The `group` with the items of one of its layers, the render of that, and the layer's own `files`."""

    files: frozenset[str | None]
    group: Group
    rendered: Rendered


class _Verdict(Record):
    """The verdict of a render on one group: the results that are reported, and how many `workloads` it judged.

    `judge` says by what they were judged, None where nothing configures a render. Whether a workload `is_new`: it has
    no status. `objects` are the workloads that are Kubernetes objects. It `has_plans` where workloads need a release of
    Grove or KAI.
    """

    results: tuple[Result, ...]
    workloads: int
    judge: str | None
    is_new: bool
    objects: int
    has_plans: bool


def judge(checkup: Checkup) -> Judgement:
    """The results of each file, by its own configuration."""
    judged = [(group, _verdict_of(group)) for group in checkup.groups]
    results = [*checkup.results]
    passed = rules_missed_by(checkup.results)
    # Where there is a workload, the others need none; where there is none, nothing asks for a configuration.
    passed |= {NO_WORKLOADS.name} if any(each.workloads for _, each in judged) else set()
    passed |= set() if any(each.has_plans for _, each in judged) else _OF_WORKLOADS
    for _, each in judged:
        results += [result for result in each.results if result.tags.get("rule") not in passed]
    coverage = groups_covered(checkup, [(group, each.workloads, each.judge, each.objects) for group, each in judged])
    # A definition that several groups read is wrong once.
    unique = {str(result): result for result in _with_reasons(results, coverage)}
    is_new = any(each.is_new for _, each in judged)
    return Judgement(sort_results(without_echoes(unique.values())), coverage, is_new)


def _verdict_of(group: Group) -> _Verdict:
    """The verdict on a group; objects that no client applies together are judged apart."""
    rendered = render(group.package, is_listed=False)
    layers = layers_rendered(group, rendered)
    judged = [layer.rendered for layer in layers]
    results = _select_reported(results_of(layers), rendered.obstacles, group)
    workloads = [item for item in group.package.items if item.get("kind") in _NAMES]
    is_new = any(not item.get("status") for item in workloads)
    number, planned = sum(each.workloads for each in judged), [plan.workload for each in judged for plan in each.plans]
    if group.unchanged:
        number = sum(item.location().file not in group.unchanged for each in judged for item in each.judged_workloads)
        planned = [item for item in planned if item.location().file not in group.unchanged]
    objects = sum([objects_judged(each, group.unchanged) for each in judged])
    return _Verdict(results, number, judge_of(rendered), is_new, objects, bool(planned))


def layers_rendered(group: Group, rendered: Rendered, *, is_listed: bool = False) -> list[Layer]:
    """The group with its render; where its objects have variants, that of each of its layers."""
    layers = layers_of(group) if has_repeated(rendered.results) else []
    if len(layers) < 2:
        return [Layer(frozenset(), group, rendered)]
    packages = packages_of(group.package, layers)
    return [
        Layer(
            frozenset(item.file for item in items),
            group.replace(package=package),
            render(package, is_listed=is_listed),
        )
        for items, package in zip(layers, packages, strict=True)
    ]


def results_of(layers: Sequence[Layer]) -> list[Result]:
    """The results of all layers; of the later ones those about their own files, and what is said once is said once."""
    results = list(layers[0].rendered.results)
    for layer in layers[1:]:
        known = {result.tags.get("rule") for result in results} & rules_of_packages()
        results += [
            result
            for result in layer.rendered.results
            if (result.file is None or result.file.path in layer.files) and result.tags.get("rule") not in known
        ]
    return results


def _with_reasons(results: Iterable[Result], coverage: Coverage) -> Iterator[Result]:
    """The results; that there is no workload is said with what was passed over, for formats without a last line."""
    over = count_unjudged(coverage.reasons)
    for result in results:
        is_absence = result.tags.get("rule") == NO_WORKLOADS.name and over
        yield result.replace(message="; ".join([result.message, *over])) if is_absence else result


def rules_missed_by(unread: Iterable[Result]) -> set[str]:
    """Rules that miss what a file may hold that cannot be read, as `unread` says: they are not reported beside that."""
    return {ABSENT.name, NO_WORKLOADS.name} if exit_code(unread) else set()


def _select_reported(results: Iterable[Result], obstacles: Iterable[Result], group: Group) -> tuple[Result, ...]:
    """Those of the results of a group that are about what the user named, or keep it from being judged.

    `obstacles` are those about what objects are judged by.
    """
    # There can be a hundred thousand of each: looked up, not compared with one another.
    preventing = {repr(result) for result in obstacles if result.severity is Severity.ERROR}
    results = list(results)
    if group.unchanged:
        changed = {id(result) for result in _without_earlier(results, group)}
        results = [result for result in results if id(result) in changed or repr(result) in preventing]
    return tuple(result for result in results if _is_reported(result, group) or repr(result) in preventing)


def _without_earlier(results: Iterable[Result], group: Group) -> list[Result]:
    """The results but for those on unchanged files that were there before; what keeps others from being judged stays.

    A change can break a file that it does not touch: a second object of a name is reported at either.
    """

    results = list(results)
    about = [result for result in results if result.file is not None and result.file.path in group.unchanged]
    new: set[int] = set()
    for package in group.before if about else ():
        earlier = layers_rendered(group.replace(package=package), render(package, is_listed=False))
        known = fingerprints(results_of(earlier))
        new.update([id(result) for result in compare(results, frozenset(known)).new])
    passed = {id(result) for result in about if not prevents(result)} - new
    return [result for result in results if id(result) not in passed]


def _is_reported(result: Result, group: Group) -> bool:
    """True if a result is about a file that is judged, or an error of what configures it."""
    file = None if result.file is None else result.file.path
    if file not in group.around:
        return True
    return file in group.configurations and result.severity is Severity.ERROR
