"""What Grove's front end reports about a derived PodCliqueSet, at the fields of the graph that it is derived from."""

from __future__ import annotations

from krmfn.fieldpath import format_path
from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from packwise.objects.place import Origin, Place
from packwise.placement import Gang

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from krmfn.fieldpath import FieldPath
    from krmfn.kubeobject import KubeObject
    from krmfn.value import Value
    from packwise.findings.finding import Finding
    from packwise.frontends.dynamo.trace import Trace
    from packwise.placement import Bounds, Node, Placement

__all__ = ["Derived"]


class Derived(NamedTuple):
    """A PodCliqueSet that was derived from `workload`; `trace` says where there each part of it is written."""

    item: KubeObject
    workload: KubeObject
    trace: Trace
    source: str

    def finding(self, finding: Finding) -> Finding:
        """`finding` at the field that caused it, where it is about the derived object."""
        if finding.subject is not self.item:
            return finding
        written = self.trace.written(finding.path)
        if written.through:
            return finding._replace(subject=self.workload, path=written.path, location=None)
        derived = f" (`{format_path(finding.path)}` of the PodCliqueSet that Dynamo makes)" if finding.path else ""
        return finding._replace(
            subject=self.workload,
            path=written.path,
            message=finding.message + derived,
            at_key=written.at_key,
            location=None,
            proposed=None,
        )

    def repeats(self, finding: Finding, texts: Iterable[str]) -> bool:
        """Whether it is about a value that holds one of `texts` and stands in the derived object alone."""
        if finding.subject is not self.item or self.trace.written(finding.path).through:
            return False
        value = self.item.get(finding.path)
        return isinstance(value, str) and any(text in value for text in texts)

    def placement(self, placement: Placement) -> Placement:
        """`placement` as one of the graph's."""
        return placement._replace(node=self._node(placement.node), source=self.source, subject=self.workload)

    def origins(self) -> Mapping[FieldPath, Origin]:
        """The origin of each part of the derived object."""
        return {path: Origin(self._place(path), "spec/dynamo.md#3") for path in _paths(self.item.value, ())}

    def _node(self, node: Node) -> Node:
        if not isinstance(node, Gang):
            return node
        return node._replace(
            sets=tuple([
                pods._replace(origin=self.origin(pods.origin), bounds=self._bounds(pods.bounds)) for pods in node.sets
            ]),
            bounds=None if node.bounds is None else self._bounds(node.bounds),
            origin=self.origin(node.origin),
            owner=self.origin(node.owner),
            naming=None if node.naming is None else self.origin(node.naming),
        )  # fmt: skip

    def _bounds(self, bounds: Bounds) -> Bounds:
        return bounds if bounds.origin is None else bounds._replace(origin=self.origin(bounds.origin))

    def origin(self, origin: Origin) -> Origin:
        """`origin` in the graph, where it is in the derived object."""
        place = origin.place
        if place.item is not self.item:
            return origin
        fields: dict[str, FieldPath | Place] = {}
        for name, steps in origin.fields.items():
            fields[name] = steps if isinstance(steps, Place) else self._place((*place.path, *steps))
        return Origin(self._place(place.path), origin.rule, fields)

    def _place(self, path: FieldPath) -> Place:
        return Place(self.workload, self.trace.written(path).path)


def _paths(value: Value, path: FieldPath) -> list[FieldPath]:
    """The paths of all mappings and lists within `value`, and of their scalars."""
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(inner for step, part in entries for inner in _paths(part, (*path, step)))]
