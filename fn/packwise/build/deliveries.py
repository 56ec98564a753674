"""All deliveries of a repository: its owners, their sources, and further owners among the built objects.

Owners are built before standalone sources. A kustomization or chart is not built alone if an owner builds it, or if
another one builds on it. Source: spec/sources.md#1.
"""

from __future__ import annotations

import posixpath
import re

from krmfn.fieldpath import FieldError
from krmfn.hints import TYPE_CHECKING, Record
from krmfn.kubeobject import KubeObject, Source
from krmfn.yamltext import YamlError, read, split_documents
from packwise.build.applications import GROUP as ARGO
from packwise.build.applications import application_owner, application_sources, enables_helm
from packwise.build.applicationsets import applications_of, set_owner
from packwise.build.builder import Builder, Built, has_chart, reads_of
from packwise.build.charts import CHART, evaluate_templates, is_library
from packwise.build.flux_kustomizations import GROUP as FLUX_KUSTOMIZE
from packwise.build.flux_kustomizations import kustomization_owner, kustomization_sources
from packwise.build.helmreleases import GROUP as FLUX_HELM
from packwise.build.helmreleases import release_owner, release_sources
from packwise.build.kustomization_files import Kustomizations, folders_named_by
from packwise.build.links import Trees
from packwise.build.sources import (
    ChartSource,
    Delivery,
    KustomizationSource,
    Obstacle,
    Owner,
    Repository,
    SourceError,
    Unbuilt,
    Values,
    path_from_top,
)
from packwise.build.tree import objects_at, readable_content
from packwise.discovery import KUSTOMIZATIONS
from packwise.lenient import entries, mapping, mappings_by_place, text, text_at

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from krmfn.value import Value
    from packwise.build.sources import Planned
    from packwise.build.tree import FileTree

_SUFFIXES = (".yaml", ".yml", ".json")
_OWNING = re.compile(rb"\bargoproj\.io/|\btoolkit\.fluxcd\.io/|\bTopologyRender\b")
_MAKES = re.compile(rb"^ *+kind: *+[\"']?(?:Application|ApplicationSet|HelmRelease|Kustomization)\b", re.MULTILINE)
_REFERRED = re.compile(rb"\bGitRepository\b|\bHelmChart\b|\bConfigMap\b|\bSecret\b")
_REFERRED_KINDS = frozenset({"GitRepository", "HelmChart", "ConfigMap", "Secret"})
_MAX_ROUNDS = 20


class Found(Record):
    """An owner found in a file of the repository or in another owner's delivery."""

    owner: Owner
    value: Mapping[str, Value]


class Delivered(Record):
    """The built and unbuilt sources, and the paths of files that are checked only in their built form."""

    built: tuple[Built, ...] = ()
    unbuilt: tuple[Unbuilt, ...] = ()
    reads: frozenset[str] = frozenset()


def repository_of(tree: FileTree, remotes: Sequence[str], revisions: Iterable[str]) -> Repository:
    """Return the repository with the files of `tree`."""
    repository = Repository(tree, tuple(remotes), frozenset(revisions), tuple(_references_in(tree)))
    return repository.replace(argocd_helm=enables_helm(repository.objects))


def _references_in(tree: FileTree) -> Iterator[tuple[str, KubeObject]]:
    for path in _manifests(tree):
        if _REFERRED.search(readable_content(tree, path)):
            yield from (
                (path, item) for item in objects_at(tree, path) if text(item.value.get("kind")) in _REFERRED_KINDS
            )


def _manifests(tree: FileTree) -> Iterator[str]:
    """Yield the paths of YAML and JSON files that are not templates of charts."""
    for path in tree.files_below(""):
        if path.endswith(_SUFFIXES) and not _is_template(tree, path):
            yield path


def _is_template(tree: FileTree, path: str) -> bool:
    start = path.find("/templates/")
    while start >= 0 or path.startswith("templates/"):
        folder = path[: max(start, 0)]
        if has_chart(tree, folder):
            return True
        if start < 0:
            return False
        start = path.find("/templates/", start + 1)
    return False


def deliver(repository: Repository, builder: Builder, is_in_scope: Callable[[str], bool]) -> Delivered:
    """Return the repository's deliveries if their owner, or a path that they read, is in scope."""
    return _Delivering(repository, builder, is_in_scope).deliver_all()


class _Delivering:
    """The owners found so far and the outcomes of their sources."""

    def __init__(self, repository: Repository, builder: Builder, is_in_scope: Callable[[str], bool]) -> None:
        self._repository = repository
        self._tree = repository.tree
        self._trees = Trees.of(repository.tree)
        self._builder = builder
        self._is_in_scope = is_in_scope
        self._met: set[tuple[str, str, str, str]] = set()
        self._reads: set[str] = set()
        self._built: list[Built] = []
        self._unbuilt: list[Unbuilt] = []
        self._plain: list[Found] = []
        self._owning: set[str] = set()

    def deliver_all(self) -> Delivered:
        """Return the outcomes of all owners and sources."""
        self._plain = [each for path in _manifests(self._tree) for each in owners_in(self._tree, path)]
        self._owning = {each.owner.file for each in self._plain}
        self._deliver_owners()
        charts = [(each, self._reads_of(each)) for each in self._charts()]
        files = {posixpath.join(each.source.folder, CHART): each for each, _ in charts}
        # A chart that another chart depends on is built within that chart.
        inner = {path for each, reads in charts for path in reads & files.keys() if files[path] is not each}
        outer = [each for each in charts if posixpath.join(each[0].source.folder, CHART) not in inner]
        # A chart with Applications (an "app of apps") comes first: a source of its Applications is not built alone.
        self._follow([each for each in outer if not self._is_built(each[0]) and self._makes_owners(each[1])])
        rest = self._standalone_kustomizations(owning=False)
        self._follow([(each, self._reads_of(each)) for each in rest if not self._is_read(each)])
        self._follow([each for each in outer if not self._is_built(each[0])])
        return Delivered(tuple(self._built), tuple(self._unbuilt), frozenset(self._reads))

    def _deliver_owners(self) -> None:
        plans = [(each, self._plan(each)) for each in self._plain]
        own = [[(each, self._reads_of(each)) for each in planned] for _, planned in plans]
        alone = [(each, self._reads_of(each)) for each in self._standalone_kustomizations(owning=True)]
        named = {each.source.folder for _, planned in plans for each in planned if isinstance(each, Delivery)}
        alone = [(each, reads) for each, reads in alone if each.source.folder not in named]
        readers: dict[str, set[int]] = {}
        for at, listed in enumerate([*own, *[[each] for each in alone]]):
            for _, reads in listed:
                for path in reads & self._owning:
                    readers.setdefault(path, set()).add(at)
        roots = [at for at, (hits, _) in enumerate(plans) if not readers.get(hits.owner.file, set()) - {at}]
        # An owner reads the kustomizations on which it builds, so they are not built alone.
        built_on = {path for listed in own for _, reads in listed for path in reads}
        first = [each for each in alone if not self._kustomization_files(each[0].source.folder) & built_on]
        self._follow([*first, *[each for at in roots for each in own[at]]], [plans[at][0] for at in roots])
        for at, (hits, _) in enumerate(plans):
            # Owners that deliver each other in a cycle are left.
            is_left = hits.owner.key not in self._met and hits.owner.file not in self._reads
            if is_left:
                self._follow(own[at], [hits])

    def _follow(self, planned: Sequence[tuple[Planned, frozenset[str]]], owners: Sequence[Found] = ()) -> None:
        """Build the planned sources, then the deliveries of the owners among the built objects, and so on."""
        self._met.update(each.owner.key for each in owners)
        for _ in range(_MAX_ROUNDS):
            if not planned:
                return
            deliveries: list[Delivery] = []
            for each, reads in planned:
                if isinstance(each, Unbuilt):
                    self._reads |= reads
                    if self._is_wanted(each.owner, reads, each.folder):
                        self._unbuilt.append(each)
                    continue
                self._reads |= reads
                if self._is_wanted(each.owner, reads, each.source.folder) or self._has_owners(reads):
                    deliveries.append(each)
            hits: list[Found] = []
            referred: list[tuple[str, KubeObject]] = []
            for each, outcome in zip(deliveries, self._builder.build(deliveries), strict=True):
                if isinstance(outcome, Unbuilt):
                    if self._is_wanted(each.owner, self._reads_of(each), outcome.folder):
                        self._unbuilt.append(_without_blame(outcome))
                    continue
                self._reads |= outcome.reads
                if self._is_wanted(each.owner, outcome.reads, each.source.folder):
                    self._built.append(outcome)
                hits += self._owners_of(outcome)
                referred += _references_of(outcome)
            # Objects from a build have precedence over the same objects in files, because variables are substituted in
            # them.
            objects = (*referred, *self._repository.objects)
            self._repository = self._repository.replace(objects=objects)
            planned = []
            for each in hits:
                if each.owner.key not in self._met:
                    self._met.add(each.owner.key)
                    planned += [(single, self._reads_of(single)) for single in self._plan(each)]

    def _plan(self, hits: Found) -> list[Planned]:
        return plan_sources(hits, self._repository, self._trees.view(hits.owner))

    def _is_wanted(self, owner: Owner, reads: Iterable[str], folder: str | None) -> bool:
        if self._is_in_scope(owner.file) or any(map(self._is_in_scope, reads)):
            return True
        return folder is not None and self._is_in_scope(folder)

    def _has_owners(self, reads: frozenset[str]) -> bool:
        return any(
            path in self._owning or ("/templates/" in path and _OWNING.search(readable_content(self._tree, path)))
            for path in reads
        )

    def _reads_of(self, planned: Planned) -> frozenset[str]:
        if isinstance(planned, Delivery):
            return reads_of(planned, self._trees)
        folder = planned.folder
        if folder is None:
            return frozenset()
        below = self._tree.files_below(folder)
        if has_chart(self._tree, folder):
            return frozenset(below)
        if self._kustomization_files(folder):
            return frozenset(Kustomizations(self._tree).inputs(folder).files)
        if planned.owner.kind == "Kustomization":
            return frozenset(below)
        return frozenset([path for path in below if posixpath.dirname(path) == folder])

    def _kustomization_files(self, folder: str) -> set[str]:
        return {path for name in KUSTOMIZATIONS if self._tree.is_file(path := posixpath.join(folder, name))}

    def _is_built(self, delivery: Delivery) -> bool:
        """Return True if a chart is part of a build, or the source of an owner that cannot be built."""
        return posixpath.join(delivery.source.folder, CHART) in self._reads

    def _makes_owners(self, reads: frozenset[str]) -> bool:
        """Return True if a chart has a template that makes an owner."""
        return any("/templates/" in f"/{path}" and _MAKES.search(readable_content(self._tree, path)) for path in reads)

    def _is_read(self, delivery: Delivery) -> bool:
        return bool(self._kustomization_files(delivery.source.folder) & self._reads)

    def _owners_of(self, built: Built) -> Iterator[Found]:
        owner = built.delivery.owner
        for item in _objects_of(built, _OWNING):
            hits = _find_owner(item.value, item.file or owner.file, item, owner.cluster)
            if hits is not None and hits.owner.kind != "TopologyRender":
                yield hits

    def _standalone_kustomizations(self, *, owning: bool) -> list[Delivery]:
        """Return deliveries of the kustomizations on which no other one builds.

        With `owning`, return the ones that read a file with an owner, otherwise the other ones.
        """
        folders = sorted(
            {
                posixpath.dirname(path)
                for path in self._tree.files_below("")
                if posixpath.basename(path) in KUSTOMIZATIONS and not _is_template(self._tree, path)
            }
        )
        bases = set[str]().union(*[folders_named_by(self._tree, folder) for folder in folders])
        deliveries: list[Delivery] = []
        for folder in folders:
            if folder in bases:
                continue
            source = KustomizationSource(folder)
            owner = _sole_owner("kustomization", folder, next(iter(sorted(self._kustomization_files(folder)))))
            delivery = Delivery(owner, source)
            if bool(reads_of(delivery, self._trees) & self._owning) is owning:
                deliveries.append(delivery)
        return deliveries

    def _charts(self) -> list[Delivery]:
        """Return deliveries of charts with their own values. Skip libraries, and the charts within other charts."""
        deliveries: list[Delivery] = []
        for path in self._tree.files_below(""):
            folder, name = posixpath.split(path)
            if name != CHART or _is_template(self._tree, path) or is_library(self._tree, folder):
                continue
            above = posixpath.dirname(folder)
            if posixpath.basename(above) == "charts" and has_chart(self._tree, posixpath.dirname(above)):
                continue
            owner = _sole_owner("chart", folder, path)
            deliveries.append(Delivery(owner, ChartSource(folder, _release(folder))))
        return deliveries


def plan_sources(hits: Found, repository: Repository, tree: FileTree | None = None) -> list[Planned]:
    """Return an owner's deliveries, and its sources that cannot be built.

    `tree` has the files as the owner's controller sees them.
    """
    owner, value = hits.owner, hits.value
    seen = repository if tree is None else repository.replace(tree=tree)
    if owner.kind == "Application":
        return application_sources(value, owner, seen)
    if owner.kind == "ApplicationSet":
        created, errors = applications_of(value, repository, evaluate_templates)
        planned: list[Planned] = [error.of(owner) for error in errors]
        for each in created:
            single = application_owner(each, owner.file, owner.item)
            planned += application_sources(each, single, seen)
        return planned
    if owner.kind == "HelmRelease":
        return release_sources(value, owner, repository)
    if owner.kind == "Kustomization":
        return kustomization_sources(value, owner, repository)
    return _settings_sources(value, owner, seen)


def _release(folder: str) -> str:
    """Return the release name of a standalone chart."""
    name = re.sub(r"[^a-z0-9-]+", "-", posixpath.basename(folder).lower()).strip("-")[:53].strip("-")
    return name or "release"


def _sole_owner(kind: str, folder: str, file: str) -> Owner:
    """Return an owner for a standalone source. It counts as a cluster by itself, because its cluster is unknown."""
    return Owner(kind, folder, "", file, None, f"{kind} {folder}")


_LACKING = re.compile(r"nil pointer evaluating|required|expected (string|map|slice|list)|index of untyped nil")
"""Texts of Helm if a value that a template needs is missing."""


def _without_blame(outcome: Unbuilt) -> Unbuilt:
    """Return the outcome of a failed build. A standalone chart is then not an error.

    The chart may need values of its users. If the reason shows that, the obstacle is MISSING_VALUES.
    """
    if outcome.owner.kind != "chart":
        return outcome
    lacks_values = outcome.obstacle is Obstacle.FAILED and _LACKING.search(outcome.reason) is not None
    obstacle = Obstacle.MISSING_VALUES if lacks_values else outcome.obstacle
    return outcome.replace(is_wrong=False, obstacle=obstacle)


def _objects_of(built: Built, wanted: re.Pattern[bytes]) -> Iterator[KubeObject]:
    """Yield the objects of a build with the wanted words in their text, in the delivery's namespace."""
    for each in built.objects:
        if not wanted.search(each.text.encode()):
            continue
        for document in split_documents(each.text):
            try:
                value = read(document.text)
            except YamlError:
                continue
            if isinstance(value, dict):
                source = Source(document.text, (), document.line, 1, each.file)
                yield KubeObject.cut(source, _in_namespace(value, built.delivery.namespace))


def _references_of(built: Built) -> Iterator[tuple[str, KubeObject]]:
    """Yield the objects of a build that owners may refer to."""
    for item in _objects_of(built, _REFERRED):
        if text(item.value.get("kind")) in _REFERRED_KINDS:
            yield item.file or built.delivery.owner.file, item


def _in_namespace(value: Mapping[str, Value], namespace: str) -> Mapping[str, Value]:
    metadata = mapping(value.get("metadata"))
    if not namespace or metadata.get("namespace"):
        return value
    return {**value, "metadata": {**metadata, "namespace": namespace}}


def owners_in(tree: FileTree, path: str) -> Iterator[Found]:
    """Yield the owners in a file."""
    if not _OWNING.search(readable_content(tree, path)):
        return
    for item in objects_at(tree, path):
        try:
            hits = _find_owner(item.value, path, item, "")
        except FieldError:
            continue
        if hits is not None:
            yield hits


def _find_owner(value: Mapping[str, Value], file: str, item: KubeObject | None, cluster: str) -> Found | None:
    """Return the owner in an object, such as an Application or a TopologyRender with sources, or None."""
    kind, group = text(value.get("kind")), text(value.get("apiVersion")).partition("/")[0]
    if kind == "TopologyRender":
        owner = Owner(kind, text_at(value, "metadata", "name"), "", file, item)
        return Found(owner, value) if entries(mapping(value.get("spec")).get("sources")) else None
    make = _OWNERS.get((group, kind))
    return Found(make(value, file, item, cluster), value) if make and text_at(value, "metadata", "name") else None


_OWNERS: Mapping[tuple[str, str], Callable[[Mapping[str, Value], str, KubeObject | None, str], Owner]] = {
    # Argo CD's objects belong to its own cluster, whatever delivers them.
    (ARGO, "Application"): lambda value, file, item, _: application_owner(value, file, item),
    (ARGO, "ApplicationSet"): lambda value, file, item, _: set_owner(value, file, item),
    (FLUX_HELM, "HelmRelease"): release_owner,
    (FLUX_KUSTOMIZE, "Kustomization"): kustomization_owner,
}


def _settings_sources(value: Mapping[str, Value], owner: Owner, repository: Repository) -> list[Planned]:
    """Return deliveries of the charts in a TopologyRender's `sources`, with the values files in it."""
    planned: list[Planned] = []
    folder = posixpath.dirname(owner.file)
    for at, each in mappings_by_place(mapping(value.get("spec")).get("sources")):
        path = ("spec", "sources", at)
        chart = path_from_top(posixpath.join(folder, text(each.get("chart"))))
        name = text(each.get("release")) or _release(chart or "")
        own = owner.replace(name=f"{owner.name or owner.file}: {name}")
        try:
            if chart is None or not has_chart(repository.tree, chart):
                message = f'the repository has no chart "{text(each.get("chart"))}"'
                raise SourceError(Obstacle.FAILED, message, is_wrong=True, path=(*path, "chart"))
            values: list[Values] = []
            for position, entry in enumerate(entries(each.get("values"))):
                file = path_from_top(posixpath.join(folder, text(entry)))
                if file is None or not repository.tree.is_file(file):
                    message = f'values file "{text(entry)}" does not exist'
                    raise SourceError(Obstacle.MISSING_VALUES, message, is_wrong=True, path=(*path, "values", position))
                values.append(Values(file))
        except SourceError as error:
            planned.append(error.of(own, chart))
            continue
        namespace = text(each.get("namespace"))
        lists = tuple(_assignment(key, entry) for key, entry in mapping(each.get("set")).items())
        source = ChartSource(chart, name, namespace, tuple(values), lists=lists)
        planned.append(Delivery(own, source, namespace, (), path))
    return planned


def _assignment(key: str, value: Value) -> tuple[str, str]:
    """Return the option of Helm that sets `key` to a value, and its argument. A string stays a string."""
    if isinstance(value, str):
        escaped = re.sub(r"([,\\{}])", r"\\\1", value)
        return "--set-string", f"{key}={escaped}"
    from json import dumps

    return ("--set-json" if isinstance(value, (dict, list)) else "--set"), f"{key}={dumps(value)}"
