"""What is rendered, and what users wrote of the kinds that are rendered, against the cluster's CRDs."""

from __future__ import annotations

from krmfn.fieldpath import format_path
from krmfn.hints import TYPE_CHECKING
from packwise.findings.finding import Effect, Finding, Problem, Rule, Severity
from packwise.objects.identity import format_identity, identity
from packwise.objects.kinds import CLUSTER_TOPOLOGY, PODGANG, PODGROUP, VOLCANO_PODGROUP
from packwise.validate.judge import judge, no_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from packwise.findings.finding import Problem
    from packwise.objects.index import Inventory
    from packwise.objects.place import Generated
    from packwise.validate.definitions import Definitions

__all__ = ["RULES", "check_objects"]

OBJECT = Rule(
    "object-schema",
    "Rendered objects, and users' own of the same kinds, keep the schema of their CRD.",
    "spec/packwise.md#3",
)
RULES = (OBJECT,)
"""Rules of the objects that no front end sees to."""

_OWN = (PODGANG.key, PODGROUP.key, VOLCANO_PODGROUP.key)
_RENDERED = (*_OWN, CLUSTER_TOPOLOGY.key)


def check_objects(
    generated: Iterable[Generated], inventory: Inventory, definitions: Definitions, unknown: Severity
) -> Iterator[Finding]:
    """What the CRDs say of PodGangs, PodGroups and rendered ClusterTopologies; others are checked where they are read.

    Of the objects of one kind from one source only the first that is refused has findings: the others are like it.
    `unknown` is the severity of unknown fields.
    """
    for group, kind in _OWN:
        definition = definitions.of_kind(group, kind)
        for item in inventory.items.of_kind(group, kind):
            verdict = judge(item.value, definition, no_table, before=inventory.before(item.value))
            yield from verdict.findings(item, OBJECT, (OBJECT, unknown))
    refused = set[tuple[str, str]]()
    for rendered in generated:
        group, kind, _, _ = identity(rendered.value)
        if (group, kind) not in _RENDERED or rendered.judged or (kind, rendered.source) in refused:
            continue
        verdict = judge(
            rendered.value, definitions.of_kind(group, kind), no_table, before=inventory.before(rendered.value)
        )
        if verdict.problems:
            refused.add((kind, rendered.source))
        yield from (_about(rendered, problem, order, unknown) for order, problem in enumerate(verdict.problems))
        yield from verdict.unchecked


def _about(rendered: Generated, problem: Problem, order: int, unknown: Severity) -> Finding:
    where = format_identity(identity(rendered.value))
    message = f"becomes {where}, which its CRD refuses: {format_path(problem.path)} {problem.message}"
    severity = unknown if problem.effect is Effect.UNKNOWN else None
    # The field is one of the rendered object, and the finding is about what it is made from.
    refusal = problem._replace(path=(), message=message, effect=Effect.REFUSED)
    return Finding.about(refusal, rendered.subject, OBJECT, order=order, severity=severity)
