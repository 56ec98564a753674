"""A rule that a CRD states in CEL, as the table of fields has it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from krmfn.fieldpath import FieldPath
    from krmfn.value import Value
    from packwise.kubernetes.field_error import ErrorType

__all__ = ["ObjectRule"]


class ObjectRule(NamedTuple):
    """What the CRD says in CEL of a mapping, naming the field `at` below it.

    `breaches` answers where it is broken, below the mapping too. What has a wrong type breaks none: that is told
    elsewhere. `new_only`: asked of new objects only.
    """

    breaches: Callable[[Mapping[str, Value]], Sequence[FieldPath]]
    at: tuple[str, ...]
    type: ErrorType
    detail: str
    message: str
    new_only: bool = False
