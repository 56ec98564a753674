"""What one configuration says of the files that it counts for: release, evidence, apply or preview."""

from __future__ import annotations

from collections import Counter

from krmfn.errors import FieldError
from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from krmfn.result import Severity
from packwise.objects.identity import identity
from packwise.pipeline.steps import read_package, results_of
from packwise.select.kai import RULES as KAI_RULES
from packwise.select.kai import kai_release

if TYPE_CHECKING:
    from krmfn.result import Result
    from packwise.select import Package

__all__ = ["ClusterView", "cluster_view"]

_OF_KAI = frozenset([rule.name for rule in KAI_RULES])


class ClusterView(NamedTuple):
    """`kinds` are the objects by kind, with their number. `revision` is Grove's, `chosen_by` what chose it.

    `evidence` contradicts that choice; `errors` are those of the configuration and the CRDs. `applied`: whether
    generated objects are applied; `gitops` are the tools that apply them. `kai` is the release of KAI, with what chose
    it; `kai_evidence` contradicts it where nobody named it.
    """

    kinds: tuple[tuple[str, int], ...]
    revision: str
    chosen_by: str
    is_configured: bool
    enabled: bool
    applied: bool
    gitops: tuple[str, ...]
    evidence: tuple[Result, ...] = ()
    errors: tuple[Result, ...] = ()
    kai: tuple[str, str] = ("", "")
    kai_evidence: tuple[Result, ...] = ()


def cluster_view(package: Package) -> ClusterView:
    """What configures the render of `package`; no workload is judged."""
    _, selection = read_package(package)
    counted: Counter[str] = Counter()
    for item in package.items:
        try:
            counted[identity(item.value)[1]] += 1
        except FieldError:
            continue
    findings = results_of((*selection.findings, *selection.definitions.findings), selection.results)
    evidence = () if selection.evidence is None else results_of(selection.evidence.findings)
    return ClusterView(
        tuple(sorted(counted.items())),
        selection.revision.name,
        selection.chosen_by,
        selection.is_configured,
        selection.enabled,
        selection.settings.apply,
        selection.settings.gitops,
        tuple(evidence),
        tuple([result for result in findings if result.severity is Severity.ERROR]),
        kai_release(selection.settings),
        tuple([result for result in findings if result.tags.get("rule") in _OF_KAI]),
    )
