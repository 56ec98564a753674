"""Findings about Kueue's queue objects that the API server (by their CRDs) or Kueue's webhooks refuse.

The objects are ClusterQueue, LocalQueue, Cohort, AdmissionCheck and WorkloadPriorityClass, in v1beta1 and v1beta2.
Source: spec/kueue.md#5.4; Kueue v0.17 to v0.19, config/components/crd and pkg/webhooks.
"""

from __future__ import annotations

import re

from krmfn.fieldpath import format_path
from krmfn.hints import TYPE_CHECKING
from krmfn.result import Severity
from packwise.findings import Effect, Finding, Problem, Rule, Stage
from packwise.kubernetes import (
    V35,
    ErrorType,
    OperatorError,
    Unquoted,
    canonical_quantity,
    field_error,
    go_json,
    label_value,
    qualified_name,
    read_nanos,
    refusal,
)
from packwise.lenient import entries, mapping, mappings_by_place, mappings_in_place, text, value_at
from packwise.objects.kinds import (
    ADMISSION_CHECK,
    CLUSTER_QUEUE,
    COHORT,
    LOCAL_QUEUE,
)
from packwise.schedulers.kueue.queue_schemas import DEFINITIONS
from packwise.schedulers.kueue.request import merge_texts
from packwise.validate.crds import validate_object

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from krmfn.fieldpath import FieldPath
    from krmfn.kubeobject import KubeObject
    from krmfn.value import Value
    from packwise.revisions.kueue import KueueRelease
    from packwise.schedulers import SchedulerInput

REFUSED = Rule(
    "kueue-queue-refused",
    "The API server or Kueue's webhook refuses a ClusterQueue, LocalQueue or Cohort.",
    "spec/kueue.md#5.4",
)
DROPPED = Rule(
    "kueue-queue-field",
    "A ClusterQueue, LocalQueue or Cohort has an unknown field, or a LocalQueue names no ClusterQueue.",
    "spec/kueue.md#5.4",
)  # fmt: skip
RULES = (REFUSED, DROPPED)
"""Rules about queue objects."""

_OLD = f"{CLUSTER_QUEUE.group}/v1beta1"
_RENAMED = {("ClusterQueue", "cohort"): "cohortName", ("ClusterQueue", "admissionChecks"): "admissionChecksStrategy"}
"""The names in v1beta2 of fields that have another name in v1beta1, by kind and old name."""


def check_queue_objects(source: SchedulerInput, release: KueueRelease) -> Iterator[Finding]:
    """Yield a finding for each queue object that is refused, and for each field that the API server drops."""
    unknown = Severity.ERROR if source.settings.unknown_fields == "Error" else Severity.WARNING
    for kind, own in DEFINITIONS:
        definition = source.definitions.of_kind(*kind.key)
        for item in source.inventory.items.of_kind(*kind.key):
            if definition is None and item.api_version.rpartition("/")[2] not in own.schemas:
                # Another rule reports API versions that do not exist.
                continue
            before = source.inventory.baseline_object(item)
            verdict = validate_object(item.value, definition or own, tuple, before=before)
            problems = [each for each in verdict.problems if each.effect is not Effect.UNKNOWN]
            dropped = [each for each in verdict.problems if each.effect is Effect.UNKNOWN]
            if not problems and definition is None:
                problems = [*_broken_patterns(item), *_broken_rules(item, before)]
            if not problems:
                problems = merge_texts(_webhook_problems(item, before, release))
            for order, problem in enumerate(problems):
                yield Finding.of(REFUSED, item, problem, order=order)
            for problem in dropped:
                renamed = _with_new_name(problem, item)
                # A field that resembles no known field may be a new one of a release that packwise does not know.
                is_sure = renamed is not problem or "did you mean" in problem.message or item.api_version == _OLD
                severity = unknown if is_sure or definition is not None else Severity.WARNING
                yield Finding.of(DROPPED, item, renamed, severity=severity)
            yield from verdict.unchecked
    for item in source.inventory.items.of_kind(*LOCAL_QUEUE.key):
        spec = mapping(item.get("spec"))
        # The cause may be a misspelt field, which is already reported above.
        if not spec.get("clusterQueue") and not any(name.casefold() == "clusterqueue" for name in spec if spec[name]):
            path = ("spec",) if "spec" in item.value else ()
            message = "the LocalQueue names no `clusterQueue`, and its jobs wait forever"
            yield Finding.of(DROPPED, item, path, message, severity=Severity.WARNING)


def _with_new_name(problem: Problem, item: KubeObject) -> Problem:
    """Return the problem. If a v1beta2 object has the old name of a field, the message suggests the new name."""
    new = _RENAMED.get((item.kind, str(problem.path[-1]))) if len(problem.path) == 2 else None
    if new is None or item.api_version == _OLD:
        return problem
    message = f"{item.api_version} does not have this field, and the API server drops it; use `{new}`"
    return problem.replace(message=message)


# Patterns and CEL rules. Their texts are the texts of API servers since about v1.35.

_SUBDOMAIN = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
_AMOUNT = (
    r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"
)
_FLAVORS = ("spec", "resourceGroups", "*", "flavors", "*")
_PARAMETERS = ("spec", "parameters")
_PATTERNS: tuple[tuple[tuple[str, ...], str, str], ...] = (
    (("spec", "cohort"), _SUBDOMAIN, "a name in lower case"),
    (("spec", "cohortName"), _SUBDOMAIN, "a name in lower case"),
    (("spec", "parentName"), _SUBDOMAIN, "a name in lower case"),
    (("spec", "clusterQueue"), _SUBDOMAIN, "the name of a ClusterQueue"),
    ((*_FLAVORS, "name"), _SUBDOMAIN, "the name of a ResourceFlavor"),
    *[((*_FLAVORS, "resources", "*", name), _AMOUNT, "a quantity such as 2, 500m or 64Gi")
      for name in ("nominalQuota", "borrowingLimit", "lendingLimit")],
    (("spec", "fairSharing", "weight"), _AMOUNT, "a quantity such as 1 or 500m"),
    (("spec", "admissionChecksStrategy", "admissionChecks", "*", "onFlavors", "*"), _SUBDOMAIN,
     "the name of a ResourceFlavor"),
    ((*_PARAMETERS, "apiGroup"), _SUBDOMAIN, "the group of an API"),
    ((*_PARAMETERS, "kind"), r"^(?i)[a-z]([-a-z0-9]*[a-z0-9])?$", "the name of a kind"),
    ((*_PARAMETERS, "name"), r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", "a name in lower case"),
)  # fmt: skip
"""The steps to a text, the pattern that the CRD has for it, and a noun for the text."""


def _broken_patterns(item: KubeObject) -> Iterator[Problem]:
    for steps, pattern, title in _PATTERNS:
        for path, value in _texts_at(item.value, steps):
            # Python allows the flag (?i) only at the start of a pattern.
            own = f"(?i){pattern.replace('(?i)', '')}" if "(?i)" in pattern else pattern
            if re.fullmatch(own.removesuffix("$"), value) is None:
                field = format_path(path)
                error = OperatorError(field, ErrorType.INVALID, value, f"{field} in body should match '{pattern}'")
                yield refusal(path, f'must be {title}; got "{value}"', error, Stage.SCHEMA)


def _texts_at(value: Value, steps: tuple[str, ...], path: FieldPath = ()) -> Iterator[tuple[FieldPath, str]]:
    """Yield the texts at the end of `steps`. `*` stands for every entry of a list."""
    if not steps:
        if isinstance(value, str):
            yield path, value
    elif steps[0] == "*":
        for place, entry in enumerate(entries(value)):
            yield from _texts_at(entry, steps[1:], (*path, place))
    else:
        yield from _texts_at(mapping(value).get(steps[0]), steps[1:], (*path, steps[0]))


def _cel_problem(path: FieldPath, field: FieldPath, message: str, text: str) -> Problem:
    return refusal(path, message, OperatorError(format_path(field), ErrorType.INVALID, Unquoted(text)), Stage.SCHEMA)


def _broken_rules(item: KubeObject, before: Mapping[str, Value] | None) -> Iterator[Problem]:
    """Yield the violations of CEL rules."""
    spec = mapping(item.get("spec"))
    if item.kind in (CLUSTER_QUEUE.name, COHORT.name):
        yield from _uneven_groups(spec)
    if item.kind == CLUSTER_QUEUE.name:
        yield from _broken_queue_rules(spec, _cohort_field(item))
    for kind, name in ((LOCAL_QUEUE, "clusterQueue"), (ADMISSION_CHECK, "controllerName")):
        old = value_at(before, "spec", name)
        if item.kind == kind.name and old is not None and name in spec and spec[name] != old:
            path = ("spec", name)
            yield _cel_problem(path, path, f'cannot change; it was "{old}"', "field is immutable")


def _cohort_field(item: KubeObject) -> str:
    return "cohort" if item.api_version == _OLD else "cohortName"


def _uneven_groups(spec: Mapping[str, Value]) -> Iterator[Problem]:
    for place, group in mappings_by_place(spec.get("resourceGroups")):
        path: FieldPath = ("spec", "resourceGroups", place)
        covered = entries(group.get("coveredResources"))
        for position, flavor in mappings_by_place(group.get("flavors")):
            if len(entries(flavor.get("resources"))) != len(covered):
                message = f"must have a quota for each of the {len(covered)} covered resources, in the same order"
                text = "flavors must have the same number of resources as the coveredResources"
                yield _cel_problem((*path, "flavors", position, "resources"), path, message, text)
                break


def _broken_queue_rules(spec: Mapping[str, Value], cohort: str) -> Iterator[Problem]:
    limits = [path for path, _, quota in _quotas(spec) if quota.get("borrowingLimit") is not None]
    if limits and spec.get(cohort) is None:
        message = f"must not be set without a cohort: name one in `{cohort}`, or remove the limit"
        text = "borrowingLimit must be nil when cohort is empty"
        yield _cel_problem((*limits[0], "borrowingLimit"), ("spec",), message, text)
    fungibility = mapping(spec.get("flavorFungibility"))
    can_borrow = fungibility.get("whenCanBorrow", "MayStopSearch")
    can_preempt = fungibility.get("whenCanPreempt", "TryNextFlavor")
    if "preference" in fungibility and (can_borrow, can_preempt) != ("TryNextFlavor", "TryNextFlavor"):
        path = ("spec", "flavorFungibility")
        text = "preference can only be set when both whenCanBorrow and whenCanPreempt are TryNextFlavor"
        message = "must not be set unless whenCanBorrow and whenCanPreempt are TryNextFlavor"
        yield _cel_problem((*path, "preference"), path, message, text)
    preemption = mapping(spec.get("preemption"))
    policy = value_at(preemption, "borrowWithinCohort", "policy")
    if preemption.get("reclaimWithinCohort", "Never") == "Never" and policy not in (None, "Never"):
        path = ("spec", "preemption")
        text = "reclaimWithinCohort=Never and borrowWithinCohort.Policy!=Never"
        message = "must be Never while `reclaimWithinCohort` is Never, its default"
        yield _cel_problem((*path, "borrowWithinCohort", "policy"), path, message, text)


def _quotas(spec: Mapping[str, Value]) -> Iterator[tuple[FieldPath, str, Mapping[str, Value]]]:
    """Yield the path of each quota, the covered resource at the same position or "", and the fields of the quota."""
    for place, group in mappings_by_place(spec.get("resourceGroups")):
        covered = [text(each) for each in entries(group.get("coveredResources"))]
        for position, flavor in mappings_by_place(group.get("flavors")):
            for index, quota in mappings_by_place(flavor.get("resources")):
                path = ("spec", "resourceGroups", place, "flavors", position, "resources", index)
                yield path, covered[index] if index < len(covered) else "", quota


# The webhooks, in their order.

_NEGATIVE = "must be greater than or equal to 0"
_MAX_OF_ALL = 256
_MAX_PAIRS = 512
_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")


def _webhook_problems(item: KubeObject, before: Mapping[str, Value] | None, release: KueueRelease) -> Iterator[Problem]:
    spec = mapping(item.get("spec"))
    if item.kind == CLUSTER_QUEUE.name:
        has_cohort = bool(spec.get(_cohort_field(item)))
        yield from _group_problems(spec, "cohort", has_parent=has_cohort)
        yield from _selector_problems(mapping(spec.get("namespaceSelector")))
        yield from _fair_sharing(spec)
        yield from _total_problems(spec)
        if release.checks_on_flavors:
            yield from _check_flavors(spec, mapping(mapping(before).get("spec")))
    elif item.kind == COHORT.name:
        yield from _fair_sharing(spec)
        yield from _group_problems(spec, "parent", has_parent=bool(spec.get("parentName")))


def _group_problems(spec: Mapping[str, Value], parent: str, *, has_parent: bool) -> Iterator[Problem]:
    """Yield the problems of resources, flavors and quotas.

    Limits require a cohort. `parent` is Kueue's word for this cohort: `cohort` or `parent`.
    """
    resources, flavors = set[str](), set[str]()
    for place, group in mappings_by_place(spec.get("resourceGroups")):
        path: FieldPath = ("spec", "resourceGroups", place)
        for index, name in enumerate(map(text, entries(group.get("coveredResources")))):
            at = (*path, "coveredResources", index)
            for wrong in qualified_name(name, V35):
                yield field_error(at, ErrorType.INVALID, name, wrong, f'must be the name of a resource; got "{name}"')
            yield from _check_unique(at, name, resources, "in one resource group")
        covered = [text(each) for each in entries(group.get("coveredResources"))]
        for position, flavor in mappings_by_place(group.get("flavors")):
            at = (*path, "flavors", position)
            # The webhook ignores quotas beyond the number of covered resources.
            quotas = mappings_in_place(flavor.get("resources"))[: len(covered)]
            yield from _order_problems((*at, "resources"), [text(quota.get("name")) for quota in quotas], covered)
            for index, quota in enumerate(quotas):
                yield from _quota_problems((*at, "resources", index), quota, parent, has_parent)
            yield from _check_unique((*at, "name"), text(flavor.get("name")), flavors, "in one resource group")


def _check_unique(path: FieldPath, name: str, seen: set[str], where: str) -> Iterator[Problem]:
    if name in seen:
        error = OperatorError(format_path(path), ErrorType.DUPLICATE, name)
        yield refusal(path, f'"{name}" is listed again; it must be {where} only', error)
    seen.add(name)


def _order_problems(path: FieldPath, names: Sequence[str], covered: Sequence[str]) -> Iterator[Problem]:
    """Yield a problem for each quota that is not at the index of its covered resource.

    If only the order is wrong, the problems have one place and one message.
    """
    wrong = [index for index, name in enumerate(names) if name != covered[index]]
    is_permuted = sorted(names) == sorted(covered)
    for index in wrong:
        at = (*path, index, "name")
        error = OperatorError(
            format_path(at), ErrorType.INVALID, names[index], "must match the name in coveredResources"
        )
        place = (*path, wrong[0], "name") if is_permuted else at
        known = covered[wrong[0] if is_permuted else index]
        got = names[wrong[0] if is_permuted else index]
        message = f'must be "{known}", the resource at the same index of coveredResources; got "{got}"'
        yield refusal(place, f"{message}. Use one order" if is_permuted else message, error)


def _quota_problems(
    path: FieldPath,
    quota: Mapping[str, Value],
    parent: str,
    has_parent: bool,
) -> Iterator[Problem]:
    yield from _negative_problems(path, "nominalQuota", quota)
    if quota.get("borrowingLimit") is not None:
        yield from _parentless_cohort(path, "borrowingLimit", quota, parent, has_parent)
        yield from _negative_problems(path, "borrowingLimit", quota)
    if quota.get("lendingLimit") is not None:
        yield from _negative_problems(path, "lendingLimit", quota)
        yield from _parentless_cohort(path, "lendingLimit", quota, parent, has_parent)
        lent, nominal = read_nanos(quota["lendingLimit"]), read_nanos(quota.get("nominalQuota"))
        if parent == "cohort" and lent is not None and nominal is not None and lent > nominal:
            detail = "must be less than or equal to the nominalQuota"
            message = f"must be at most {quota.get('nominalQuota')}, the nominalQuota; got {quota['lendingLimit']}"
            yield field_error(
                (*path, "lendingLimit"), ErrorType.INVALID, _format_quantity(quota["lendingLimit"]), detail, message
            )


def _format_quantity(quantity: Value) -> str:
    return canonical_quantity(str(quantity))


def _negative_problems(path: FieldPath, field: str, quota: Mapping[str, Value]) -> Iterator[Problem]:
    amount = read_nanos(quota.get(field))
    if amount is not None and amount < 0:
        yield field_error(
            (*path, field),
            ErrorType.INVALID,
            _format_quantity(quota[field]),
            _NEGATIVE,
            f"must be at least 0; got {quota[field]}",
        )


def _parentless_cohort(
    path: FieldPath,
    field: str,
    quota: Mapping[str, Value],
    parent: str,
    has_parent: bool,
) -> Iterator[Problem]:
    if not has_parent:
        message = f"must not be set without a {parent}: name one, or remove the limit"
        yield field_error(
            (*path, field),
            ErrorType.INVALID,
            _format_quantity(quota[field]),
            f"must be nil when {parent} is empty",
            message,
        )


def _selector_problems(selector: Mapping[str, Value]) -> Iterator[Problem]:
    """Yield the problems of a label selector by Kubernetes' own validation."""
    path: FieldPath = ("spec", "namespaceSelector")
    labels, field = mapping(selector.get("matchLabels")), "spec.namespaceSelector.matchLabels"
    for key, value in sorted(labels.items()):
        at = (*path, "matchLabels", key)
        for wrong in qualified_name(key, V35):
            yield refusal(
                at, f'must be the key of a label; got "{key}"', OperatorError(field, ErrorType.INVALID, key, wrong)
            )
        for wrong in label_value(text(value), V35):
            error = OperatorError(field, ErrorType.INVALID, text(value), wrong)
            yield refusal(at, f'must be the value of a label; got "{value}"', error)
    for place, expression in mappings_by_place(selector.get("matchExpressions")):
        yield from _expression_problems((*path, "matchExpressions", place), expression)


def _expression_problems(path: FieldPath, expression: Mapping[str, Value]) -> Iterator[Problem]:
    operator, values = text(expression.get("operator")), entries(expression.get("values"))
    at = (*path, "values")
    if operator in ("In", "NotIn") and not values:
        detail = "must be specified when `operator` is 'In' or 'NotIn'"
        error = OperatorError(format_path(at), ErrorType.REQUIRED, None, detail)
        yield refusal(path, f"must have `values` with the operator {operator}", error)
    elif operator in ("Exists", "DoesNotExist") and values:
        detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
        error = OperatorError(format_path(at), ErrorType.FORBIDDEN, None, detail)
        yield refusal(at, f"must not be set with the operator {operator}", error)
    elif operator not in _OPERATORS:
        message = f'must be one of {", ".join(_OPERATORS)}; got "{operator}"'
        yield field_error((*path, "operator"), ErrorType.INVALID, operator, "not a valid selector operator", message)
    key = text(expression.get("key"))
    for wrong in qualified_name(key, V35):
        yield field_error((*path, "key"), ErrorType.INVALID, key, wrong, f'must be the key of a label; got "{key}"')
    for index, value in enumerate(map(text, values)):
        for wrong in label_value(value, V35):
            yield field_error(
                (*at, index), ErrorType.INVALID, value, wrong, f'must be the value of a label; got "{value}"'
            )


def _fair_sharing(spec: Mapping[str, Value]) -> Iterator[Problem]:
    path = ("spec", "fairSharing")
    written = value_at(spec, "fairSharing", "weight")
    weight = read_nanos(written)
    if weight is None:
        return
    error: Callable[[str], OperatorError] = lambda detail: OperatorError(  # noqa: E731
        format_path(path), ErrorType.INVALID, _format_quantity(written), detail
    )
    if weight < 0:
        yield refusal((*path, "weight"), f"must be at least 0; got {written}", error(_NEGATIVE))
    elif 0 < weight <= 1:
        detail = "When not 0, weight must be > 10e-9"
        yield refusal((*path, "weight"), f"must be 0, or more than 1e-9; got {written}", error(detail))


def _total_problems(spec: Mapping[str, Value]) -> Iterator[Problem]:
    groups = mappings_in_place(spec.get("resourceGroups"))
    path = ("spec", "resourceGroups")
    for field, noun in (("flavors", "flavors"), ("coveredResources", "covered resources")):
        total = sum([len(entries(group.get(field))) for group in groups])
        if total > _MAX_OF_ALL:
            detail = f"total number of {noun} across all resourceGroups must be ≤ {_MAX_OF_ALL}, got {total}"
            yield field_error(
                path, ErrorType.INVALID, total, detail, f"must have at most {_MAX_OF_ALL} {noun} in all; got {total}"
            )
    for place, group in enumerate(groups):
        flavors = mappings_in_place(group.get("flavors"))
        total = sum([len(entries(flavor.get("resources"))) for flavor in flavors])
        if total > _MAX_PAIRS:
            detail = f"number of flavor-resource combinations in a resourceGroup must be ≤ {_MAX_PAIRS}, got {total}"
            yield field_error(
                (*path, place), ErrorType.INVALID, total, detail, f"must have at most {_MAX_PAIRS} quotas; got {total}"
            )


def _check_flavors(spec: Mapping[str, Value], old: Mapping[str, Value]) -> Iterator[Problem]:
    """Yield a problem for each flavor in `onFlavors` of an admission check that the ClusterQueue lacks.

    An update may keep wrong flavors that the check already had.
    """
    path = ("spec", "admissionChecksStrategy", "admissionChecks")
    known = _flavor_names(spec)
    earlier = {
        text(check.get("name")): check.get("onFlavors")
        for _, check in mappings_by_place(value_at(old, *path[1:]))
        if _flavor_names(old) == known
    }
    for place, check in mappings_by_place(value_at(spec, *path[1:])):
        name = text(check.get("name"))
        if name in earlier and earlier[name] == check.get("onFlavors"):
            continue
        for index, flavor in enumerate(map(text, entries(check.get("onFlavors")))):
            if flavor not in known:
                at = (*path, place, "onFlavors", index)
                supported = ", ".join([go_json(each) for each in sorted(known)])
                error = OperatorError(
                    format_path(at), ErrorType.NOT_SUPPORTED, flavor, f"supported values: {supported}"
                )
                message = f'must be a flavor of the ClusterQueue; got "{flavor}"'
                # Go's sets have no order, so the text that lists several flavors is not predictable.
                yield refusal(at, message, error) if len(known) == 1 else Problem(at, message, stage=Stage.WEBHOOK)


def _flavor_names(spec: Mapping[str, Value]) -> set[str]:
    groups: Iterable[Mapping[str, Value]] = mappings_in_place(spec.get("resourceGroups"))
    return {text(flavor.get("name")) for group in groups for flavor in mappings_in_place(group.get("flavors"))}
