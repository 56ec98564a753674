"""The errors of a value by a JSON Schema."""

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
    """Return the validator of a schema, from a cache: checking a schema takes longer than checking most values."""
    given = json.loads(schema)
    Draft202012Validator.check_schema(given)
    return Draft202012Validator(given)
