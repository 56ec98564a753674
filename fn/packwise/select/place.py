"""Where a configuration stands: in an object, or as a document in the data of a ConfigMap."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from krmfn.fieldpath import format_path
from krmfn.source import Location
from packwise.finding import Finding

if TYPE_CHECKING:
    from krmfn.fieldpath import FieldPath
    from krmfn.kubeobject import KubeObject
    from packwise.api import TopologyRender
    from packwise.finding import Rule, Severity, Stage

__all__ = ["Place", "settings_place"]


class Place(NamedTuple):
    """A mapping in `item` at `path`. With `embedded`, the text at `path` is a YAML document that is, or holds, it.

    `inner` is the path of the mapping within that document. With `texts`, each entry of the mapping at `path` is such a
    text: the data of a ConfigMap.
    """

    item: KubeObject
    path: FieldPath = ()
    embedded: bool = False
    inner: FieldPath = ()
    texts: bool = False

    def below(self, *steps: str | int) -> Place:
        """The place of a part of the mapping."""
        if self.embedded:
            return Place(self.item, self.path, True, (*self.inner, *steps))
        if self.texts:
            long = f"spec.{steps[0]}"
            key = steps[0] if self.item.get((*self.path, long)) is None else long
            return Place(self.item, (*self.path, key), True, steps[1:])
        return Place(self.item, (*self.path, *steps))

    @property
    def told(self) -> str:
        """The place as a message names it: file, line, column and field."""
        field = format_path(self.path) + (f" ({format_path(self.inner)})" if self.inner else "")
        return f"{self._location()} {field}".rstrip()

    def finding(
        self,
        rule: Rule,
        message: str,
        *,
        severity: Severity | None = None,
        operator_message: str | None = None,
        stage: Stage | None = None,
        order: int = 0,
        at_key: bool = False,
    ) -> Finding:
        """What `rule` has to say about this place."""
        if self.embedded and self.inner:
            message = f"{format_path(self.inner)} {message}"
        return Finding.of(
            rule,
            self.item,
            self.path,
            message,
            severity=severity,
            operator_message=operator_message,
            stage=stage,
            order=order,
            at_key=at_key,
            location=self._location() if self.embedded else None,
        )

    def _location(self) -> Location:
        outer = self.item.location(self.path)
        if not self.embedded:
            return outer
        from krmfn.yamltext import YamlError, locate, locate_nearest

        origin = self.item.origin
        text = self.item.get(self.path)
        try:
            span = locate(origin.text, (*origin.root, *self.path))
            inner = locate_nearest(text, self.inner) if isinstance(text, str) else None
        except YamlError:
            return outer
        # Only in a literal block does a line of the document stand on a line of its own.
        if span is None or inner is None or not origin.text.startswith("|", span.start):
            return outer
        lines = origin.text[span.start :].split("\n", inner.line + 1)
        first = next((line for line in lines[1:] if line.strip()), "")
        name = self.item.location(self.path, key=True)
        before = origin.text[origin.text.rfind("\n", 0, span.start) + 1 : span.start]
        indent = len(first) - len(first.lstrip()) - (len(before) - len(before.lstrip(" -")))
        return Location(outer.file, outer.line + inner.line, name.column + max(indent, 0) + inner.column - 1)


def settings_place(settings: TopologyRender) -> Place:
    """Where packwise's own settings stand. Raises ValueError where nobody gave any."""
    item = settings.item
    if item is None:
        raise ValueError("settings that nobody gave stand nowhere")
    return Place(item, ("data",), texts=True) if settings.embedded else Place(item, ("spec",))
