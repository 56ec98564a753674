"""Fields that the schema does not know. Source: apiextensions-apiserver, schema/pruning."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from packwise.findings.finding import Effect, Problem
from packwise.kubernetes.go_types import TYPES
from packwise.wording import told_known

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from krmfn.value import Value
    from packwise.validate.schema import Schema
    from packwise.validate.valuepath import ValuePath

__all__ = ["unknown_fields"]

_OBJECT = ("apiVersion", "kind", "metadata")
_METADATA = tuple(entry.partition(":")[0] for entry in TYPES["v1.ObjectMeta"].split(" "))


def unknown_fields(value: Value, schema: Schema, at: ValuePath, *, is_object: bool = False) -> Iterator[Problem]:
    """Each field that an API server would drop, in the order of the text; what is within one is not looked at.

    `is_object`: a whole Kubernetes object, whose type and metadata no schema describes.
    """
    if isinstance(value, dict):
        is_object = is_object or schema.embedded
        known = sorted({*schema.properties, *(_OBJECT if is_object else ())})
        for name, entry in value.items():
            inner = schema.of_key(name)
            if is_object and name in _OBJECT:
                yield from _in_metadata(entry, at.field(name)) if name == "metadata" else ()
            elif inner is not None:
                yield from unknown_fields(entry, inner, at.field(name))
            elif not schema.preserves_unknown and schema.additional is False:
                yield _stranger(name, known, at, value)
    elif isinstance(value, list) and schema.items is not None:
        for index, entry in enumerate(value):
            yield from unknown_fields(entry, schema.items, at.entry(index))


def _in_metadata(value: Value, at: ValuePath) -> Iterator[Problem]:
    for name in value if isinstance(value, dict) else ():
        if name not in _METADATA:
            yield _stranger(name, _METADATA, at, {})


def _stranger(name: str, known: Iterable[str], at: ValuePath, owner: Mapping[str, Value]) -> Problem:
    where = f'"{at.text}"' if at.text else f"a {owner.get('kind')}"
    message = f'must be a field of {where}; got "{name}"{told_known(name, tuple(known))}'
    return Problem((*at.path, name), message, effect=Effect.UNKNOWN)
