"""Fields that the API once had, and the one that a revision lets be left out, though the table requires it.

Source: spec/designs.md#6, #8.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from krmfn.result import Severity
from packwise.findings.finding import Finding, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from krmfn.fieldpath import FieldPath
    from krmfn.kubeobject import KubeObject
    from packwise.findings.finding import Problem
    from packwise.revisions.revision import Revision

__all__ = ["REMOVED", "removed_fields", "without_optional"]

REMOVED = Rule(
    "field-removed",
    "No field of a workload is one that topologyConstraint has replaced.",
    "spec/designs.md#6",
)

_PODS = "podSpec"
_WHERE = "`topologyConstraint` of the workload (`spec.template`), of a scaling group or a clique"
_INSTEAD = {
    "replicaSpreadConstraints": (
        f"replicas are not spread any more, each of them is packed by {_WHERE}; replicas that must not share a domain "
        "need workloads of their own"
    ),
    "schedulingPolicyConfig": f"say by {_WHERE} what each replica is packed into",
    "networkPackGroupConfigs": "make the cliques a scaling group, and give that a `topologyConstraint`",
}
_DOMAIN = ("topologyConstraint", "packDomain")


def removed_fields(findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """`findings` of a workload's shape; unknown fields among them that the API once had are errors that say so.

    They asked for a placement that nobody gives any more: to ignore them is never what is meant.
    """
    return tuple([each for finding in findings for each in _with_reason(finding)])


def without_optional(workload: KubeObject, problems: list[Problem], revision: Revision) -> list[Problem]:
    """`problems` without those of a domain that is left out, where the revision lets it be."""
    if not problems or not revision.optional_domain:
        return problems
    return [problem for problem in problems if problem.path[-2:] != _DOMAIN or workload.get(problem.path) is not None]


def _with_reason(finding: Finding) -> Iterator[Finding]:
    if not finding.at_key or _instead(finding.path) is None:
        yield finding
        return
    yield _removed(finding, finding.path)
    value = finding.subject.get(finding.path) if finding.subject is not None else None
    for name in value if isinstance(value, dict) else ():
        if name in _INSTEAD:
            # Nobody looks into a field that nobody knows.
            yield _removed(finding, (*finding.path, name))


def _removed(finding: Finding, path: FieldPath) -> Finding:
    message = f"must be taken out: the API has no such field any more; {_instead(path)}"
    return finding._replace(rule=REMOVED.name, severity=Severity.ERROR, path=path, message=message)


def _instead(path: FieldPath) -> str | None:
    return None if not path or _PODS in path else _INSTEAD.get(str(path[-1]))
