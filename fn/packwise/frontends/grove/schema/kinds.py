"""How a field is described: its type, what it holds, what it may be. The vocabulary of `table.py`."""

from __future__ import annotations

from types import MappingProxyType

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from packwise.frontends.grove.schema.head import ObjectRule


__all__ = [
    "API",
    "INT32",
    "INT64",
    "Array",
    "Duration",
    "Field",
    "Flag",
    "IntOrString",
    "Kind",
    "Number",
    "Object",
    "Open",
    "Quantities",
    "Quantity",
    "Reference",
    "Text",
    "TextMap",
]


_NO_KEYS: Mapping[str, str | None] = MappingProxyType({})


class Number(NamedTuple):
    """An integer of `bits` bits; `go` is its Go type."""

    bits: int = 32
    go: str = "int32"
    json: str = "integer"


class Text(NamedTuple):
    """A string; `enum` is what it may be, or `pattern` what it matches. `empty_is_absent`: Go leaves an empty one out.

    `min_length` and `max_length` are in characters; 0: any.
    """

    enum: tuple[str, ...] = ()
    go: str = "string"
    empty_is_absent: bool = False
    json: str = "string"
    pattern: str = ""
    max_length: int = 0
    min_length: int = 0


class Flag(NamedTuple):
    """true or false."""

    go: str = "bool"
    json: str = "boolean"


class Duration(NamedTuple):
    """A Go duration, `4h0m0s`."""

    go: str = "string"
    json: str = "string"


class Quantity(NamedTuple):
    """A Kubernetes quantity, `64Gi`."""

    go: str = "resource.Quantity"
    json: str = "string"


class IntOrString(NamedTuple):
    """A port's number or name, a number or a percentage."""

    go: str = "int32"
    json: str = "string"


class Quantities(NamedTuple):
    """A mapping of resources to quantities."""

    go: str = "v1.ResourceList"
    json: str = "object"


class TextMap(NamedTuple):
    """A mapping of strings to strings."""

    go: str = "map[string]string"
    json: str = "object"


class Open(NamedTuple):
    """Anything: another API's field that packwise does not read."""


class Array(NamedTuple):
    """A list of `item`; `keys` are the fields that tell its entries apart, with the default of each."""

    item: Kind
    go: str
    keys: Mapping[str, str | None] = _NO_KEYS
    json: str = "array"


class Object(NamedTuple):
    """A mapping with known fields, which keeps `rules`. `struct` is its Go type's name.

    `apart`: the API server decodes it before all the rest, and names its fields without what is around it.
    """

    struct: str
    fields: Mapping[str, Field]
    package: str = "v1alpha1"
    json: str = "object"
    rules: tuple[ObjectRule, ...] = ()
    apart: bool = False

    @property
    def go(self) -> str:
        """The Go type as its decoder names it."""
        return f"{self.package}.{self.struct}"


class Reference(NamedTuple):
    """An object of Kubernetes' own, by its Go type; `embedded.struct` knows its fields."""

    go: str
    json: str = "object"


Kind = (
    Number | Text | Flag | Duration | Quantity | IntOrString | TextMap | Quantities | Open | Array | Object | Reference
)


class API(NamedTuple):
    """What differs from one API of PodCliqueSets to another: fields beside those that all have, and rules."""

    constraint: Object
    """A topologyConstraint, at any of the three levels."""

    clique: Mapping[str, Field] = MappingProxyType({})
    group: Mapping[str, Field] = MappingProxyType({})
    template: Mapping[str, Field] = MappingProxyType({})

    clique_keys: Mapping[str, str | None] = _NO_KEYS
    """The fields that tell cliques apart, where the CRD has such a rule."""

    update_strategies: tuple[str, ...] = ("RollingRecreate", "OnDelete")
    """The types of an updateStrategy, in the order of the enum."""

    rules: tuple[ObjectRule, ...] = ()
    """Rules of the whole object."""


class Field(NamedTuple):
    """A field of an object. `required` fields are those whose absence the round trip through Go does not heal.

    `zero_when_absent`: an absent value is checked as its zero value.
    """

    kind: Kind
    required: bool = False
    zero_when_absent: bool = False


INT32 = Number()
INT64 = Number(64, "int64")
