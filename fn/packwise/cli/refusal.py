"""An error of one object or file, as a result."""

from __future__ import annotations

from typing import TYPE_CHECKING

from packwise.select.index import READABLE

if TYPE_CHECKING:
    from krmfn.errors import FieldError
    from krmfn.result import Result

__all__ = ["refusal"]


def refusal(error: FieldError) -> Result:
    """The result that says what `error` says: something cannot be read, or has no written form."""
    result = error.to_result()
    return result._replace(tags={"rule": READABLE.name, **result.tags})
