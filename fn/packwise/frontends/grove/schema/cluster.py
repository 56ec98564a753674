"""A workload against the cluster's own CRD, whose verdict takes the place of the table's.

The decoder's problems stay: the operator's webhook decodes a workload before the API server validates it, and what it
fills in on the way is there when it does. Source: operator.md 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from packwise.crds.problem import Cause
from packwise.finding import Stage
from packwise.frontends.grove.default import default
from packwise.frontends.grove.schema.embedded import struct
from packwise.frontends.grove.schema.kinds import Array, Object, Quantities, Quantity, Reference, TextMap
from packwise.frontends.grove.schema.table import podcliqueset

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from krmfn.fieldpath import FieldPath
    from krmfn.value import Value
    from packwise.crds.definition import Definition
    from packwise.crds.problem import Problem
    from packwise.frontends.grove.schema.check import ShapeProblem
    from packwise.frontends.grove.schema.kinds import Field, Kind
    from packwise.revisions import Revision

__all__ = ["by_definition"]


def by_definition(
    value: Mapping[str, Value],
    old: Mapping[str, Value] | None,
    definition: Definition,
    shape: Sequence[ShapeProblem],
    revision: Revision,
) -> tuple[list[ShapeProblem], list[Problem]]:
    """The decoder's problems, of those of `shape`; and what the CRD says beyond them. `old`: before the change."""
    decode = [problem for problem in shape if problem.stage is Stage.DECODE]
    before = None if old is None else _healed(old, revision)
    found = definition.problems(_healed(value, revision), before, value)
    told = [problem.path for problem in decode]
    return decode, [
        problem
        for problem in found
        if not _is_told(problem, told) and not _is_healed(problem, revision) and not _is_webhooks(problem)
    ]


def _healed(value: Mapping[str, Value], revision: Revision) -> Mapping[str, Value]:
    """`value` with what the webhook fills in."""
    healed = _merged(value, default(value, revision, create=False))
    return healed if isinstance(healed, dict) else value


def _merged(written: Value, defaulted: Value) -> Value:
    """`defaulted` with what only stands in `written`: fields that this revision does not know, but the CRD may."""
    if isinstance(written, dict) and isinstance(defaulted, dict):
        own = {key: entry for key, entry in written.items() if entry is not None or key not in defaulted}
        merged = {key: _merged(own[key], defaulted[key]) for key in own if key in defaulted}
        return {**own, **defaulted, **merged}
    if isinstance(written, list) and isinstance(defaulted, list) and len(written) == len(defaulted):
        return [_merged(entry, other) for entry, other in zip(written, defaulted, strict=True)]
    return defaulted if type(written) is type(defaulted) else written


def _is_told(problem: Problem, told: Sequence[FieldPath]) -> bool:
    """Whether the decoder refuses the field, or what it stands in or holds."""
    if problem.cause is Cause.UNKNOWN:
        return False
    return any(path[: len(problem.path)] == problem.path[: len(path)] for path in told)


def _is_webhooks(problem: Problem) -> bool:
    """Whether it is the metadata, which the table and the webhook's own rules look at."""
    return problem.cause is not Cause.UNKNOWN and problem.path[:1] == ("metadata",)


def _is_healed(problem: Problem, revision: Revision) -> bool:
    """Whether Go writes back what the CRD misses: zero values for what is absent, texts for quantities."""
    if problem.cause not in (Cause.REQUIRED, Cause.TYPE):
        return False
    found = _field(problem.path, podcliqueset(revision))
    if problem.cause is Cause.REQUIRED:
        return found is not None and not found.required
    return found is not None and isinstance(found.kind, Quantity)


def _field(path: FieldPath, root: Object) -> Field | None:
    """The field at `path` in the table; None where it does not know one."""
    kind: Kind = root
    found: Field | None = None
    for step in path:
        owner = struct(kind.go) if isinstance(kind, Reference) else kind
        if isinstance(owner, Object):
            found = owner.fields.get(str(step))
            if found is None:
                return None
            kind = found.kind
        elif isinstance(owner, Array):
            kind = owner.item
        elif isinstance(owner, Quantities) and found is not None:
            kind = Quantity()
            found = found._replace(kind=kind)
        elif not isinstance(owner, TextMap):
            return None
    return found
