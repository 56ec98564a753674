"""The images of main containers: from Dynamo 1.5 on, what their tags say of the runtime decides how pods are made.

Source: spec/dynamo.md#2.6.
"""

from __future__ import annotations

import re
from itertools import islice

from krmfn.fieldpath import format_path
from krmfn.hints import TYPE_CHECKING
from packwise.findings.finding import Problem, Rule, Severity
from packwise.frontends.dynamo.convert import MAIN
from packwise.frontends.dynamo.rules.check import Check, refused
from packwise.frontends.dynamo.values import mappings, text
from packwise.kubernetes.validation import ErrorType, OperatorError
from packwise.objects.identity import is_placeholder
from packwise.revisions.dynamo import Known

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from krmfn.fieldpath import FieldPath
    from packwise.findings.finding import Finding
    from packwise.frontends.dynamo.graph import Component
    from packwise.frontends.dynamo.rules.check import Subject

__all__ = ["IMAGES", "RUNTIME_VERSION", "told_once"]

_NUMBER = r"(0|[1-9][0-9]*)"
_WORD = r"(0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*)"
_VERSION = re.compile(
    rf"[vV]?{_NUMBER}\.{_NUMBER}\.{_NUMBER}(-{_WORD}(\.{_WORD})*)?(\+[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?"
)
"""A tag that the operator takes for a semantic version."""

_OVERRIDE = "runtimeVersionOverride"
_UNVERSIONED = "is required when the specified main container image has no parseable semantic-version tag"
_LPX = "lpx"


def _lacks(at: Subject) -> Iterator[Problem]:
    """What the webhook misses in new components, and in those whose image or version a change touches."""
    if not at.is_new and at.before is None:
        # The webhook passes over what was there before.
        return
    before = {} if at.before is None else {component.name: component for component in at.before.components}
    for component in at.graph.components:
        if component.type == _LPX or any("podTemplate" in role for role in mappings(component.value.get("roles"))):
            continue
        old = before.get(component.name)
        image, version = _runtime(component)
        if not image:
            if old is None or _runtime(old)[0]:
                yield _without_image(at, component)
        elif not (version or is_placeholder(image) or _VERSION.fullmatch(_tag(image))) and (
            old is None or _runtime(old) != (image, version)
        ):
            yield _without_version(at, component, image)


def _runtime(component: Component) -> tuple[str, str]:
    """The image of the main container, and the version that is told beside it."""
    return text(component.main.get("image")), text(component.value.get(_OVERRIDE))


def _tag(image: str) -> str:
    return image.strip().partition("@")[0].rpartition("/")[2].partition(":")[2].strip()


def _without_image(at: Subject, component: Component) -> Problem:
    path, place = component.path("podTemplate", "spec", "containers"), _main_place(component)
    if place is not None:
        path = (*path, place, "image")
    field = f"{_service(component)}.extraPodSpec.mainContainer.image" if at.graph.is_alpha else format_path(path)
    written = "`extraPodSpec.mainContainer`" if at.graph.is_alpha else f'the container "{MAIN}"'
    return _required(path, f"must be given: {written} of a component names its image", field, "is required")


def _without_version(at: Subject, component: Component, image: str) -> Problem:
    path = component.path("podTemplate", "spec", "containers", _main_place(component) or 0, "image")
    owner = _service(component) if at.graph.is_alpha else format_path(component.path())
    message = f'must have a version as its tag, as in ":1.5.0", or `{_OVERRIDE}` beside it; got "{image}"'
    return _required(path, message, f"{owner}.{_OVERRIDE}", _UNVERSIONED)


def _required(path: FieldPath, message: str, field: str, detail: str) -> Problem:
    return refused(path, message, OperatorError(field, ErrorType.REQUIRED, None, detail).text())


def _service(component: Component) -> str:
    return f"spec.services[{component.name}]"


def _main_place(component: Component) -> int | None:
    containers = mappings(component.pod_spec.get("containers"))
    return next((place for place, each in enumerate(containers) if each.get("name") == MAIN), None)


def _is_demanded(at: Subject) -> bool:
    """True if the user names a release whose webhook is known to refuse what lacks a version."""
    return at.release.runtime_version is Known.YES and at.settings.release is not None


def _refused(at: Subject) -> Iterable[Problem]:
    return _lacks(at) if _is_demanded(at) else ()


def _warned(at: Subject) -> Iterator[Problem]:
    if at.release.runtime_version is Known.NO or _is_demanded(at):
        return
    lacks = _lacks(at)
    refusing = "Dynamo 1.5 and newer refuse it"
    if at.release.runtime_version is Known.UNSURE:
        lacks = (problem for problem in lacks if _UNVERSIONED in (problem.operator_message or ""))
        refusing = f"Dynamo {at.release.name} refuses it from some patch on"
    for problem in islice(lacks, 1):
        yield Problem(problem.path, f"{problem.message}: {refusing} otherwise")


def told_once(findings: Sequence[tuple[Finding, ...]]) -> list[tuple[Finding, ...]]:
    """The findings of each graph; of those about versions that a release may want, the first, with a count."""
    graphs = sum(any(finding.rule == RUNTIME_VERSION.name for finding in each) for each in findings)
    answer: list[tuple[Finding, ...]] = []
    is_told = False
    for each in findings:
        kept: list[Finding] = []
        for finding in each:
            if finding.rule != RUNTIME_VERSION.name:
                kept.append(finding)
            elif not is_told:
                is_told = True
                others = "1 other graph lacks" if graphs == 2 else f"{graphs - 1} other graphs lack"
                more = f"; {others} it too" if graphs > 1 else ""
                kept.append(finding._replace(message=finding.message + more))
        answer.append(tuple(kept))
    return answer


RUNTIME_VERSION = Rule(
    "dynamo-runtime-version",
    "Images tell the version of Dynamo, where its release may ask for that.",
    "spec/dynamo.md#2.6",
    Severity.WARNING,
    once=True,
)

IMAGES = (
    Check(Rule("dynamo-main-image", "The image of a main container tells the version of Dynamo.", "spec/dynamo.md#2.6"),
          _refused),
    Check(RUNTIME_VERSION, _warned),
)  # fmt: skip
"""Rules of the images of main containers."""
