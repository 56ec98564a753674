"""Schemas of kinds without a CRD at hand, written as tables. The API server's answer is the same as with the CRD.

A table has the fields of the newest known release. Fields that packwise does not read may have any value.
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
"""A field of another API, or one that packwise does not read."""

TEXT = Schema(type="string")
FLAG = Schema(type="boolean")
NUMBER = Schema(type="number")
INTEGER = Schema(type="integer")
INT32 = Schema(type="integer", format="int32")
QUANTITY = Schema(int_or_string=True)


def fields(**properties: Schema) -> Schema:
    """Return the schema of a mapping that has these fields and no others."""
    return Schema(type="object", properties=properties)


def requiring(schema: Schema, *names: str) -> Schema:
    """Return the schema of the same mapping with these fields required."""
    return Schema(type="object", properties=schema.properties, required=names)


def by_name(entry: Schema) -> Schema:
    """Return the schema of a mapping from any names to entries."""
    return Schema(type="object", additional=entry)


def list_of(entry: Schema) -> Schema:
    """Return the schema of a list of entries."""
    return Schema(type="array", items=entry)


def choice(*values: str) -> Schema:
    """Return the schema of a text that is one of these values."""
    return Schema(type="string", enum=values)


def number_between(least: float, most: float, *, above_least: bool = False) -> Schema:
    """Return the schema of a number within these bounds."""
    return Schema(type="number", bounds=ValueBounds(least, most, above_least))


def own_definition(kind: Kind, spec: Schema) -> Definition:
    """Return the definition of a kind by packwise's own table of its `spec`."""
    return definition_by_version(kind, {kind.version: fields(spec=spec, status=ANYTHING)})


def definition_by_version(kind: Kind, schemas: Mapping[str, Schema]) -> Definition:
    """Return the definition of a kind by a table of the whole object for each version."""
    item = KubeObject.new({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"})
    return Definition(item, kind.group, kind.name, schemas)
