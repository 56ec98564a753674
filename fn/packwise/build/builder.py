"""A builder of deliveries. Each is built by its program, and several are built in parallel.

The results of unchanged deliveries come from a cache.
"""

from __future__ import annotations

import json
import posixpath
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from os import cpu_count

from krmfn.hints import TYPE_CHECKING, Record
from krmfn.yamltext import split_documents
from packwise.build.charts import (
    CHART,
    build_chart,
    chart_contents,
    chart_files,
    chart_value,
    chart_words,
    helm,
    helm_hooks,
)
from packwise.build.kustomizations import (
    BuiltObject,
    build_kustomization,
    kustomization_copy,
    kustomization_reads,
    kustomize,
    objects_of_output,
    post_rendered,
    runs_helm,
    substitute_object,
    with_origins,
)
from packwise.build.links import Trees, refuse_links
from packwise.build.sources import (
    ChartSource,
    Delivery,
    DirectorySource,
    KustomizationSource,
    SourceError,
    Unbuilt,
)
from packwise.lenient import entries, mapping, text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from krmfn.value import Value
    from packwise.build.sources import Planned
    from packwise.build.tree import FileTree

    Store = Callable[[str, bytes | None], bytes | None]
    """A cache. It returns the value of a key or None, and stores the value if one is passed."""


class Built(Record):
    """A delivery that is built: its objects in their order, and the paths in the repository that the build read."""

    delivery: Delivery
    objects: tuple[BuiltObject, ...]
    reads: frozenset[str]
    output: str = ""


Outcome = Built | Unbuilt


class Recipe(Record):
    """Everything that determines a build: program, arguments and files. Equal recipes give equal output."""

    program: str
    words: tuple[str, ...]
    contents: Mapping[str, bytes]
    path: str = ""
    kustomization: str = ""
    unrestricted: bool = False
    runs_helm: bool = False

    @property
    def key(self) -> str:
        """Return the name of the output in a cache."""
        about = [self.program, self.words, self.path, self.kustomization, self.unrestricted]
        digest = sha256(json.dumps(about).encode())
        for name, content in sorted(self.contents.items()):
            digest.update(f"\0{name}\0{len(content)}\0".encode() + content)
        return f"source {digest.hexdigest()}"


class Builder:
    """A builder of the deliveries of a tree. It reads earlier results from `store` and adds new ones.

    `advance` is called after each build with the number of finished builds and the number of all builds.
    """

    def __init__(
        self, tree: FileTree, store: Store | None = None, advance: Callable[[int, int], None] | None = None
    ) -> None:
        self._trees = Trees.of(tree)
        self._store = store
        self._advance = advance
        self._done = 0

    def build(self, deliveries: Sequence[Delivery]) -> list[Outcome]:
        """Return the outcome of each delivery in order."""
        prepared = [self._prepare(each) for each in deliveries]
        waiting = {
            recipe.key: recipe
            for recipe in prepared
            if isinstance(recipe, Recipe) and self._look_up(recipe.key) is None
        }
        outputs: dict[str, str | SourceError] = {}
        with ThreadPoolExecutor(max_workers=cpu_count() or 1) as pool:
            futures = {key: pool.submit(_attempt, recipe) for key, recipe in waiting.items()}
            for key, future in futures.items():
                outputs[key] = future.result()
                self._done += 1
                if self._advance is not None:
                    self._advance(self._done, self._done + len(futures) - len(outputs))
        for key, output in outputs.items():
            if self._store is not None and isinstance(output, str):
                self._store(key, output.encode())
        return [self._outcome(each, recipe, outputs) for each, recipe in zip(deliveries, prepared, strict=True)]

    def _look_up(self, key: str) -> str | None:
        content = None if self._store is None else self._store(key, None)
        return None if content is None else content.decode("utf-8", "replace")

    def _prepare(self, delivery: Delivery) -> Recipe | SourceError | None:
        """Return the recipe of a delivery, or the error that prevents its build.

        Return None if its files are delivered unchanged.
        """
        source, tree = delivery.source, self._trees.view(delivery.owner)
        try:
            if not isinstance(source, KustomizationSource):
                refuse_links(tree, source.folder)
            if isinstance(source, ChartSource):
                contents = chart_contents(tree, source)
                return Recipe(helm()[1], tuple(chart_words(source)), contents)
            if isinstance(source, DirectorySource):
                return None
            copied = kustomization_copy(tree, source)
            charts = any(runs_helm([each]) for each in copied.kustomizations)
            version = f"{kustomize()[1]} {helm()[1]}" if charts else kustomize()[1]
            value = json.dumps(with_origins(copied.kustomization))
            return Recipe(version, (), copied.contents, copied.file, value, source.unrestricted, charts)
        except SourceError as error:
            return error

    def _outcome(
        self, delivery: Delivery, recipe: Recipe | SourceError | None, outputs: Mapping[str, str | SourceError]
    ) -> Outcome:
        source = delivery.source
        if recipe is None:
            return self._directory(delivery)
        output = outputs.get(recipe.key, self._look_up(recipe.key) or "") if isinstance(recipe, Recipe) else recipe
        if isinstance(output, SourceError):
            return _unbuilt_delivery(output, delivery)
        try:
            if isinstance(source, ChartSource):
                return self._chart(delivery, source, output)
            return self._kustomization(delivery, source, output)  # pyright: ignore[reportArgumentType]
        except SourceError as error:
            return _unbuilt_delivery(error, delivery)

    def _chart(self, delivery: Delivery, source: ChartSource, output: str) -> Built:
        tree = self._trees.view(delivery.owner)
        files = chart_files(tree, source.folder)
        name = text(chart_value(tree, source.folder).get("name"))
        objects = [
            BuiltObject(document.text, _template(document.text, name, files.origin))
            for document in split_documents(output)
        ]
        if source.patches:
            by_id = {_kind_and_name(each.text): each.file for each in objects}
            # Helm 3 does not pass hooks to a post-renderer, and lists them last.
            parts: tuple[list[BuiltObject], list[BuiltObject]] = ([], [])
            for each in objects:
                parts[bool(helm_hooks(_value(each.text)))].append(each)
            rest, hooks = parts
            output = post_rendered("".join([f"---\n{each.text}" for each in rest]), source.patches)
            objects = [
                *(BuiltObject(each.text, by_id.get(_kind_and_name(each.text))) for each in split_documents(output)),
                *hooks,
            ]
            output = "".join([output, *(f"---\n{each.text}" for each in hooks)])
        layers = [*source.values, *(source.base or ())]
        read = [each.name for each in layers if each.is_file]
        reads = files.reads | {*read, *[path for _, path in source.files]}
        return Built(delivery, tuple(objects), self._trees.with_targets(reads), output)

    def _kustomization(self, delivery: Delivery, source: KustomizationSource, output: str) -> Built:
        tree = self._trees.view(delivery.owner)
        copied = kustomization_copy(tree, source)
        keeps = "originAnnotations" in entries(mapping(copied.kustomization).get("buildMetadata"))
        objects = [
            substitute_object(each, source) for each in objects_of_output(output, source.folder, keeps_notes=keeps)
        ]
        joined = "---\n".join([each.text if each.text.endswith("\n") else f"{each.text}\n" for each in objects])
        reads = self._trees.with_targets(kustomization_reads(tree, source))
        return Built(delivery, tuple(objects), reads, joined)

    def _directory(self, delivery: Delivery) -> Built:
        source = delivery.source
        if not isinstance(source, DirectorySource):
            raise TypeError(f"packwise does not build a directory source; got {type(source).__name__}")
        objects: list[BuiltObject] = []
        for path in source.files:
            content = self._trees.view(delivery.owner).read(path).decode("utf-8", "replace")
            # Each file is a separate text, so that its line numbers do not change.
            objects.append(BuiltObject(content, path))
        reads = self._trees.with_targets(frozenset([*source.files, *source.excluded]))
        return Built(delivery, tuple(objects), reads)


def _unbuilt_delivery(error: SourceError, delivery: Delivery) -> Unbuilt:
    """Return the delivery as unbuilt because of `error`.

    The path is the error's, or the field that names the source.
    """
    unbuilt = error.of(delivery.owner, delivery.source.folder)
    return unbuilt if unbuilt.path else unbuilt.replace(path=delivery.path)


def _attempt(recipe: Recipe) -> str | SourceError:
    try:
        if not recipe.path:
            return build_chart(recipe.contents, recipe.words)
        value = json.loads(recipe.kustomization)
        return build_kustomization(
            recipe.contents, recipe.path, value, runs_helm=recipe.runs_helm, unrestricted=recipe.unrestricted
        )
    except SourceError as error:
        return error


def _template(document: str, name: str, origin: Callable[[str], str]) -> str | None:
    """Return the path in the repository of the template that Helm names above an object, or None."""
    line = next((each for each in document.splitlines()[:3] if each.startswith(_SOURCE)), None)
    if line is None:
        return None
    path = line.removeprefix(_SOURCE).strip()
    return origin(path.removeprefix(f"{name}/"))


_SOURCE = "# Source: "


def _value(document: str) -> Mapping[str, Value]:
    from krmfn.yamltext import YamlError, read

    try:
        return mapping(read(document))
    except YamlError:
        return {}


def _kind_and_name(document: str) -> tuple[str, str]:
    value = _value(document)
    return text(value.get("kind")), text(mapping(value.get("metadata")).get("name"))


def reads_of(planned: Planned, trees: Trees) -> frozenset[str]:
    """Return the paths in the repository that a build reads, as far as they are known before the build."""
    if isinstance(planned, Unbuilt):
        return frozenset()
    return trees.with_targets(_reads_of(planned, trees.view(planned.owner)))


def _reads_of(planned: Delivery, tree: FileTree) -> frozenset[str]:
    source = planned.source
    if isinstance(source, DirectorySource):
        return frozenset([*source.files, *source.excluded])
    if isinstance(source, ChartSource):
        named = {each.name for each in (*source.values, *(source.base or ())) if each.is_file}
        try:
            return chart_files(tree, source.folder).reads | named
        except SourceError:
            return frozenset(tree.files_below(source.folder)) | named
    return kustomization_reads(tree, source)


def has_chart(tree: FileTree, folder: str) -> bool:
    """Return True if a folder is a chart."""
    return tree.is_file(posixpath.join(folder, CHART))
