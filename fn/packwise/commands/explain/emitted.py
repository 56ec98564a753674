"""The objects that a render writes, and the cause of each of their values."""

from __future__ import annotations

from krmfn.clientmeta import is_client_key
from krmfn.errors import FieldError
from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from krmfn.source import Location
from krmfn.yamltext import YamlError
from krmfn.yamltext.places import nearest
from packwise.annotate import CONDITIONS, LAST_ERRORS
from packwise.objects.identity import RENDERED_FROM, format_identity, identity
from packwise.objects.place import Origin, Place
from packwise.render import LOCAL_CONFIG, PATH

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from krmfn.fieldpath import FieldPath
    from krmfn.kubeobject import KubeObject
    from krmfn.value import Value
    from packwise.objects.place import Generated
    from packwise.placement import Gang
    from packwise.topology.levels import Level

__all__ = [
    "Cause",
    "Emitted",
    "EmittedValue",
    "Lookup",
    "annotated_values",
    "is_yaml",
    "location_of",
    "value_of",
    "values_of",
]

_ANNOTATIONS = ("metadata", "annotations")

_RULES = {
    PATH: "spec/packwise.md#1.2",
    RENDERED_FROM: "spec/packwise.md#2.1",
    LOCAL_CONFIG: "spec/packwise.md#apply",
    CONDITIONS: "spec/designs.md#5",
    LAST_ERRORS: "spec/designs.md#5",
    "packwise.dev/constraints": "spec/designs.md#3",
}
"""The rules of packwise's own annotations."""

_GITOPS = "spec/gitops.md"
_KEPT = "spec/clients.md#5.3"


class Cause(NamedTuple):
    """Why a value is there: `rule` makes it of what stands at `place`.

    `through` is the level or topology in which the value is looked up. `is_own`: packwise adds the value itself; its
    place, where it has one, is the setting that asks for it.
    """

    rule: str
    place: Place | None = None
    through: Place | None = None
    is_own: bool = False


class EmittedValue(NamedTuple):
    """A leaf of an object: a scalar, or an empty mapping or list; `cause` says why it is there."""

    path: FieldPath
    value: Value
    cause: Cause


class Emitted(NamedTuple):
    """An object of a render: `item` as it is written, `generated` what it is written from.

    `gang` is the one that it is written for, `before` the object of an earlier render in the input.
    """

    item: KubeObject
    generated: Generated
    gang: Gang | None = None
    before: KubeObject | None = None

    @property
    def name(self) -> str:
        """`PodGang team-a/a-0`."""
        return format_identity(identity(self.item.value))

    @property
    def copies(self) -> list[Origin]:
        """The origins of the numbers that say how many such objects there are."""
        return [] if self.gang is None else self.gang.copies


class Lookup(NamedTuple):
    """Where the values that are no field of the workload come from: `topologies` maps a name to its place and levels.

    `settings` maps a setting to its place, where packwise's own settings have it.
    """

    topologies: Mapping[str, tuple[Place, tuple[tuple[Level, Place], ...]]]
    settings: Mapping[str, Place]


def values_of(emitted: Emitted, lookup: Lookup) -> Iterator[EmittedValue]:
    """Every leaf of the object as it is written, in its order, each with its cause."""
    manifest, origins = emitted.generated.value, emitted.generated.origins()
    constraints = None if emitted.gang is None else _Constraints(emitted.gang, lookup)
    for path, value in _leaves(emitted.item.value):
        if _has(manifest, path, value):
            origin, steps = _origin_of(origins, path)
            place = _as_deep(origin.place, steps, value)
            through = None if constraints is None else constraints.through(origin, value)
            yield EmittedValue(path, value, Cause(origin.rule, place, through))
        else:
            yield EmittedValue(path, value, _own(str(path[-1]), emitted.before, lookup))


def annotated_values(item: KubeObject, lookup: Lookup) -> Iterator[EmittedValue]:
    """The annotations that packwise gives a user's own object."""
    annotations = item.get(_ANNOTATIONS) if value_of(item) else None
    for key, value in annotations.items() if isinstance(annotations, dict) else ():
        if key in _RULES and key.startswith("packwise.dev/"):
            yield EmittedValue((*_ANNOTATIONS, key), value, _own(key, None, lookup))


def value_of(item: KubeObject) -> Mapping[str, Value]:
    """The object or document; empty where its text is no YAML, as that of a template."""
    try:
        return item.value
    except FieldError:
        return {}


def is_yaml(item: KubeObject) -> bool:
    """Whether the text of the object or document is YAML, as that of a template need not be."""
    if not value_of(item):
        return False
    try:
        nearest(item.origin.text, ())
    except YamlError:
        return False
    return True


def location_of(item: KubeObject) -> Location:
    """Where the object or document begins."""
    origin = item.origin
    return item.location() if is_yaml(item) else Location(origin.file, origin.line, origin.column)


def _leaves(value: Value, path: FieldPath = ()) -> Iterator[tuple[FieldPath, Value]]:
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    is_leaf = True
    for step, entry in entries:
        is_leaf = False
        yield from _leaves(entry, (*path, step))
    if is_leaf:
        yield path, value


def _has(manifest: Mapping[str, Value], path: FieldPath, value: Value) -> bool:
    """Whether the manifest without packwise's annotations has the same value there."""
    part: Value = dict(manifest)
    for step in path:
        if isinstance(part, dict):
            part = part.get(str(step))
        elif isinstance(part, list) and isinstance(step, int) and step < len(part):
            part = part[step]
        else:
            return False
    return part == value


def _origin_of(origins: Mapping[FieldPath, Origin], path: FieldPath) -> tuple[Origin, FieldPath]:
    """The origin of the nearest part of the object that `path` leads through, and the steps from there."""
    for length in range(len(path), -1, -1):
        if path[:length] in origins:
            return origins[path[:length]], path[length:]
    raise ValueError(f"the origin of {path} must be known")


def _as_deep(place: Place, steps: FieldPath, value: Value) -> Place:
    """The place of `value` itself where `place` has it at the same steps: a label that is copied, for example."""
    if not steps or place.embedded or place.texts or place.derived is not None:
        return place
    return place.below(*steps) if place.item.get((*place.path, *steps)) == value else place


class _Constraints:
    """The constraints of a gang and its sets, by place; and the topology that all of them are of."""

    __slots__ = ("_gang", "_keys", "_known", "_names")

    def __init__(self, gang: Gang, lookup: Lookup) -> None:
        self._gang, self._known = gang, lookup.topologies.get(gang.topology)
        fields = gang.owner.fields
        self._names = {_position(gang.owner.of(key)) for key in gang.annotations if key in fields}
        self._keys: dict[tuple[int, FieldPath], set[str]] = {}
        for bounds in (gang.bounds, *(pods.bounds for pods in gang.sets)):
            if bounds is not None and bounds.origin is not None:
                keys = self._keys.setdefault(_position(bounds.origin), set())
                keys.update([level.key for level in (bounds.required, bounds.preferred) if level is not None])

    def through(self, origin: Origin, value: Value) -> Place | None:
        """The level, or the topology, that a value of this origin is looked up in; None for any other value."""
        if self._known is None or not isinstance(value, str):
            return None
        topology, levels = self._known
        item, path = _position(origin)
        nearest = (self._keys.get((item, path[:length])) for length in range(len(path), -1, -1))
        keys = next((keys for keys in nearest if keys is not None), None)
        if value == self._gang.topology and (keys is not None or (item, path) in self._names):
            return topology
        return next((place for level, place in levels if level.key == value and value in (keys or ())), None)


def _position(origin: Origin) -> tuple[int, FieldPath]:
    place = origin.place
    return id(place.item), (*place.path, *place.inner)


def _own(key: str, before: KubeObject | None, lookup: Lookup) -> Cause:
    """The cause of an annotation that packwise adds, or that clients keep their books in."""
    if is_client_key(key) and key != LOCAL_CONFIG and before is not None:
        return Cause(_KEPT, Place(before, (*_ANNOTATIONS, key)), is_own=True)
    if key in _RULES:
        return Cause(_RULES[key], lookup.settings.get("apply") if key == LOCAL_CONFIG else None, is_own=True)
    return Cause(_GITOPS, lookup.settings.get("gitops"), is_own=True)
