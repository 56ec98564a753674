"""Places in Kubernetes objects, the origin of derived values, and the objects that a render makes."""

from __future__ import annotations

import re

from krmfn.fieldpath import FieldPath, format_path
from krmfn.hints import TYPE_CHECKING, Record
from krmfn.kubeobject import KubeObject, Location
from krmfn.result import ResourceRef
from krmfn.yamltext import YamlError
from packwise.findings import Finding, Problem, Rule

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from krmfn.result import Severity
    from krmfn.value import Value
    from packwise.findings import Stage


def place_text(item: KubeObject) -> str:
    """Return the place of the object for a message. A line of stdin also names the object because its text is not at
    hand.
    """
    return _with_object(item.location(), item)


def _with_object(at: Location, item: KubeObject) -> str:
    return str(at) if at.file is not None or not item.kind else f"{at} {ResourceRef.of(item.id)}"


class Derived(Record):
    """A text made from the document in the file, such as a filled-in template.

    `lines` maps each line of `text` to its 1-based line of the document. If it is empty, the lines are the same.
    """

    text: str
    lines: tuple[int, ...] = ()


class Place(Record):
    """A mapping in `item` at `path`. With `embedded`, the text at `path` is a YAML document that contains it.

    `inner` is the path of the mapping within that document. With `texts`, each entry of the mapping at `path` is such a
    text, as in a ConfigMap's data. If the document was read from a text made from it, `derived` is that text.
    """

    item: KubeObject
    path: FieldPath = ()
    embedded: bool = False
    inner: FieldPath = ()
    texts: bool = False
    derived: Derived | None = None

    def below(self, *steps: str | int) -> Place:
        """The place of a part of the mapping."""
        if self.embedded:
            return self.replace(inner=(*self.inner, *steps))
        if self.texts:
            long = f"spec.{steps[0]}"
            key = steps[0] if self.item.get((*self.path, long)) is None else long
            return Place(self.item, (*self.path, key), True, steps[1:])
        return Place(self.item, (*self.path, *steps), inner=self.inner, derived=self.derived)

    @property
    def description(self) -> str:
        """Return the place for a message: file, line, column and field. In stdin it names the object too."""
        return f"{_with_object(self.location(), self.item)} {self.field}".rstrip()

    @property
    def field(self) -> str:
        """Return the path in the object and the path within an embedded document."""
        return format_path(self.path) + (f" ({format_path(self.inner)})" if self.inner else "")

    def finding(
        self,
        rule: Rule,
        message: str | Problem,
        *,
        severity: Severity | None = None,
        operator_message: str | None = None,
        stage: Stage | None = None,
        order: int = 0,
        at_key: bool = False,
    ) -> Finding:
        """A finding of `rule` about this place, or about the path of a problem below it.

        A problem in place of `message` has the operator's text and its stage, too.
        """
        if isinstance(message, Problem):
            problem = message
        else:
            problem = Problem((), message, operator_message, stage, at_key=at_key)
        place, text = self.below(*problem.path) if problem.path else self, problem.message
        if place.embedded and place.inner:
            text = f"{format_path(place.inner)} {text}"
        return Finding.of(
            rule,
            place.item,
            problem.replace(path=place.path, message=text),
            severity=severity,
            order=order,
            location=place.location(key=problem.at_key) if place.embedded or place.derived is not None else None,
        )

    def location(self, *, key: bool = False) -> Location:
        """Return the location of the place or, with `key`, of its key. It is inside an embedded document if
        possible.
        """
        if not self.embedded and self.derived is None:
            return self.item.location(self.path)
        from krmfn.yamltext.places import nearest_position

        text = self.item.get(self.path) if self.derived is None else self.derived.text
        inner = self.inner if self.embedded else self.path
        try:
            line, column = (
                nearest_position(text, inner, key=key and not self.embedded) if isinstance(text, str) else (0, 0)
            )
        except YamlError:
            line, column = 0, 0
        if self.derived is not None and self.derived.lines and line:
            line = self.derived.lines[line - 1]
        return self.location_of(line, column)

    def location_of(self, line: int, column: int = 1) -> Location:
        """Return the location in the file of a line of the document, or of the whole text if its lines cannot be
        located.

        Line and column are 1-based.
        """
        origin = self.item.origin
        if not self.embedded:
            return Location(origin.file, origin.line + max(line, 1) - 1, max(column, 1))
        from krmfn.yamltext.places import start_offsets

        outer = self.item.location(self.path)
        try:
            (start,) = start_offsets(origin.text, [(*origin.root, *self.path)])
        except YamlError:
            return outer
        # Only a literal block has each line of the document on its own line.
        if start is None or line < 1 or not origin.text.startswith("|", start):
            return outer
        first = _first_line(origin.text, start)
        name = self.item.location(self.path, key=True)
        before = origin.text[origin.text.rfind("\n", 0, start) + 1 : start]
        indent = len(first) - len(first.lstrip()) - (len(before) - len(before.lstrip(" -")))
        return Location(outer.file, outer.line + line, name.column + max(indent, 0) + column - 1)


_LINE = r"\n([^\S\n]*+\S.*)"


def _first_line(text: str, start: int) -> str:
    """Return the first non-blank line after the line at `start`, or ""."""
    line = re.compile(_LINE).search(text, start)
    return line[1] if line else ""


class Origin(Record):
    """The place in the input from which a node is made, and the rule that makes it.

    `rule` names a section of the operator's specification. `fields` maps a field of the node to its source: a path
    below the place, or another place.
    """

    place: Place
    rule: str
    fields: Mapping[str, FieldPath | Place] = {}

    def of(self, field: str) -> Origin:
        """Return the origin of one field of the node, or the node's own."""
        steps = self.fields.get(field)
        if steps is None:
            return self
        return Origin(steps if isinstance(steps, Place) else self.place.below(*steps), self.rule)


class Generated(Record):
    """An object to write. `value` is the manifest without packwise's own annotations.

    `source` describes its origin in words and `subject` is that object, or None without a configuration. `notes` are
    further annotations without the prefix `packwise.dev/`. With `recreate`, the API server refuses updates. The object
    must be deleted and created, and it satisfies every rule of its CRD. With `emit_by_default`, it is written even if
    `spec.emit` is not set. `judged` is true if the cluster's CRD has judged it already. A `preview` is for review only:
    a component of the cluster makes and owns the object. `origins` computes the origin of each part of the manifest.
    """

    value: Mapping[str, Value]
    source: str
    subject: KubeObject | None
    origins: Callable[[], Mapping[FieldPath, Origin]]
    notes: Mapping[str, str] = {}
    recreate: bool = False
    emit_by_default: bool = False
    judged: bool = False
    preview: bool = False


# Group, kind, namespace and name of an object, its generator, and the key of a gang in any epoch.


# Identifies a PodGang of a workload in any epoch. The epoch in a name is the time at which the operator created the
# gang. Two renders, or a render and a cluster, therefore agree on the gang but not on its name. The PodGroup of a
# PodGang has its labels, and the same key. Source: spec/grove-releases.md#3.4.


# Lists of objects, as kubectl and the API server print them. They are read as their entries. Source: Kubernetes API
# conventions, "Lists are named by appending List".


# Compact JSON for annotations. Plain texts need no import of a JSON library.
