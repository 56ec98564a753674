"""Evidence in the input for the cluster's release of Grove or KAI, if the release is not named.

If workloads use an API of a later release than the assumed one, that is an error, and its consequences are not
reported. If objects only show a release and are valid in every API server, that is a warning. packwise does not choose
a release silently. Source: spec/grove-releases.md#1.1, #2, spec/podgrouper.md#11.
"""

from __future__ import annotations

import re

from krmfn.hints import TYPE_CHECKING, Record
from krmfn.result import Severity
from packwise.findings import Finding, Place, Rule, Stage, place_text
from packwise.lenient import value_at
from packwise.objects.kinds import CLUSTER_TOPOLOGY, POD_CLIQUE_SET, PODGROUP
from packwise.pipeline.selection import DEPLOYING, UNNAMED, has_grove_workloads
from packwise.revisions.grove import ALPHA_8, ALPHA_9, ALPHA_10, ALPHA_12, API_FIELDS, RECORDS, precedes
from packwise.revisions.grove import NEWEST as NEWEST_GROVE
from packwise.revisions.kai import NEWEST, RELEASES, release_of
from packwise.settings.topologyrender import settings_place
from packwise.topology.known import DOMAINS
from packwise.wording import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from krmfn.fieldpath import FieldPath
    from krmfn.kubeobject import KubeObject
    from krmfn.value import Value
    from packwise.objects.index import Index
    from packwise.pipeline.selection import ChosenRevision
    from packwise.revisions.grove import Revision, WorkloadFields
    from packwise.settings.topologyrender import TopologyRender

__all__ = [
    "NO_EVIDENCE",
    "RULES",
    "UNNAMED",
    "Deployed",
    "Evidence",
    "deployed_release",
    "deployments",
    "evidence_against",
    "has_designs_domain",
    "has_later_fields",
    "kai_evidence",
    "kai_release",
    "owners",
]

CONTRADICTED = Rule(
    "revision-contradicted",
    "The workloads use a later API than the release that packwise assumes.",
    "spec/grove-releases.md#1.1",
    once=True,
)
RULES = (CONTRADICTED, UNNAMED)
"""Rules of the release that the input shows."""

_CONSTRAINT = {"topologyName": ALPHA_9, "pack": ALPHA_10}
"""Fields of a topology constraint, each with the first release that has it."""


def _first_releases(names: Callable[[WorkloadFields], Iterable[str]]) -> dict[str, Revision]:
    """Return the names that came with an API, each with the first record that has the API."""
    firsts: dict[str, Revision] = {}
    for record in RECORDS:
        came = API_FIELDS.get(record.workload_api)
        for name in names(came) if came is not None and came.is_known else ():
            firsts.setdefault(name, record)
    return firsts


_PARTS = {
    "": _first_releases(lambda came: came.template),
    "cliques": _first_releases(lambda came: came.clique),
    "podCliqueScalingGroups": _first_releases(lambda came: came.group),
}
"""The fields of the template, of cliques and of scaling groups, each with the first record that has it."""

_CLIQUE_SPEC = _first_releases(lambda came: came.clique_spec)
"""The fields of the specs of cliques, each with the first record that has it."""

_STRATEGIES = _first_releases(lambda came: came.strategies)
"""The types of an update strategy, each with the first record that has it."""

_KINDS = {"PodGangMap": ALPHA_12}
"""Grove's kinds of objects, each with the first record that has it. A ClusterTopologyBinding selects a revision
itself.
"""

_FREE_DOMAIN = r"[a-z][a-z0-9-]*"
_FIRST_FREE = ALPHA_9

_SOURCES = ("image", "repository", "registry", "name", "newName", "chart", "repoURL", "url", "path")
"""Fields that name the deployed image or chart."""

_VERSIONS = (("tag",), ("newTag",), ("version",), ("targetRevision",), ("ref", "tag"), ("ref", "semver"))
"""Fields next to a source with the version of the image or chart."""

_GROVE = re.compile(r"(^|[/_-])grove([/:_-]|$)")


class _Trace(Record):
    """A place in the input that shows a release. `first` is the first release with the API that the place uses.

    Problems below `scope` follow from the wrong release.
    """

    item: KubeObject
    path: FieldPath
    first: Revision
    scope: FieldPath


class Evidence(Record):
    """Evidence against the assumed release. `findings` has at most one finding, about the strongest evidence.

    `scopes` are the parts of objects that the assumed API must not check.
    """

    findings: tuple[Finding, ...] = ()
    scopes: tuple[tuple[KubeObject, FieldPath], ...] = ()

    def without_consequences(self, findings: list[Finding]) -> list[Finding]:
        """Return the `findings` that do not follow from the use of another release's API."""
        if not self.scopes:
            return findings
        scopes: dict[KubeObject | None, list[FieldPath]] = {}
        for item, path in self.scopes:
            scopes.setdefault(item, []).append(path)
        return [finding for finding in findings if not _follows(finding, scopes.get(finding.subject, ()))]


NO_EVIDENCE = Evidence()


def evidence_against(choice: ChosenRevision, index: Index, settings: TopologyRender) -> Evidence:
    """Return the evidence that the input belongs to another release than the chosen one, which the user did not name.

    If the input shows no release, a warning names the line to add. There is also a warning if the input's key selects a
    design, although releases have the same key.
    """
    assumed, is_guess = choice.revision, choice.is_assumed
    if is_guess and not has_grove_workloads(index):
        # No object is checked by the rules of the release.
        return NO_EVIDENCE
    traces = [trace for trace in _workload_traces(index) if precedes(assumed, trace.first)]
    deployed = deployed_release(index)
    if traces:
        strongest = traces[0]
        for trace in traces:
            strongest = trace if precedes(strongest.first, trace.first) else strongest
        finding = _contradiction(strongest, assumed, deployed)
        return Evidence((finding,), tuple((trace.item, trace.scope) for trace in traces))
    is_checked = is_guess or has_grove_workloads(index)
    if is_checked and deployed is not None and deployed.release not in (assumed.name, *assumed.releases):
        return Evidence((_offer(deployed, assumed),))
    for kind, first in _KINDS.items():
        items = index.of_kind(CLUSTER_TOPOLOGY.group, kind)
        if items and precedes(assumed, first):
            message = f"only {first.releases[0]} and later releases have this kind, but {_assumption(assumed)}; {_SET}"
            return Evidence((Finding.of(UNNAMED, items[0], ("kind",), message),))
    if (is_guess or (choice.is_shared and is_checked)) and deployed is None:
        return Evidence((_guess_finding(choice, settings),))
    return NO_EVIDENCE


def has_later_fields(index: Index) -> bool:
    """Return True if workloads have fields of a release that the designs do not have."""
    return any(True for _ in _workload_traces(index))


def has_designs_domain(index: Index) -> bool:
    """Return True if a workload's constraint uses the designs' domain field. Later releases refuse it."""
    return any(
        isinstance(constraint := owner.get("topologyConstraint"), dict) and "packDomain" in constraint
        for item in index.of_kind(*POD_CLIQUE_SET.key)
        for _, owner in owners(item)
    )


def _guess_finding(choice: ChosenRevision, settings: TopologyRender) -> Finding:
    where = "a TopologyRender" if settings.item is None else f"the {settings.item.kind}"
    # Alpha.8 is the last release with levels in the configuration and constraints that name no topology.
    offered = ALPHA_8 if choice.is_shared else NEWEST_GROVE
    assumption = (
        f'packwise assumes the design "{choice.revision.name}" because of {choice.reason}, which releases also have'
        if choice.is_shared
        else f'packwise assumes the newest one, "{choice.revision.name}"'
    )
    message = (
        f"the release of Grove is not set; {assumption}. Add `revision: {offered.name}`, or your cluster's "
        f"release, to the `{'data' if settings.embedded else 'spec'}` of {where}"
    )
    path = ("data",) if settings.embedded else ("spec",)
    return Finding.of(UNNAMED, settings.item, path if settings.item is not None else (), message)


_SET = "set `revision` in a TopologyRender to the release that your cluster runs"


def _assumption(revision: Revision) -> str:
    return f'packwise assumed "{revision.name}" because the release is not set'


def _contradiction(trace: _Trace, assumed: Revision, deployed: Deployed | None) -> Finding:
    advice = _SET
    if deployed is not None and not precedes(deployed.revision, trace.first):
        advice = (
            f"set `revision: {deployed.release}` in a TopologyRender, the release that {place_text(deployed.item)} "
            "deploys"
        )
    message = f"only {trace.first.releases[0]} and later releases have this field, but {_assumption(assumed)}; {advice}"
    return Finding.of(CONTRADICTED, trace.item, trace.path, message, at_key=True)


def _workload_traces(index: Index) -> Iterator[_Trace]:
    for item in index.of_kind(*POD_CLIQUE_SET.key):
        strategy = item.get(("spec", "updateStrategy", "type"))
        if isinstance(strategy, str) and strategy in _STRATEGIES:
            path = ("spec", "updateStrategy", "type")
            yield _Trace(item, path, _STRATEGIES[strategy], path)
        for steps, owner in owners(item):
            part = str(steps[0]) if steps else ""
            yield from _later_fields(item, (*_TEMPLATE, *steps), owner, _PARTS[part])
            spec = owner.get("spec")
            if part == "cliques" and isinstance(spec, dict):
                yield from _later_fields(item, (*_TEMPLATE, *steps, "spec"), spec, _CLIQUE_SPEC)
            constraint = owner.get("topologyConstraint")
            if isinstance(constraint, dict):
                yield from _constraint_traces(item, (*_TEMPLATE, *steps, "topologyConstraint"), constraint)


def _later_fields(
    item: KubeObject, path: FieldPath, owner: Mapping[str, Value], firsts: Mapping[str, Revision]
) -> Iterator[_Trace]:
    for key, first in firsts.items():
        if key in owner:
            yield _Trace(item, (*path, key), first, (*path, key))


def _constraint_traces(item: KubeObject, path: FieldPath, constraint: Mapping[str, Value]) -> Iterator[_Trace]:
    for key, first in _CONSTRAINT.items():
        if key in constraint:
            yield _Trace(item, (*path, key), first, path)
    domain = constraint.get("packDomain")
    if isinstance(domain, str) and _is_free(domain):
        yield _Trace(item, (*path, "packDomain"), _FIRST_FREE, path)


def _is_free(domain: str) -> bool:
    """Return True if `domain` is a valid name only in later releases and not a typo."""
    if domain in DOMAINS or re.fullmatch(_FREE_DOMAIN, domain) is None:
        return False
    return not did_you_mean(domain, DOMAINS)


_TEMPLATE: FieldPath = ("spec", "template")


def owners(item: KubeObject) -> Iterator[tuple[FieldPath, Mapping[str, Value]]]:
    """Yield each mapping that can hold a constraint, with its path below the template.

    The template itself is first, then the cliques, then the scaling groups.
    """
    template = item.get(_TEMPLATE)
    if not isinstance(template, dict):
        return
    yield (), template
    for key in ("cliques", "podCliqueScalingGroups"):
        entries = template.get(key)
        for place, entry in enumerate(entries if isinstance(entries, list) else ()):
            if isinstance(entry, dict):
                yield (key, place), entry


def _follows(finding: Finding, scopes: Iterable[FieldPath]) -> bool:
    """Return True if a finding is about a scope of its object, or the API server reports it about a parent of a scope.

    The value of a parent includes additions by the wrong release's webhook.
    """
    if any(finding.path[: len(path)] == path for path in scopes):
        return True
    return finding.stage is Stage.SCHEMA and any(path[: len(finding.path)] == finding.path for path in scopes)


def deployed_release(index: Index) -> Deployed | None:
    """Return the first place of the input that deploys a known release of Grove, or None."""
    return next(_deployed_releases(index), None)


class Deployed(Record):
    """A place in the input that deploys a release of Grove."""

    item: KubeObject
    path: FieldPath
    release: str
    revision: Revision


def _offer(deployed: Deployed, assumed: Revision) -> Finding:
    message = (
        f'the release of Grove is not set: packwise assumed "{assumed.name}", but this object deploys Grove '
        f"{deployed.release}. If your cluster runs this release, set `revision: {deployed.release}` in a TopologyRender"
    )
    return Finding.of(UNNAMED, deployed.item, deployed.path, message)


def _deployed_releases(index: Index) -> Iterator[Deployed]:
    """Yield the places that deploy a known release of Grove."""
    for item, path, text in deployments(index, _GROVE):
        release = _known_release(text)
        if release is not None:
            yield Deployed(item, path, *release)


def deployments(index: Index, product: re.Pattern[str]) -> Iterator[tuple[KubeObject, FieldPath, str]]:
    """Yield the places with the version of a deployment if the name of its source matches `product`."""
    for key, items in index.by_kind.items():
        for item in items if key in DEPLOYING else ():
            for path, text in _versions_below((), item.value, product):
                yield item, path, text


def _versions_below(path: FieldPath, value: Value, product: re.Pattern[str]) -> Iterator[tuple[FieldPath, str]]:
    if isinstance(value, list):
        for place, entry in enumerate(value):
            yield from _versions_below((*path, place), entry, product)
    if not isinstance(value, dict):
        return
    for at, text in _versions(value, product):
        yield (*path, *at), text
    for key, entry in value.items():
        yield from _versions_below((*path, key), entry, product)


def _versions(value: dict[str, Value], product: re.Pattern[str]) -> Iterator[tuple[FieldPath, str]]:
    """Yield the versions that a mapping sets for the product: in its image, or in a field next to its source."""
    sources = [text for key in _SOURCES if isinstance(text := value.get(key), str) and product.search(text)]
    if not sources:
        return
    image = value.get("image")
    if isinstance(image, str) and product.search(image):
        yield ("image",), image.partition("@")[0].rpartition(":")[2]
    for path in _VERSIONS:
        entry: Value = value
        for step in path:
            entry = value_at(entry, step)
        if isinstance(entry, str):
            yield path, entry


def _known_release(text: str) -> tuple[str, Revision] | None:
    if not re.match(r"v?\d", text):
        return None
    from packwise.revisions.tags import known_release

    return known_release(text)


# The release of KAI for which packwise renders. As for Grove, packwise never assumes one silently. If the input deploys
# another release, packwise warns and shows the line to add.

KAI_UNNAMED = Rule(
    "kai-unnamed",
    "The release of KAI is not set, and the input deploys an older one than packwise assumes.",
    "spec/podgrouper.md#11",
    Severity.WARNING,
    once=True,
)
KAI_RACE = Rule(
    "kai-podgroup-race",
    "Both Grove's operator and KAI create the PodGroups of a gang.",
    "spec/podgrouper.md#1.2",
    Severity.WARNING,
    once=True,
)
KAI_RULES = (KAI_UNNAMED, KAI_RACE)
"""Rules of KAI's release."""

_KAI = re.compile(r"(^|[/_-])kai-scheduler([/:_.-]|$)", re.IGNORECASE)
_KAI_VERSION = r"v?0\.(\d{1,9})(\.\d+)?(-.*)?"


def kai_release(settings: TopologyRender) -> tuple[str, str]:
    """Return the effective release and its source."""
    if settings.kai_version is not None:
        return settings.kai_version, "kai.version"
    return release_of(None).name, "the default"


def kai_evidence(index: Index, settings: TopologyRender) -> Iterator[Finding]:
    """Yield a finding about the first place that deploys another KAI than the assumed one, if the input depends on
    KAI.
    """
    if settings.kai_version is not None:
        return
    known = {release.minor: release for release in RELEASES}
    for item, path, text in deployments(index, _KAI):
        match = re.fullmatch(_KAI_VERSION, text)
        release = known.get(int(match[1])) if match is not None else None
        if release is None:
            continue
        if release is not NEWEST and _has_users(index, settings.kai_name):
            message = (
                f"the release of KAI is not set: packwise assumed {NEWEST.name}, but this object deploys KAI "
                f"{text}. If your cluster runs this release, set `kai: {{version: {release.name}}}` in a TopologyRender"
            )
            yield Finding.of(KAI_UNNAMED, item, path, message)
        return


_READS_SKIP = 15
"""The first KAI with a pod-grouper that skips pods if Grove's operator made their PodGroup."""


def podgroup_race(index: Index, settings: TopologyRender, revision: Revision) -> Iterator[Finding]:
    """Yield a warning if Grove's operator makes PodGroups, and an older KAI makes them too. Source: KAI, #2117."""
    if not revision.podgroups_by_operator or not has_grove_workloads(index):
        return
    for place, name, minor in _kai_versions(index, settings):
        if minor < _READS_SKIP:
            message = (
                f"KAI {name} and Grove {revision.name} both make PodGroups of the same pods. Run KAI v0.{_READS_SKIP} "
                "or newer, which reads Grove's annotation kai.scheduler/skip-podgrouper, or Grove before "
                f"{ALPHA_12.name}"
            )
            yield place.finding(KAI_RACE, message)
        return


def _kai_versions(index: Index, settings: TopologyRender) -> Iterator[tuple[Place, str, int]]:
    """Yield the release of KAI in the settings, or else the releases that the input deploys, each with its minor
    number.
    """
    if settings.kai_version is not None:
        place = settings_place(settings).child("kai", "version")
        yield place, settings.kai_version, int(settings.kai_version.removeprefix("v0."))
        return
    for item, path, text in deployments(index, _KAI):
        match = re.fullmatch(_KAI_VERSION, text)
        if match is not None:
            yield Place(item, path), text, int(match[1])


def _has_users(index: Index, kai_name: str) -> bool:
    """Return True if there are workloads that KAI schedules, or PodGroups of its own."""
    if has_grove_workloads(index) or index.of_kind(*PODGROUP.key):
        return True
    return any(_names_scheduler(item.value, kai_name) for items in index.by_kind.values() for item in items)


def _names_scheduler(value: Value, kai_name: str) -> bool:
    if isinstance(value, list):
        return any(_names_scheduler(entry, kai_name) for entry in value)
    if not isinstance(value, dict):
        return False
    return value.get("schedulerName") == kai_name or any(_names_scheduler(entry, kai_name) for entry in value.values())
