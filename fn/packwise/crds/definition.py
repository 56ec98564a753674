"""A CustomResourceDefinition: what the API server of its cluster says of objects of its kind.

Source: apiextensions-apiserver, registry/customresource.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from krmfn.errors import told
from packwise.crds.lists import duplicates
from packwise.crds.metadata import metadata_problems
from packwise.crds.prepare import prepared
from packwise.crds.problem import Cause, Place, Problem
from packwise.crds.read import SchemaError, read_schema
from packwise.crds.rules import Rules
from packwise.crds.structure import violations
from packwise.crds.unknown import unknown_fields
from packwise.wording import list_known

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from krmfn.kubeobject import KubeObject
    from krmfn.value import Value
    from packwise.crds.schema import Schema

__all__ = ["Definition", "read_definition"]

_ROOT = Place()


@dataclass(frozen=True, slots=True)
class Definition:
    """The CRD `item`, with the schema of each version that it serves."""

    item: KubeObject
    group: str
    kind: str
    schemas: Mapping[str, Schema]
    rules: Rules = field(default_factory=Rules)

    def problems(
        self,
        value: Mapping[str, Value],
        old: Mapping[str, Value] | None = None,
        written: Mapping[str, Value] | None = None,
    ) -> list[Problem]:
        """What the API server says of an object, which was `old` before the change.

        `written` is the object as its author wrote it, where a webhook has filled in something since.
        """
        version = str(value.get("apiVersion")).partition("/")[2]
        schema = self.schemas.get(version)
        if schema is None:
            return [self._not_served(value)]
        found = list(unknown_fields(value if written is None else written, schema, _ROOT, is_object=True))
        now = prepared(value, schema)
        metadata = metadata_problems(value.get("metadata", {}), _ROOT.field("metadata"))
        refused = [*metadata, *violations(now, schema, _ROOT)]
        wrong = {problem.path for problem in refused if problem.cause is Cause.TYPE}
        refused += [problem for problem in duplicates(now, schema, _ROOT) if problem.path not in wrong]
        if not wrong:
            refused += self._broken_rules(now, None if old is None else prepared(old, schema), schema, refused)
        return [*refused, *found]

    def _broken_rules(self, value: Value, old: Value, schema: Schema, refused: list[Problem]) -> Iterator[Problem]:
        for problem in self.rules.violations(value, old, schema, _ROOT, is_object=True):
            # What a rule misses, it finds once the field that is required is there.
            if problem.cause is not Cause.UNANSWERED or not refused:
                yield problem

    def _not_served(self, value: Mapping[str, Value]) -> Problem:
        known = [f"{self.group}/{version}" for version in self.schemas]
        found = value.get("apiVersion")
        message = f"must be what its CRD serves: {list_known(known)}; got {told(found)}"
        text = f'no matches for kind "{self.kind}" in version "{found}"'
        return Problem(("apiVersion",), Cause.TYPE, message, text)


def read_definition(item: KubeObject) -> Definition:
    """The definition that `item`, a CustomResourceDefinition, gives. Raises SchemaError."""
    group, kind = item.get("spec.group"), item.get("spec.names.kind")
    versions = item.get("spec.versions")
    if not isinstance(group, str) or not isinstance(kind, str):
        raise SchemaError(("spec",), "must name a group and a kind")
    if not isinstance(versions, list):
        raise SchemaError(("spec", "versions"), f"must be a list; got {told(versions)}")
    schemas: dict[str, Schema] = {}
    for index, version in enumerate(versions):
        if isinstance(version, dict) and version.get("served") is not False:
            path = ("spec", "versions", index, "schema", "openAPIV3Schema")
            schemas[str(version.get("name"))] = read_schema(item.get(path), path)
    return Definition(item, group, kind, schemas)
