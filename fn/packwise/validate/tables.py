"""Build the schemas of packwise's own tables. A table replaces the CRD of a kind if the input has no CRD.

A table has the fields of the newest known release. A field that packwise does not read may have any value.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from krmfn.kubeobject import KubeObject
from packwise.validate.definition import Definition
from packwise.validate.schema import Schema, ValueBounds

if TYPE_CHECKING:
    from collections.abc import Mapping

    from packwise.objects.kinds import Kind

ANYTHING = Schema(preserves_unknown=True)
"""The schema of a field that may have any value, because packwise does not read it."""

TEXT = Schema(type="string")
FLAG = Schema(type="boolean")
NUMBER = Schema(type="number")
INTEGER = Schema(type="integer")
INT32 = Schema(type="integer", format="int32")
QUANTITY = Schema(int_or_string=True)


def fields(**properties: Schema) -> Schema:
    """Return the schema of a mapping that may have only these fields."""
    return Schema(type="object", properties=properties)


def requiring(schema: Schema, *names: str) -> Schema:
    """Return the schema of a mapping with the fields of `schema`. The fields in `names` are required."""
    return Schema(type="object", properties=schema.properties, required=names)


def by_name(entry: Schema) -> Schema:
    """Return the schema of a mapping with free keys. Each value has the schema `entry`."""
    return Schema(type="object", additional=entry)


def list_of(entry: Schema) -> Schema:
    """Return the schema of a list. Each of its entries has the schema `entry`."""
    return Schema(type="array", items=entry)


def choice(*values: str) -> Schema:
    """Return the schema of a text that is one of these values."""
    return Schema(type="string", enum=values)


def number_between(least: float, most: float, *, above_least: bool = False) -> Schema:
    """Return the schema of a number from `least` to `most`. With `above_least`, the number must exceed `least`."""
    return Schema(type="number", bounds=ValueBounds(least, most, above_least))


def own_definition(kind: Kind, spec: Schema) -> Definition:
    """Return the definition of a kind, made from packwise's own table of its `spec`."""
    return definition_by_version(kind, {kind.version: fields(spec=spec, status=ANYTHING)})


def definition_by_version(kind: Kind, schemas: Mapping[str, Schema]) -> Definition:
    """Return the definition of a kind, made from a table of the whole object for each version."""
    item = KubeObject.new({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"})
    return Definition(item, kind.group, kind.name, schemas)
