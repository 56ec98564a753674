"""Errors of a value by its JSON Schema."""

from __future__ import annotations

from typing import Any

from jsonschema import Draft202012Validator

__all__ = ["schema_errors"]


def schema_errors(value: Any, schema: Any) -> list[str]:
    """The errors of `value` by a schema of draft 2020-12. Raises SchemaError where the schema is none."""
    Draft202012Validator.check_schema(schema)
    validator: Any = Draft202012Validator(schema)
    return [str(error.message) for error in validator.iter_errors(value)]
