"""What a finding says of which field of which object, in one sentence without its place."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from krmfn.result import Result

__all__ = ["sentence"]


def sentence(result: Result) -> str:
    """`PodCliqueSet team-a/a spec.x: must …`."""
    ref, field = result.resource_ref, result.field
    subject = " ".join(part for part in (str(ref or ""), field.path if field is not None else "") if part)
    return f"{subject}: {result.message}" if subject else result.message
