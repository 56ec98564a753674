"""Whether the releases of Dynamo, Grove and KAI go together. Source: spec/dynamo.md#1.1 and #4."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from packwise.findings.finding import Problem, Rule, Severity
from packwise.frontends.dynamo.rules.check import Check, refused
from packwise.frontends.dynamo.shape import STRATEGY
from packwise.frontends.dynamo.values import mapping
from packwise.revisions import REVISIONS, precedes
from packwise.revisions.dynamo import RELEASES, Known

if TYPE_CHECKING:
    from collections.abc import Iterator

    from krmfn.fieldpath import FieldPath
    from krmfn.value import Value
    from packwise.frontends.dynamo.rules.check import Subject

__all__ = ["PAIRING", "refuses_constraint"]

_DEPRECATED = "packDomain is deprecated and cannot be used on new workloads; use pack.required"


def refuses_constraint(at: Subject) -> bool:
    """Whether Grove refuses, or drops, the constraints that the release of Dynamo writes."""
    if at.release.constraint == "packDomain":
        return at.revision.constraints_choose
    return not at.revision.deprecates_pack_domain


def _constraint(at: Subject) -> Iterator[Problem]:
    path = _first_constraint(at)
    if path is None or not refuses_constraint(at):
        return
    release, revision = at.release, at.revision
    dynamo = f"Dynamo {release.name}"
    if at.settings.release is None:
        dynamo += ", which is taken because no `dynamo.release` is named"
    grove = f'Grove "{revision.name}"'
    if not at.revision_is_named:
        grove += ", which is taken because no `revision` is named,"
    fitting = _releases_that_write("pack" if release.constraint == "packDomain" else "packDomain")
    if release.constraint == "packDomain":
        message = (
            f"becomes `packDomain` with {dynamo}, which {grove} refuses: name the releases that your "
            f"cluster runs, Dynamo {fitting} with this Grove, or Grove before v0.1.0-alpha.9"
        )
        yield refused(path, message, _DEPRECATED) if revision.deprecates_pack_domain else Problem(path, message)
    else:
        message = (
            f"becomes `pack` with {dynamo}, which {grove} does not know and drops, so that pods go "
            f"anywhere: name the releases that your cluster runs, Dynamo {fitting} with this Grove, or Grove "
            "v0.1.0-alpha.10 or newer"
        )
        yield Problem(path, message)


def _first_constraint(at: Subject) -> FieldPath | None:
    """The first constraint that the graph asks for: typed, or in an override; None where it asks for none."""
    if at.graph.constraint is not None:
        return ("spec", "topologyConstraint")
    typed = [each.path("topologyConstraint") for each in at.graph.components if each.constraint is not None]
    overrides = at.graph.overrides if at.release.provider_override is not Known.NO else ()
    return next(iter([*typed, *[each.path for each in overrides if "topologyConstraint" in _keys(each.value)]]), None)


def _keys(value: Value) -> set[str]:
    """The keys of an override down to those of its template."""
    keys: set[str] = set()
    part = mapping(value)
    while part:
        keys |= part.keys()
        part = mapping(part.get("spec")) or mapping(part.get("template"))
    return keys


def _releases_that_write(constraint: str) -> str:
    names = [release.name for release in RELEASES if release.constraint == constraint]
    return f"{names[0]} to {names[-1]}"


def _coherent(at: Subject) -> Iterator[Problem]:
    if at.graph.annotations.get(STRATEGY) == "Coherent" and not at.revision.rolling_updates:
        message = (
            f'must not be "Coherent" with Grove "{at.revision.name}": releases before v0.1.0-alpha.14 do not know it; '
            "take another strategy, or that release"
        )
        yield Problem(("metadata", "annotations", STRATEGY), message)


def _floors(at: Subject) -> Iterator[Problem]:
    """Releases that the compatibility table does not list together; what they refuse is an error by another rule."""
    release, revision = at.release, at.revision
    if at.settings.release is None:
        return
    tag = revision.name if revision.name in REVISIONS and at.revision_is_named else None
    if tag is not None:
        floor, end = REVISIONS.get(release.grove), release.grove_before
        if floor is not None and tag.startswith("v") and precedes(revision, floor):
            message = f'Dynamo {release.name} goes with Grove "{release.grove}" or newer; the input names "{tag}"'
            yield Problem(("spec",), message)
        elif end is not None and tag.startswith("v") and not precedes(revision, REVISIONS[end]):
            message = f'Dynamo {release.name} goes with Grove before "{end}"; the input names "{tag}"'
            yield Problem(("spec",), message)
    if at.kai_version is not None and release.kai and _numbers(at.kai_version) < _numbers(release.kai)[:2]:
        message = f'Dynamo {release.name} goes with KAI "{release.kai}" or newer; the input names "{at.kai_version}"'
        yield Problem(("spec",), message)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple([int(part) for part in version.removeprefix("v").split(".") if part.isdecimal()])


PAIRING = (
    Check(Rule("dynamo-grove-constraint", "Grove takes the constraints that Dynamo writes.", "spec/dynamo.md#4"),
          _constraint),
    Check(Rule("dynamo-grove-coherent", "Grove knows the update strategy that Dynamo asks for.", "spec/dynamo.md#1.1"),
          _coherent),
    Check(Rule("dynamo-floors", "Dynamo, Grove and KAI are of releases that go together.", "spec/dynamo.md#1.1",
               Severity.WARNING), _floors),
)  # fmt: skip
"""Rules of the releases."""
