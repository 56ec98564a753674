"""What is rendered, and what users wrote of the kinds that are rendered, against the cluster's CRDs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krmfn.fieldpath import format_path
from packwise.crds.findings import findings_of, split
from packwise.crds.problem import Cause
from packwise.finding import Finding, Rule, Severity, Stage
from packwise.select.index import identity, told_identity

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from packwise.crds.problem import Problem
    from packwise.plan import Generated
    from packwise.select.selection import Selection

__all__ = ["RULES", "check_objects"]

OBJECT = Rule(
    "object-schema",
    "Rendered objects, and users' own of the same kinds, keep the schema of their CRD.",
    "product.md Contract",
)
RULES = (OBJECT,)
"""Rules of the objects that no front end sees to."""

_OWN = (("scheduler.grove.io", "PodGang"), ("scheduling.run.ai", "PodGroup"))
_RENDERED = (*_OWN, ("grove.io", "ClusterTopology"))


def check_objects(selection: Selection, generated: Iterable[Generated]) -> Iterator[Finding]:
    """What the CRDs say of PodGangs, PodGroups and rendered ClusterTopologies; others are checked where they are read.

    Of the objects of one kind from one source only the first that is refused is told: the others are like it.
    """
    unknown = Severity.ERROR if selection.settings.unknown_fields == "Error" else Severity.WARNING
    for group, kind in _OWN:
        definition = selection.definitions.of_kind(group, kind)
        for item in selection.index.of_kind(group, kind):
            if definition is not None:
                problems = definition.problems(item.value, selection.before(item.value))
                yield from findings_of(problems, item, definition, OBJECT, (OBJECT, unknown))
    told = set[tuple[str, str]]()
    for one in generated:
        group, kind, _, _ = identity(one.value)
        definition = selection.definitions.of_kind(group, kind) if (group, kind) in _RENDERED else None
        if definition is None or (kind, one.origin) in told:
            continue
        refused, unchecked = split(definition.problems(one.value, selection.before(one.value)), definition)
        if refused:
            told.add((kind, one.origin))
        yield from (_of_generated(one, problem, order, unknown) for order, problem in enumerate(refused))
        yield from unchecked


def _of_generated(one: Generated, problem: Problem, order: int, unknown: Severity) -> Finding:
    where = told_identity(identity(one.value))
    text = problem.operator_message
    return Finding.of(
        OBJECT,
        one.subject,
        (),
        f"becomes {where}, which its CRD refuses: {format_path(problem.path)} {problem.message}",
        severity=unknown if problem.cause is Cause.UNKNOWN else None,
        operator_message=text,
        stage=None if text is None else Stage.SCHEMA,
        order=order,
    )
