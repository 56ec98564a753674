"""The fields of Kueue's queue objects in its CRDs: ClusterQueue, LocalQueue, Cohort, AdmissionCheck, priority class.

Patterns and CEL rules are in `queue_objects`. Source: spec/kueue.md#5.4; Kueue v0.17 to v0.19, config/components/crd.
"""

from __future__ import annotations

from dataclasses import replace

from krmfn.hints import TYPE_CHECKING
from packwise.objects.kinds import ADMISSION_CHECK, CLUSTER_QUEUE, COHORT, LOCAL_QUEUE, WORKLOAD_PRIORITY_CLASS
from packwise.validate.schema import Schema, ValueBounds
from packwise.validate.tables import (
    ANYTHING,
    INT32,
    INTEGER,
    QUANTITY,
    TEXT,
    by_name,
    choice,
    definition_by_version,
    fields,
    list_of,
    requiring,
)

if TYPE_CHECKING:
    from collections.abc import Mapping


def _text(most: int | None = None, least: int | None = None) -> Schema:
    return replace(TEXT, bounds=ValueBounds(min_length=least, max_length=most))


def _list(entry: Schema, most: int, least: int | None = None) -> Schema:
    return replace(list_of(entry), bounds=ValueBounds(min_items=least, max_items=most))


def _named_list(entry: Schema) -> Schema:
    """Return the schema of a list of 1 to 64 entries with unique names."""
    return replace(_list(entry, 64, 1), list_type="map", keys=("name",))


_NAME = _text(253)
_CHECK_NAME = _text(316)
_QUOTA = requiring(
    fields(name=TEXT, nominalQuota=QUANTITY, borrowingLimit=QUANTITY, lendingLimit=QUANTITY), "name", "nominalQuota"
)
_FLAVOR = requiring(fields(name=_NAME, resources=_named_list(_QUOTA)), "name", "resources")
_GROUP = requiring(
    fields(coveredResources=_list(TEXT, 64, 1), flavors=_named_list(_FLAVOR)), "coveredResources", "flavors"
)
_GROUPS = _list(_GROUP, 16)
_FAIR = fields(weight=QUANTITY)
_STOP = choice("None", "Hold", "HoldAndDrain")
_SELECTOR = fields(
    matchLabels=by_name(TEXT),
    matchExpressions=list_of(requiring(fields(key=TEXT, operator=TEXT, values=list_of(TEXT)), "key", "operator")),
)
_PREEMPTION = fields(
    reclaimWithinCohort=choice("Never", "LowerPriority", "Any"),
    withinClusterQueue=choice("Never", "LowerPriority", "LowerOrNewerEqualPriority"),
    borrowWithinCohort=fields(policy=choice("Never", "LowerPriority"), maxPriorityThreshold=INT32),
)
_PREFERENCE = choice("BorrowingOverPreemption", "PreemptionOverBorrowing")


def _fungibility(*old: str) -> Schema:
    """Return the fields of flavorFungibility. `old` are the additional values of both fields in v1beta1."""
    borrow, preempt = (*old, "", "")[:2]
    return fields(
        whenCanBorrow=choice(*filter(None, ("MayStopSearch", "TryNextFlavor", borrow))),
        whenCanPreempt=choice(*filter(None, ("MayStopSearch", "TryNextFlavor", preempt))),
        preference=_PREFERENCE,
    )


_COMMON_FIELDS: Mapping[str, Schema] = {
    "resourceGroups": _GROUPS,
    "queueingStrategy": choice("StrictFIFO", "BestEffortFIFO"),
    "namespaceSelector": _SELECTOR,
    "preemption": _PREEMPTION,
    "stopPolicy": _STOP,
    "fairSharing": _FAIR,
}
"""The fields that both versions of ClusterQueue have."""

_OLD_CLUSTER_QUEUE = fields(
    **_COMMON_FIELDS,
    cohort=_NAME,
    flavorFungibility=_fungibility("Borrow", "Preempt"),
    admissionChecks=list_of(_CHECK_NAME),
    admissionChecksStrategy=fields(
        admissionChecks=list_of(requiring(fields(name=_CHECK_NAME, onFlavors=list_of(_NAME)), "name"))
    ),
    admissionScope=requiring(fields(admissionMode=TEXT), "admissionMode"),
)
_CHECK = requiring(fields(name=_text(316, 1), onFlavors=replace(_list(_NAME, 64), list_type="set")), "name")
_MIGRATION = fields(
    mode=choice("TryPreferredFlavors", "RetainFirstAdmission"), constraints=fields(lastAcceptableFlavorName=_NAME)
)
_CLUSTER_QUEUE = fields(
    **_COMMON_FIELDS,
    cohortName=_NAME,
    flavorFungibility=_fungibility(),
    admissionChecksStrategy=requiring(fields(admissionChecks=_named_list(_CHECK)), "admissionChecks"),
    admissionScope=requiring(
        fields(admissionMode=choice("UsageBasedAdmissionFairSharing", "NoAdmissionFairSharing")), "admissionMode"
    ),
    concurrentAdmissionPolicy=requiring(fields(migration=requiring(_MIGRATION, "mode")), "migration"),
)
_LOCAL_QUEUE = fields(clusterQueue=_NAME, stopPolicy=_STOP, fairSharing=_FAIR)
_COHORT = fields(parentName=_NAME, resourceGroups=_GROUPS, fairSharing=_FAIR)


def _admission_check(least: int, most: int | None, **more: Schema) -> Schema:
    of_names = {name: _text(length, least) for name, length in (("apiGroup", 253), ("kind", 63), ("name", 63))}
    controller = TEXT if most is None else _text(most, least)
    parameters = requiring(fields(**of_names), "apiGroup", "kind", "name")
    return requiring(fields(controllerName=controller, parameters=parameters, **more), "controllerName")


def _object(spec: Schema) -> Schema:
    return fields(spec=spec, status=ANYTHING)


def _priority(most: int | None) -> Schema:
    return requiring(fields(value=INT32, description=_text(most)), "value")


DEFINITIONS = tuple(
    (kind, definition_by_version(kind, {"v1beta1": old, "v1beta2": new}))
    for kind, old, new in (
        (CLUSTER_QUEUE, _object(_OLD_CLUSTER_QUEUE), _object(_CLUSTER_QUEUE)),
        (LOCAL_QUEUE, _object(_LOCAL_QUEUE), _object(_LOCAL_QUEUE)),
        (COHORT, _object(_COHORT), _object(_COHORT)),
        (
            ADMISSION_CHECK,
            _object(_admission_check(0, None, retryDelayMinutes=INTEGER)),
            _object(_admission_check(1, 253)),
        ),
        (WORKLOAD_PRIORITY_CLASS, _priority(None), _priority(2048)),
    )
)
"""Each kind of queue object, with its definition by version."""
