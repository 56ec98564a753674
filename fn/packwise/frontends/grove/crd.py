"""Check a workload by the cluster's own CRD, in place of packwise's table. Source: spec/grove.md#1.

The operator's webhook decodes a workload and fills in defaults before the API server validates it. So problems of the
decoder are kept, and the CRD sees the workload with these defaults.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from packwise.fields import Array, Object, Quantities, Quantity, Reference, TextMap
from packwise.findings import Cause, Effect, Stage
from packwise.frontends.grove.default import default
from packwise.frontends.grove.podcliqueset import podcliqueset
from packwise.validate.crds import validate_object
from packwise.validate.decode import kubernetes_struct

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from krmfn.fieldpath import FieldPath
    from krmfn.value import Value
    from packwise.fields import Field, Kind
    from packwise.findings import Problem
    from packwise.revisions.grove import Revision
    from packwise.validate.crds import Verdict
    from packwise.validate.definition import Definition


def field_at(path: FieldPath, root: Object) -> Field | None:
    """Return the field at `path` in the table `root`. Return None if the table does not have it."""
    kind: Kind = root
    field: Field | None = None
    for step in path:
        owner = kubernetes_struct(kind.go) if isinstance(kind, Reference) else kind
        if isinstance(owner, Object):
            field = owner.fields.get(str(step))
            if field is None:
                return None
            kind = field.kind
        elif isinstance(owner, Array):
            kind = owner.item
        elif isinstance(owner, Quantities) and field is not None:
            kind = Quantity()
            field = field.replace(kind=kind)
        elif not isinstance(owner, TextMap):
            return None
    return field


def has_same_field(path: FieldPath, revisions: Iterable[Revision]) -> bool:
    """Return True if all APIs of `revisions` have the same field at `path`, or if none of them has one."""
    first, *others = [_without_parts(field_at(path, podcliqueset(revision))) for revision in revisions]
    return all(other == first for other in others)


def _without_parts(field: Field | None) -> object:
    return field if field is None else field.replace(kind=_shallow_kind(field.kind))


def _shallow_kind(kind: Kind) -> Kind:
    if isinstance(kind, Object):
        return kind.replace(fields={})
    return kind.replace(item=_shallow_kind(kind.item)) if isinstance(kind, Array) else kind


def validate_workload(
    value: Mapping[str, Value],
    before: Mapping[str, Value] | None,
    definition: Definition | None,
    shape: Sequence[Problem],
    revision: Revision,
) -> tuple[Sequence[Problem], Verdict]:
    """Return the problems of the decoder, and the verdict of the CRD about a workload. `before` is the old workload.

    `shape` are the problems by packwise's table, including problems of the decoder. Without a `definition`, the verdict
    has all these problems, and the first part of the result is empty.
    """
    if definition is None:
        return (), validate_object(value, definition, lambda: shape)
    decode = [problem for problem in shape if problem.stage is Stage.DECODE]
    decoded = [problem.path for problem in decode]
    old = None if before is None else _fill_in(before, revision)
    verdict = validate_object(_fill_in(value, revision), definition, lambda: shape, before=old, written=value)
    beyond = [
        problem
        for problem in verdict.problems
        if not _is_decoded(problem, decoded)
        and not _is_written_back(problem, revision)
        and not _is_about_metadata(problem)
    ]
    return decode, verdict.replace(problems=tuple(beyond))


def _fill_in(value: Mapping[str, Value], revision: Revision) -> Mapping[str, Value]:
    """Return `value` with the fields that the webhook fills in."""
    filled = _merge(value, default(value, revision, create=False))
    return filled if isinstance(filled, dict) else value


def _merge(written: Value, defaulted: Value) -> Value:
    """Return `defaulted` with the fields that only `written` has.

    The CRD may have fields that packwise's table of this revision does not have.
    """
    if isinstance(written, dict) and isinstance(defaulted, dict):
        own = {key: entry for key, entry in written.items() if entry is not None or key not in defaulted}
        merged = {key: _merge(own[key], defaulted[key]) for key in own if key in defaulted}
        return {**own, **defaulted, **merged}
    if isinstance(written, list) and isinstance(defaulted, list) and len(written) == len(defaulted):
        return [_merge(entry, other) for entry, other in zip(written, defaulted, strict=True)]
    return defaulted if type(written) is type(defaulted) else written


def _is_decoded(problem: Problem, decoded: Sequence[FieldPath]) -> bool:
    """Return True if the decoder already refuses this field, a field around it or a field within it."""
    if problem.effect is Effect.UNKNOWN:
        return False
    return any(path[: len(problem.path)] == problem.path[: len(path)] for path in decoded)


def _is_about_metadata(problem: Problem) -> bool:
    """Return True if a problem is about metadata. The table and the rules of the webhook already check it."""
    return problem.effect is not Effect.UNKNOWN and problem.path[:1] == ("metadata",)


def _is_written_back(problem: Problem, revision: Revision) -> bool:
    """Return True if the webhook writes a valid value to the field with the problem.

    Go writes a zero value for an absent field, and a string for a quantity that was a number.
    """
    if problem.cause not in (Cause.REQUIRED, Cause.TYPE):
        return False
    field = field_at(problem.path, podcliqueset(revision))
    if problem.cause is Cause.REQUIRED:
        return field is not None and not field.required
    return field is not None and isinstance(field.kind, Quantity)
