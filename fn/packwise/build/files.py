"""Built objects as files to check: their names, their configuration, and the places of their findings.

A built file is named after its template or resource and its owner. A finding about it is moved back to the template, if
possible to the line, and names the values files.
"""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from hashlib import sha256

from krmfn.fieldpath import FieldError, parse_path
from krmfn.hints import TYPE_CHECKING, Record
from krmfn.kubeobject import KubeObject
from krmfn.result import Result, ResultFile
from krmfn.yamltext import YamlError
from packwise.build.applications import applies_hook, is_test
from packwise.build.charts import helm_hooks
from packwise.build.lines import template_line
from packwise.build.sources import ChartSource, KustomizationSource
from packwise.build.tree import objects_at, readable_content, text_at
from packwise.inputs.paths import InputPath
from packwise.inputs.reader import BuiltFrom, Document, InputFile, decode, is_readable
from packwise.lenient import mapping, text
from packwise.objects.index import identity
from packwise.objects.kinds import CLUSTER_SCOPED
from packwise.settings.configuration import is_operator, is_settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from krmfn.value import Value
    from packwise.build.builder import Built
    from packwise.build.links import Trees
    from packwise.build.sources import Delivery
    from packwise.build.tree import FileTree
    from packwise.objects.index import Identity

_SUFFIXES = (".yaml", ".yml", ".json")
_CONFIGURATION = re.compile(rb"\bTopologyRender\b|\boperator\.config\.grove\.io/")


def built_files(built: Sequence[Built], trees: Trees, top: str, shown: Callable[[str], str]) -> list[InputFile]:
    """Return all built objects as files to check. `shown` returns the name of a repository path for users."""
    files: list[InputFile] = []
    later: dict[tuple[str, str, str, str], frozenset[Identity]] = {}
    for each, place in reversed(list(zip(built, _places(built), strict=True))):
        # If several sources of an Application deliver an object, the last one counts: spec/sources.md#2.6.
        passed = later.get(each.delivery.owner.key, frozenset())
        own = [_remove_later(file, passed) for file in _files_of(each, place, trees, top, shown)]
        delivered = {identity(item.value) for file in own for item in file.items if is_readable(item)}
        later[each.delivery.owner.key] = passed | delivered
        files = [*own, *files]
    return files


def _places(built: Sequence[Built]) -> list[str]:
    """Return a name for the folder of each build. The name does not change if other builds change."""
    counted = Counter[str]()
    places: list[str] = []
    for each in built:
        about = repr((each.delivery.owner.key, each.delivery.source.folder, each.delivery.path))
        counted[about] += 1
        places.append(sha256(f"{about} {counted[about]}".encode()).hexdigest()[:16])
    return places


def _remove_later(file: InputFile, passed: frozenset[Identity]) -> InputFile:
    """Return the file without the objects that a later source also delivers."""
    if not passed:
        return file
    kept = [
        document
        for document in file.documents
        if document.item is None or not is_readable(document.item) or identity(document.item.value) not in passed
    ]
    return file.replace(documents=tuple(kept))


def _files_of(built: Built, number: str, trees: Trees, top: str, shown: Callable[[str], str]) -> Iterator[InputFile]:
    delivery = built.delivery
    tree = trees.view(delivery.owner)
    source = delivery.source
    texts: dict[str, list[str]] = {}
    unknown = _file_of_source(delivery, tree)
    for each in built.objects:
        texts.setdefault(each.file or unknown, []).append(each.text)
    place = configured_folder(delivery, tree)
    is_chart = isinstance(source, ChartSource)
    values = tuple([shown(each) if tree.is_file(each) else each for each in source.values_names]) if is_chart else ()
    for path, documents in texts.items():
        joined = "---\n".join([each if each.endswith("\n") else f"{each}\n" for each in documents])
        name = f"{shown(path)} ({delivery.owner.title})"
        folder = posixpath.join(top, place, ".built", number)
        at = InputPath(name, path, is_named=True, at=posixpath.join(folder, path))
        origin = BuiltFrom(
            shown(path),
            text_at(tree, path) if tree.is_file(path) else "",
            delivery.owner.title,
            delivery.owner.cluster,
            values,
            "chart" if is_chart else "kustomization" if isinstance(source, KustomizationSource) else "directory",
        )
        try:
            file = decode(joined.encode(), at)
        except FieldError:
            continue
        kept = [_deliver_document(document, delivery) for document in file.documents]
        yield file.replace(documents=tuple(each for each in kept if each is not None), built=origin)


def _file_of_source(delivery: Delivery, tree: FileTree) -> str:
    """Return the path for objects of unknown origin: the source's main file, otherwise the owner's file."""
    folder = delivery.source.folder
    names = ("Chart.yaml", "kustomization.yaml", "kustomization.yml", "Kustomization")
    hits = [path for name in names if tree.is_file(path := posixpath.join(folder, name))]
    return hits[0] if hits else delivery.owner.file


def configured_folder(delivery: Delivery, tree: FileTree) -> str:
    """Return the folder that selects the configuration of a delivery.

    It is the owner's folder if that folder or one above has a configuration, otherwise the source's folder.
    """
    folder = posixpath.dirname(delivery.owner.file)
    above = folder
    while True:
        paths = [path for path in tree.files_in(above) if path.endswith(_SUFFIXES)] if tree.is_folder(above) else []
        if any(_CONFIGURATION.search(readable_content(tree, path)) and _configures(tree, path) for path in paths):
            return folder
        if not above:
            return delivery.source.folder
        above = posixpath.dirname(above)


def _configures(tree: FileTree, path: str) -> bool:
    return any(is_settings(item) or is_operator(item) for item in objects_at(tree, path))


def _deliver_document(document: Document, delivery: Delivery) -> Document | None:
    """Return the document as its owner delivers it. Return None if it is not delivered or configures packwise."""
    item = document.item
    if item is None or not is_readable(item):
        return document
    source = delivery.source
    if isinstance(source, ChartSource):
        if source.argo_hooks and not applies_hook(item.value):
            return None
        if not source.tests and not source.argo_hooks and is_test(item.value):
            return None
    elif delivery.owner.kind == "Application" and not applies_hook(item.value):
        return None
    if is_settings(item) or is_operator(item):
        return None
    metadata = mapping(source.metadata if isinstance(source, (ChartSource, KustomizationSource)) else None)
    namespace = delivery.namespace
    if isinstance(source, ChartSource):
        # A release without a namespace is in Helm's default namespace.
        namespace = source.namespace or namespace or "default"

    def change(each: KubeObject) -> KubeObject:
        value = _with_namespace(each.value, namespace)
        if not (isinstance(source, ChartSource) and helm_hooks(value)):
            # helm-controller adds the metadata in a post-renderer, and Helm passes no hooks to it.
            value = _with_metadata(value, metadata)
        return each if value is each.value else KubeObject.cut(each.source, value)

    return document.replace(item=change(item), entries=tuple(map(change, document.entries)))


def _with_namespace(value: Mapping[str, Value], namespace: str) -> Mapping[str, Value]:
    """Return an object with the namespace of its delivery, or unchanged if it has one already or its kind has none."""
    metadata = mapping(value.get("metadata"))
    if not namespace or metadata.get("namespace") or not metadata:
        return value
    if text(value.get("kind")) in CLUSTER_SCOPED:
        return value
    return {**value, "metadata": {**metadata, "namespace": namespace}}


def _with_metadata(value: Mapping[str, Value], added: Mapping[str, Value]) -> Mapping[str, Value]:
    """Return an object with the labels and annotations that Flux gives all objects."""
    if not added:
        return value
    metadata = dict(mapping(value.get("metadata")))
    for field in ("labels", "annotations"):
        if mapping(added.get(field)):
            metadata[field] = {**mapping(metadata.get(field)), **mapping(added.get(field))}
    return {**value, "metadata": metadata}


class _Places(Record):
    """The built files by their names, and the pattern of a place in one of them."""

    files: Mapping[str, InputFile]
    expression: re.Pattern[str] | None


def locate_results(results: Iterable[Result], files: Iterable[InputFile]) -> list[Result]:
    """Return the results. A result about a built file is moved to the source of the file."""
    by_name = {str(file.path.name): file for file in files if file.built is not None}
    if not by_name:
        return list(results)
    names = "|".join(map(re.escape, sorted(by_name, key=len, reverse=True)))
    places = _Places(by_name, re.compile(rf"({names}):(\d+)(:\d+)?"))
    return [_locate(result, places) for result in results]


def _locate(result: Result, places: _Places) -> Result:
    file = None if result.file is None else places.files.get(result.file.path)
    message = result.message
    if places.expression is not None and " (" in message:
        message = places.expression.sub(lambda match: _named_place(match, places), message)
    if file is None or file.built is None:
        return result if message == result.message else result.replace(message=message)
    built = file.built
    line, column = _line_of(result, file)
    tags = {key: tag for key, tag in result.tags.items() if key not in ("line", "column")}
    if line is not None:
        tags["line"] = str(line)
        if column is not None:
            tags["column"] = str(column)
    if built.kind != "directory":
        tags["owner"] = built.owner
        if built.values:
            tags["values"] = ", ".join(built.values)
        message = f"{message}; built by {built.owner}{_with_values(built.values)}"
    return result.replace(message=message, file=ResultFile(built.template), tags=tags)


_MAX_VALUES = 5


def _with_values(values: Sequence[str]) -> str:
    if not values:
        return ""
    named = [*values[:_MAX_VALUES], *(["…"] if len(values) > _MAX_VALUES else [])]
    return f" with {', '.join(named)}"


def _named_place(match: re.Match[str], places: _Places) -> str:
    file = places.files[match[1]]
    if file.built is None:
        return match[0]
    line = _built_line(file.built, file.text, int(match[2]))
    return match[1] if line is None else match[1].replace(file.built.template, f"{file.built.template}:{line}", 1)


def _built_line(built: BuiltFrom, output: str, line: int) -> int | None:
    if built.kind == "directory":
        return line
    return template_line(built.text, output, line) if built.kind == "chart" and built.text else None


def _line_of(result: Result, file: InputFile) -> tuple[int | None, int | None]:
    """Return the line of a result in its source, or None. Also return the column if the file is delivered unchanged."""
    built, line = file.built, result.tags.get("line", "")
    if built is None or not line.isdigit():
        return None, None
    if built.kind == "directory":
        column = result.tags.get("column", "")
        return int(line), int(column) if column.isdigit() else None
    if built.kind == "chart":
        return _built_line(built, file.text, int(line)), None
    return _resource_line(result, file), None


def _resource_line(result: Result, file: InputFile) -> int | None:
    """Return the line of the result's field in the kustomization's resource.

    Return the line of the object if the resource does not set the field. Return None if the resource and the built
    object have different values in the field, or if the object is not found.
    """
    from krmfn.kubeobject import text_location

    built, ref = file.built, result.resource_ref
    if built is None or ref is None or not built.text:
        return None
    path = () if result.field is None else parse_path(result.field.path)
    item = next((each for each in file.items if is_readable(each) and _is_called(each, ref.kind, ref.name)), None)
    if item is None:
        return None
    own = _same_object(built.text, ref.kind, ref.name)
    if own is None:
        return None
    try:
        hits = own.get(path, None)
        if path and (hits is None or hits != item.get(path, None)):
            # A patch or a transformer has set the field, or the field is set nowhere.
            return text_location(own.source, ()).line if hits is None else None
        return text_location(own.source, path).line
    except (FieldError, YamlError, ValueError):
        return None


def _is_called(item: KubeObject, kind: str, name: str) -> bool:
    return text(item.value.get("kind")) == kind and text(mapping(item.value.get("metadata")).get("name")) == name


def _same_object(content: str, kind: str, name: str) -> KubeObject | None:
    """Return the object in the text `content` from which a build made an object, or None.

    The build may have added a prefix or suffix to its name.
    """
    from packwise.build.tree import documents_in

    hits = [each for each in documents_in(content, "") if isinstance(each, KubeObject)]
    of_kind = [each for each in hits if text(each.value.get("kind")) == kind]
    names = [text(mapping(each.value.get("metadata")).get("name")) for each in of_kind]
    same = [each for each, own in zip(of_kind, names, strict=True) if own == name]
    near = same or [each for each, own in zip(of_kind, names, strict=True) if own and own in name]
    return near[0] if len(near) == 1 else None
