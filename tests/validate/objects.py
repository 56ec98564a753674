"""Definitions and objects for tests: small CRDs of a kind that only the tests have."""

from __future__ import annotations

from typing import Any

from krmfn.kubeobject import KubeObject
from packwise.validate.definition import Definition, read_definition

__all__ = ["crd", "definition", "problems", "thing"]


def crd(spec: dict[str, Any], *, group: str = "example.com", kind: str = "Thing") -> dict[str, Any]:
    """Return a CustomResourceDefinition with this schema for `spec`."""
    schema = {"type": "object", "properties": {"spec": spec}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"kind": kind, "plural": f"{kind.lower()}s", "singular": kind.lower(), "listKind": f"{kind}List"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{kind.lower()}s.{group}"},
        "spec": {"group": group, "names": names, "scope": "Namespaced", "versions": [version]},
    }


def definition(spec: dict[str, Any]) -> Definition:
    return read_definition(KubeObject.new(crd(spec)))


def thing(spec: Any) -> dict[str, Any]:
    """Return an object of the kind with a `spec` of any type."""
    return {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "a"}, "spec": spec}


def problems(schema: dict[str, Any], spec: Any, old: Any = None) -> list[tuple[str, str | None]]:
    """Return the problems of a thing in their order: packwise's text and the API server's text."""
    before = None if old is None else thing(old)
    found = definition(schema).problems(thing(spec), before)
    return [(problem.message, problem.operator_message) for problem in found]
