"""The revision of a render, and what chose it. Source: spec/designs.md#2, spec/grove-releases.md#1."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from krmfn.result import Severity
from packwise.findings.finding import Finding, Rule
from packwise.objects.kinds import DYNAMO_GRAPH, POD_CLIQUE_SET, kind_of
from packwise.revisions.records import ALPHA_8, GREP_244_MULTI, NEWEST, RECORDS, REVISIONS
from packwise.settings import settings_place

if TYPE_CHECKING:
    from packwise.objects.index import Index
    from packwise.revisions.revision import Revision
    from packwise.settings import TopologyRender
    from packwise.settings.configuration import Configuration

__all__ = [
    "DEPLOYING",
    "RULES",
    "UNNAMED",
    "Choice",
    "choose_revision",
    "has_grove_workloads",
    "has_topologies",
    "revision_called",
]

REVISION = Rule("revision", "The revision is one that packwise renders.", "spec/designs.md#1")
NEWER = Rule("revision-newer", "The release is one that packwise knows.", "spec/grove-releases.md#1", Severity.WARNING)
UNNAMED = Rule("revision-unnamed", "The release is named.", "spec/grove-releases.md#1.1", Severity.WARNING, once=True)
"""Who reports it looks at what in the input tells a release: `packwise.select.evidence`."""

RULES = (REVISION, NEWER)
"""Rules of the choice of a revision."""

DEPLOYING = frozenset({
    ("apps", "Deployment"),
    ("argoproj.io", "Application"),
    ("argoproj.io", "ApplicationSet"),
    ("helm.cattle.io", "HelmChart"),
    ("helm.toolkit.fluxcd.io", "HelmRelease"),
    ("kustomize.config.k8s.io", "Kustomization"),
    ("source.toolkit.fluxcd.io", "OCIRepository"),
})  # fmt: skip
"""Kinds of objects that deploy operators."""


class Choice(NamedTuple):
    """`reason` is what chose the revision, as a summary says it; `is_named`: whether the user named it.

    `is_assumed`: whether the input tells no release, or no more than that it is a later one.
    """

    revision: Revision
    reason: str
    is_named: bool = False
    is_assumed: bool = False


def choose_revision(
    settings: TopologyRender,
    configuration: Configuration | None,
    index: Index,
    findings: list[Finding],
    *,
    has_levels: bool,
) -> Choice:
    """`spec.revision`, else the one that topologies, their section or workloads show, else the newest release."""
    if settings.revision is not None:
        return Choice(_named(settings, settings.revision, configuration, findings), "spec.revision", is_named=True)
    for revision in RECORDS:
        if revision.chosen_by_topologies and has_topologies(index, revision):
            return Choice(revision, f"a {revision.topology_kind} in the input")
    key = configuration.key if configuration is not None else None
    for revision in RECORDS:
        if revision.chosen_by_key and not revision.needs_levels and revision.configuration_key == key:
            return Choice(revision, f"the key {key}")
    return _shown_design(index, has_levels=has_levels) or _guess(index)


def _guess(index: Index) -> Choice:
    """What is assumed where nothing chooses a revision."""
    from packwise.select.evidence import has_designs_domain, has_later_fields

    if _key_of(ALPHA_8, index) is not None or has_later_fields(index):
        return Choice(NEWEST, "workloads of a later API", is_assumed=True)
    if has_designs_domain(index):
        return Choice(GREP_244_MULTI, "the key packDomain")
    return Choice(NEWEST, "the default", is_assumed=True)


def _shown_design(index: Index, *, has_levels: bool) -> Choice | None:
    """The design, or the release with levels, whose own fields the input has."""
    if has_levels and (key := _key_of(ALPHA_8, index)) is not None:
        return Choice(ALPHA_8, f"levels in the configuration, and {key}")
    for revision in RECORDS:
        if not revision.needs_levels:
            continue
        if has_levels:
            return Choice(revision, f"the key {revision.configuration_key}")
        if has_topologies(index, revision):
            return Choice(revision, f"a {revision.topology_kind} in the input")
        if (key := _key_of(revision, index)) is not None:
            return Choice(revision, f"the key {key}")
    return None


def _key_of(revision: Revision, index: Index) -> str | None:
    """The first key of a workload that shows the revision."""
    from packwise.select.evidence import owners

    for item in index.of_kind(*POD_CLIQUE_SET.key):
        for _, owner in owners(item):
            for key in revision.workload_keys:
                if key in owner:
                    return key
    return None


def has_topologies(index: Index, revision: Revision) -> bool:
    """Whether topologies of the revision's kind stand in the input."""
    return bool(index.of_kind(*kind_of(revision.topology_kind).key))


def has_grove_workloads(index: Index) -> bool:
    """Whether something in the input is judged by a release of Grove."""
    return any(index.of_kind(*kind.key) for kind in (POD_CLIQUE_SET, DYNAMO_GRAPH))


def revision_called(name: str) -> Revision:
    """The record of a revision; of a release after all of them, the newest."""
    known = REVISIONS.get(name)
    if known is not None:
        return known
    # Few inputs name one, and a run need not read the tags of the others.
    from packwise.revisions.tags import newest_as

    return newest_as(name)


def _named(
    settings: TopologyRender, name: str, configuration: Configuration | None, findings: list[Finding]
) -> Revision:
    revision = revision_called(name)
    if name not in REVISIONS:
        _tell_newer(settings, name, findings)
    if configuration is not None and configuration.key != revision.configuration_key:
        message = f'must be "{revision.configuration_key}" for revision "{revision.name}"; got "{configuration.key}"'
        findings.append(configuration.place.finding(REVISION, message, at_key=True))
    return revision


def _tell_newer(settings: TopologyRender, name: str, findings: list[Finding]) -> None:
    """Says that a release after all records is taken for the newest one, which the settings allow or not."""
    from packwise.revisions.tags import NEWEST

    place = settings_place(settings).below("revision")
    if settings.newer_revision == "Warn":
        message = f'is newer than "{NEWEST}", the newest release that packwise knows: it is taken for that one'
        findings.append(place.finding(NEWER, message))
    else:
        message = (
            f'must not be newer than "{NEWEST}", the newest release that packwise knows; got "{name}"; take a newer '
            "packwise, or set `newerRevision: Warn` to have it taken for that one"
        )
        findings.append(place.finding(REVISION, message))
