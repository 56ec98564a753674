"""Migrate a DynamoGraphDeployment from v1alpha1 to v1beta1. Every comment is kept. Source: spec/dynamo.md#2.3.

Lines of a field that both versions have are moved unchanged. Other fields are written again, and their comments move
above the component. The result must equal the converted graph, and it must have the same PodCliqueSet as before.
"""

from __future__ import annotations

from itertools import pairwise

from krmfn.edit import is_same_json
from krmfn.hints import TYPE_CHECKING, Record
from krmfn.kubeobject import KubeObject
from krmfn.yamltext import YamlError, locate, read, write
from krmfn.yamltext.places import comments
from packwise.frontends.dynamo.convert import BETA, COMPONENT_FIELDS, SAVED, to_v1beta1
from packwise.frontends.dynamo.graph import Graph, shape_problems
from packwise.frontends.dynamo.shape import shape_of
from packwise.lenient import mapping, mappings_in_place
from packwise.revisions.dynamo import NEWEST, RELEASES, goes_with, release_of
from packwise.settings.topologyrender import Dynamo

if TYPE_CHECKING:
    from collections.abc import Mapping

    from krmfn.fieldpath import FieldPath
    from krmfn.value import Value
    from packwise.revisions.grove import Step

_WITHOUT_COUNTERPART = {
    "ingress": "v1beta1 has no such field; write the Ingress as a separate object",
    "frontendSidecar": "v1beta1 names a container of the pod template instead; write the container",
}
_SPEC = {"services": "components", "envs": "env"}
_IN_PLACE = (
    "cannot move this field; write it in block style, with each entry on its own line, and without anchors and aliases"
)
_STEP = 2


def migrate(item: KubeObject, step: Step) -> KubeObject:
    """Return `item`, a graph of v1alpha1, as v1beta1.

    Return `item` itself if it is invalid, or if a release of Dynamo for the target does not serve v1beta1. Raise
    FieldError if v1beta1 has no field for a value, or if the lines of a field cannot be moved.
    """
    known = None if step.dynamo is None else release_of(step.dynamo)
    releases = [release for release in RELEASES if goes_with(release, step.target)] if known is None else [known]
    has_v1beta1 = bool(releases) and all(release.serves_v1beta1 for release in releases)
    if not has_v1beta1 or any(problem.stage for problem in shape_problems(item.value)):
        return item
    _refuse_lost_fields(item)
    converted = _without_saved(to_v1beta1(item.value).value)
    text = _GraphRewriting(item, converted).text()
    try:
        value = read(text)
    except YamlError:
        raise item.error(("spec",), _IN_PLACE) from None
    if not isinstance(value, dict) or not is_same_json(value, converted):
        raise item.error(("spec",), _IN_PLACE)
    _refuse_other_shape(item, value)
    return KubeObject.cut(item.source.replace(text=text), value)


def _refuse_lost_fields(item: KubeObject) -> None:
    spec = mapping(item.get(("spec",)))
    for name, service in mapping(spec.get("services")).items():
        for key, reason in _WITHOUT_COUNTERPART.items():
            if mapping(service).get(key) is not None:
                raise item.error(
                    ("spec", "services", name, key), f"must be removed before the migration: {reason}", key=True
                )
    for index, claim in enumerate(mappings_in_place(spec.get("pvcs"))):
        if claim.get("create") is True:
            message = "must be removed before the migration: v1beta1 makes no claims; write a PersistentVolumeClaim"
            raise item.error(("spec", "pvcs", index, "create"), message)
    if item.source.root:
        raise item.error((), "cannot move this graph to v1beta1; write it as a separate document")


def _without_saved(value: Mapping[str, Value]) -> Mapping[str, Value]:
    """Return `value` without the annotation of saved fields, which the operator ignores or v1beta1 does not need."""
    metadata = dict(mapping(value.get("metadata")))
    annotations = {key: text for key, text in mapping(metadata.get("annotations")).items() if key != SAVED}
    metadata.pop("annotations", None)
    return {**value, "metadata": {**metadata, "annotations": annotations} if annotations else metadata}


def _refuse_other_shape(item: KubeObject, value: Mapping[str, Value]) -> None:
    """Raise FieldError if the migration would change the PodCliqueSet."""
    before = Graph.read(to_v1beta1(item.value).value, is_alpha=True)
    after = Graph.read(value, is_alpha=False)
    shapes = [shape_of(graph, NEWEST, Dynamo()).value for graph in (before, after)]
    if not is_same_json(shapes[0], shapes[1]):
        raise item.error(("spec",), "the graph becomes another PodCliqueSet as v1beta1; migrate it by hand")


class _BlockEntry(Record):
    """An entry of a block mapping. It has the lines from `first` up to, but not including, `end`.

    Its key is at `line` and `column`. Comments above the key belong to the entry. All numbers are counted from 0.
    """

    key: str
    first: int
    line: int
    end: int
    column: int


class _GraphRewriting:
    """The rewriting of one document. `converted` is the value that the result must have."""

    def __init__(self, item: KubeObject, converted: Mapping[str, Value]) -> None:
        self._item, self._converted = item, converted
        self._text = item.source.text
        self._lines = self._text.splitlines()

    def text(self) -> str:
        """Return the text of the whole new document."""
        top = self._entries((), 0, len(self._lines))
        written: list[str] = []
        for entry in top:
            if entry.key == "apiVersion":
                written += self._replace_line(entry, f"apiVersion: {BETA}")
            elif entry.key == "spec":
                written += [*self._lines[entry.first : entry.line + 1], *self._spec(entry)]
            else:
                written += self._lines[entry.first : entry.end]
        head = self._lines[: min([entry.first for entry in top], default=0)]
        return "\n".join([*head, *written]) + ("\n" if self._text.endswith("\n") else "")

    def _spec(self, owner: _BlockEntry) -> list[str]:
        written: list[str] = []
        for entry in self._entries(("spec",), owner.line + 1, owner.end):
            if entry.key == "pvcs":
                written += self._comments(entry, entry.column)
            elif entry.key == "services":
                written += self._rename(entry, entry.line + 1, "components")
                written += self._components(entry)
            elif entry.key == "topologyConstraint":
                lines = self._lines[entry.first : entry.end]
                written += [line.replace("topologyProfile:", "clusterTopologyName:") for line in lines]
            else:
                written += self._rename(entry, entry.end, _SPEC.get(entry.key, entry.key))
        return written

    def _components(self, owner: _BlockEntry) -> list[str]:
        entries = self._entries_within(("spec", "services"), owner)
        components = mappings_in_place(mapping(self._converted["spec"]).get("components"))
        written: list[str] = []
        for key, entry in entries.items():
            if mapping(self._item.get(("spec", "services"))).get(key) is None:
                written += self._comments(entry, owner.column)
        for component in components:
            entry = entries[str(component["name"])]
            lines = self._component(entry, component, owner.column)
            kept = comments("\n".join(lines))
            lost = [text for text in self._comment_texts(entry) if text not in kept]
            written += [f"{' ' * owner.column}{text}" for text in lost] + lines
        return written

    def _component(self, owner: _BlockEntry, component: Mapping[str, Value], column: int) -> list[str]:
        """Return the lines of one component, indented to `column`: its name, its fields, and last its pod template."""
        path: FieldPath = ("spec", "services", owner.key)
        name = write({"name": component["name"]}).strip()
        indent = column + _STEP
        entries = self._entries_within(path, owner)
        written = [*self._lines_above(owner, column), f"{' ' * column}- {name}{self._trailing_comment(owner)}"]
        template: list[str] = []
        for key, value in component.items():
            if key == "name":
                continue
            if key == "podTemplate":
                template = self._template(path, entries, mapping(value), indent)
            elif key in COMPONENT_FIELDS and key in entries:
                written += self._move(entries[key], indent)
            else:
                written += self._written_lines({key: value}, indent)
        return [*written, *template]

    def _template(
        self, path: FieldPath, entries: Mapping[str, _BlockEntry], value: Mapping[str, Value], indent: int
    ) -> list[str]:
        """Return the lines of the pod template. Lines of unchanged fields of extraPodSpec are moved."""
        written = [f"{' ' * indent}podTemplate:"]
        inner = indent + _STEP
        if "metadata" in value:
            alone = not {"annotations", "labels"} & entries.keys() and "extraPodMetadata" in entries
            written += (
                self._move(entries["extraPodMetadata"], inner, "metadata")
                if alone
                else self._written_lines({"metadata": value["metadata"]}, inner)
            )
        if "spec" not in value:
            return written
        written.append(f"{' ' * inner}spec:")
        spec, inner = mapping(value["spec"]), inner + _STEP
        extra = entries.get("extraPodSpec")
        old = {} if extra is None else self._entries_within((*path, "extraPodSpec"), extra)
        for key, part in spec.items():
            if key == "containers":
                written += self._containers((*path, "extraPodSpec"), old, mappings_in_place(part), inner)
            elif key in old and is_same_json(self._item.get((*path, "extraPodSpec", key)), part):
                written += self._move(old[key], inner)
            else:
                written += self._written_lines({key: part}, inner)
        return written

    def _containers(
        self, path: FieldPath, entries: Mapping[str, _BlockEntry], containers: list[Mapping[str, Value]], indent: int
    ) -> list[str]:
        main = entries.get("mainContainer")
        if main is None:
            return self._written_lines({"containers": list(containers)}, indent)
        old = self._entries_within((*path, "mainContainer"), main)
        blank = " " * indent
        written = [
            *self._lines_above(main, indent),
            f"{blank}containers:{self._trailing_comment(main)}",
            f"{blank}- name: main",
        ]
        for key, part in containers[0].items():
            if key == "name":
                continue
            if key in old and is_same_json(self._item.get((*path, "mainContainer", key)), part):
                written += self._move(old[key], indent + _STEP)
            else:
                written += self._written_lines({key: part}, indent + _STEP)
        others = list(containers[1:])
        return written + (self._written_lines(others, indent) if others else [])

    def _entries_within(self, path: FieldPath, owner: _BlockEntry) -> dict[str, _BlockEntry]:
        """Return the entries of the mapping that is the value of `owner`, by key."""
        return {entry.key: entry for entry in self._entries(path, owner.line + 1, owner.end)}

    def _entries(self, path: FieldPath, first: int, end: int) -> list[_BlockEntry]:
        """Return the entries of the mapping at `path` on the lines from `first` to `end`.

        Raise FieldError if they are not in block style.
        """
        keys = list(mapping(self._item.get(path) if path else self._item.value))
        places: list[tuple[str, int, int]] = []
        for key in keys:
            span = locate(self._text, (*path, key), key=True)
            if span is None or self._lines[span.line - 1][: span.column - 1].strip():
                raise self._item.error((*path, key), _IN_PLACE)
            places.append((key, span.line - 1, span.column - 1))
        if any(earlier[1] >= later[1] or earlier[2] != later[2] for earlier, later in pairwise(places)):
            raise self._item.error(path, _IN_PLACE)
        starts = [self._start(line, column, first) for _, line, column in places]
        ends = [*starts[1:], end][: len(places)]
        return [
            _BlockEntry(key, start, line, stop, column)
            for (key, line, column), start, stop in zip(places, starts, ends, strict=True)
        ]

    def _start(self, line: int, column: int, first: int) -> int:
        """Return the first line of the comments directly above an entry's key, or the line of the key."""
        start = line
        while start > first:
            above = self._lines[start - 1]
            blanks = len(above) - len(above.lstrip(" "))
            if above.strip() and not (above.lstrip().startswith("#") and blanks <= column):
                break
            start -= 1
        return start

    def _move(self, entry: _BlockEntry, column: int, name: str | None = None) -> list[str]:
        lines = self._rename(entry, entry.end, name or entry.key)
        return [self._shift(line, column - entry.column) for line in lines]

    def _rename(self, entry: _BlockEntry, end: int, name: str) -> list[str]:
        lines = self._lines[entry.first : end]
        if name == entry.key:
            return lines
        at, line = entry.line - entry.first, self._lines[entry.line]
        lines[at] = line[: entry.column] + name + line[line.index(":", entry.column) :]
        return lines

    def _replace_line(self, entry: _BlockEntry, line: str) -> list[str]:
        return [
            *self._lines[entry.first : entry.line], line + self._trailing_comment(entry),
            *self._lines[entry.line + 1 : entry.end],
        ]  # fmt: skip

    def _lines_above(self, entry: _BlockEntry, column: int) -> list[str]:
        return [self._shift(line, column - entry.column) for line in self._lines[entry.first : entry.line]]

    def _trailing_comment(self, entry: _BlockEntry) -> str:
        """Return the comment at the end of the line with an entry's key, after a space. Return "" without a comment."""
        inline = comments(self._lines[entry.line].strip())
        return f" {inline[0]}" if inline else ""

    def _comment_texts(self, entry: _BlockEntry) -> list[str]:
        return comments("\n".join(self._lines[entry.first : entry.end]))

    def _comments(self, entry: _BlockEntry, column: int) -> list[str]:
        """Return the comments of a removed entry, each as a line that is indented to `column`."""
        return [f"{' ' * column}{text}" for text in self._comment_texts(entry)]

    def _written_lines(self, value: Value, column: int) -> list[str]:
        return [f"{' ' * column}{line}" if line else line for line in write(value).splitlines()]

    def _shift(self, line: str, by: int) -> str:
        if not line.strip() or by == 0:
            return line
        if by > 0:
            return " " * by + line
        blanks = len(line) - len(line.lstrip(" "))
        return line[min(-by, blanks) :]
