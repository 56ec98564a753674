"""Errors of a value by its JSON Schema."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from jsonschema import Draft202012Validator

__all__ = ["schema_errors"]


def schema_errors(value: Any, schema: Any) -> list[str]:
    """Return the errors of `value` by a schema of draft 2020-12. Raise SchemaError if the schema is invalid."""
    return [str(error.message) for error in _validator(json.dumps(schema)).iter_errors(value)]


@cache
def _validator(schema: str) -> Any:
    """To check a schema takes longer than to check most values by it."""
    given = json.loads(schema)
    Draft202012Validator.check_schema(given)
    return Draft202012Validator(given)
