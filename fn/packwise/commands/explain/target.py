"""The part of an explanation that a user asks about: an object, or a line of the input."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from krmfn.source import is_client_key
from packwise.commands.explain.explanation import annotated_values, is_yaml, location_of, value_of, values_of
from packwise.objects.identity import identity
from packwise.objects.place import Place

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from krmfn.fieldpath import FieldPath
    from krmfn.kubeobject import KubeObject
    from packwise.commands.explain.explanation import Emitted, EmittedValue, Explanation, WorkloadTree
    from packwise.placement import Omission

__all__ = ["Chosen", "ChosenObject", "at_line", "named", "names"]


_NEAR = 2
"""How many steps above a field of the line the field around it may be, of which a value is made as a whole."""


class ChosenObject(NamedTuple):
    """An object with those of its values that are asked about."""

    emitted: Emitted
    values: tuple[EmittedValue, ...]


class Chosen(NamedTuple):
    """What a user asked about. `fields` are those of the line; `copies` are objects whose number it states.

    `around` is the field from which the values come where none comes from the line alone: the line is a part of it.
    `added` are annotations that packwise adds to the workloads themselves, by workload.
    """

    workloads: tuple[WorkloadTree, ...] = ()
    objects: tuple[ChosenObject, ...] = ()
    copies: tuple[Emitted, ...] = ()
    missing: tuple[Omission, ...] = ()
    fields: tuple[str, ...] = ()
    around: str = ""
    added: tuple[tuple[WorkloadTree, tuple[EmittedValue, ...]], ...] = ()


def names(explanation: Explanation) -> list[str]:
    """How a user names each workload and each object: `Kind/namespace/name`."""
    objects = [emitted.name.replace(" ", "/", 1) for emitted in explanation.objects]
    return [*(_reference(tree.source) for tree in explanation.workloads), *objects]


def named(explanation: Explanation, name: str) -> Chosen | None:
    """The workloads and objects of that name, `Kind/namespace/name` or `Kind/name`; None where there is none.

    A kind may have its API group, as in `PodGroup.scheduling.run.ai/team-a/a-0`.
    """
    workloads = tuple(tree for tree in explanation.workloads if _is_named(_reference(tree.source), name))
    objects = tuple(each for each in explanation.objects if _is_object(each, name))
    if not workloads and not objects:
        return None
    chosen = [ChosenObject(each, tuple(values_of(each, explanation.lookup))) for each in objects]
    added = [(tree, tuple(annotated_values(tree.written, explanation.lookup))) for tree in workloads]
    return Chosen(workloads, tuple(chosen), added=tuple(each for each in added if each[1]))


def at_line(explanation: Explanation, file: str | None, line: int) -> Chosen | None:
    """The values that come from a line of the input, and the objects whose number it states; None: no such line.

    A line of an object that packwise rendered earlier asks about the values which stand there.
    """
    places = _Line(line, [item for item in explanation.items if _file(item) == file])
    if not places.fields:
        return None
    values = [(emitted, list(values_of(emitted, explanation.lookup))) for emitted in explanation.objects]
    objects = _with_values(values, places.has)
    copies = [each for each in explanation.objects if any(places.is_at(origin.place) for origin in each.copies)]
    missing = [each for tree in explanation.workloads for each in tree.missing if places.is_at(each.origin.place)]
    fields = [Place(item, path).field for item, paths in places.shown() for path in paths if path]
    chosen = Chosen((), objects, tuple(copies), tuple(missing), tuple(fields))
    if objects or copies or missing:
        return chosen
    around = places.around(
        [each.cause.place for _, listed in values for each in listed if each.cause.place is not None]
    )
    if around is None:
        return chosen
    return chosen._replace(
        objects=_with_values(values, lambda _, each: each.cause.place == around), around=around.field
    )


def _with_values(
    values: Iterable[tuple[Emitted, list[EmittedValue]]], is_wanted: Callable[[Emitted, EmittedValue], bool]
) -> tuple[ChosenObject, ...]:
    """The objects with the values that are wanted, where they have any."""
    chosen = [
        ChosenObject(emitted, tuple(each for each in listed if is_wanted(emitted, each))) for emitted, listed in values
    ]
    return tuple(each for each in chosen if each.values)


def _reference(source: str) -> str:
    """`OSMO workflow train` as a name on the command line: `workflow/train`."""
    kind, _, name = source.rpartition(" ")
    return f"{kind.rpartition(' ')[2]}/{name}"


def _is_named(reference: str, name: str) -> bool:
    kind, _, full = reference.partition("/")
    wanted, _, rest = name.partition("/")
    return kind.casefold() == wanted.casefold() and rest in (full, full.rpartition("/")[2])


def _is_object(emitted: Emitted, name: str) -> bool:
    group, kind, namespace, own = identity(emitted.item.value)
    wanted, _, rest = name.partition("/")
    return wanted in (kind, f"{kind}.{group}") and rest in (own, f"{namespace}/{own}")


def _file(item: KubeObject) -> str | None:
    return location_of(item).file


class _Line:
    """A line, and the fields that begin there, by the object they are of; `items` are those of the line's file.

    An object is told by the text it is read from: what is made of a template has the text of that.
    """

    __slots__ = ("_items", "_line", "fields")

    def __init__(self, line: int, items: Iterable[KubeObject]) -> None:
        self._line = line
        self._items = {item.origin: item for item in items}
        self.fields = {key: paths for key, item in self._items.items() if (paths := _paths_at(item, line))}

    def shown(self) -> Iterator[tuple[KubeObject, list[FieldPath]]]:
        """The innermost fields of the line, by object."""
        for key, paths in self.fields.items():
            yield self._items[key], _innermost(paths)

    def is_at(self, place: Place | None) -> bool:
        """Whether the place is a field of the line, or within one."""
        if place is None or place.item.origin not in self.fields:
            return False
        if place.embedded or place.derived is not None:
            # Lines of a document within the object are no fields of it.
            return place.location().line == self._line
        paths = self.fields[place.item.origin]
        within = any(place.path[: len(path)] == path for path in _innermost(paths))
        return within or (place.path in paths and place.location().line == self._line)

    def around(self, places: Iterable[Place]) -> Place | None:
        """The nearest of `places` that the line is a part of, a few steps up; None where none is."""
        inner = [(key, path) for key, paths in self.fields.items() for path in _innermost(paths)]
        outer = [
            place
            for place in places
            for key, path in inner
            if place.item.origin == key and place.path and not place.embedded and place.derived is None
            if place.path == path[: len(place.path)] and len(path) - len(place.path) <= _NEAR
        ]
        return max(outer, key=lambda place: len(place.path), default=None)

    def has(self, emitted: Emitted, value: EmittedValue) -> bool:
        """Whether a value comes from the line; or stands there, in the object of an earlier render."""
        before = emitted.before
        if before is not None and before.origin in self.fields:
            return any(value.path[: len(path)] == path for path in _innermost(self.fields[before.origin]))
        return self.is_at(value.cause.place) or self.is_at(value.cause.through)


def _innermost(paths: Iterable[FieldPath]) -> list[FieldPath]:
    listed = list(paths)
    return [path for path in listed if not any(other != path and other[: len(path)] == path for other in listed)]


def _paths_at(item: KubeObject, line: int) -> list[FieldPath]:
    """The fields that begin on the line; where none does, that which begins nearest above it within the object.

    A document that is no YAML, as a template, has no fields: it is on all of its lines as a whole.
    """
    last = item.origin.line + item.origin.text.count("\n", 0, len(item.origin.text.rstrip()))
    if not is_yaml(item):
        return [()] if item.origin.line <= line <= last else []
    by_line: dict[int, list[FieldPath]] = {}
    open_paths: list[FieldPath] = [()]
    while open_paths:
        path = open_paths.pop()
        by_line.setdefault(item.location(path, key=True).line, []).append(path)
        value = item.get(path) if path else value_of(item)
        steps = value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
        open_paths += [(*path, step) for step in reversed(list(steps)) if not _is_clients(item, path, step)]
    above = [start for start in by_line if start <= line]
    return by_line[max(above)] if above and line <= max(last, *above) else []


def _is_clients(item: KubeObject, path: FieldPath, step: str | int) -> bool:
    """Whether a client added the field to the object that it read from the file."""
    is_added = item.origin.file is None and path == ("metadata", "annotations")
    return is_added and isinstance(step, str) and is_client_key(step)
