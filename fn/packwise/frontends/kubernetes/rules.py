"""The rules of the default scheduler's gangs: objects that the API server refuses, dropped fields, and ignored fields.

Source: spec/kubernetes-gangs.md#8.
"""

from __future__ import annotations

from krmfn.result import Severity
from packwise.findings import Rule

_WARNING, _INFO = Severity.WARNING, Severity.INFO
_PAGE = "spec/kubernetes-gangs.md#"


def _rule(name: str, summary: str, source: str, severity: Severity = Severity.ERROR, *, once: bool = False) -> Rule:
    return Rule(name, summary, f"{_PAGE}{source}", severity, once)


VERSION = _rule("kubernetes-version", "The API server does not serve a kind in the API version of the object.", "2")
RELEASE_UNNAMED = _rule(
    "kubernetes-release-unnamed",
    "The release of Kubernetes is not set, and the newest release does not serve the objects.",
    "1",
    _WARNING,
    once=True,
)
DECODE = _rule("kubernetes-decode", "A field of group scheduling has the wrong type.", "4.1")
UNKNOWN = _rule("kubernetes-unknown-field", "The API server does not know a field of group scheduling.", "4.1")
OBJECT = _rule("kubernetes-object", "The API server refuses a Workload, PodGroup or CompositePodGroup.", "4")
UPDATE = Rule(
    "update-kubernetes-object",
    "The API server refuses the update of a Workload, PodGroup or CompositePodGroup.",
    f"{_PAGE}6",
)
GATES = _rule("kubernetes-gates", "A feature gate is on, but another gate that it needs is off.", "2.1", once=True)
GATES_UNNAMED = _rule(
    "kubernetes-gates-unnamed", "The settings do not name the feature gates that the objects need.", "1", _INFO
)
UNCHECKED = _rule("kubernetes-unchecked", "packwise does not check objects of this release of Kubernetes.", "2", _INFO)
GATE_DROPPED = _rule(
    "kubernetes-gate-dropped", "The API server drops a field because its feature gate is off.", "7", _WARNING
)
REPLACED = _rule("kubernetes-replaced", "A changed object must be deleted and created again.", "6.1", _WARNING)
MIN_GROUP_COUNT = _rule("kubernetes-min-group-count", "A group needs more child groups than it has.", "8.1", _WARNING)
TWO_ROOTS = _rule("kubernetes-two-roots", "A Workload has several groups at its top.", "8.2", _WARNING)
BASIC_UNDER_GANG = _rule(
    "kubernetes-basic-under-gang", "A child group of a gang has the policy `basic` instead of `gang`.", "8.3", _WARNING
)
DISRUPTION_MODE = _rule(
    "kubernetes-disruption-mode",
    "disruptionMode `all` is set on a group that is not a gang, or is missing on a child group.",
    "8.4",
    _WARNING,
)
NO_CONSTRAINT = _rule("kubernetes-no-constraint", "A constraint names no node label.", "8.5", _INFO)
COARSER_CHILD = _rule("kubernetes-coarser-child", "A group has a broader level than its parent group.", "8.6", _WARNING)
DOMAIN_SPLIT = _rule(
    "kubernetes-domain-split", "A value of a node label occurs in two domains of the level above.", "8.7", _WARNING
)
KEY_UNKNOWN = _rule("kubernetes-key-unknown", "A constraint names a label that no node has.", "8.8", _WARNING)
GROUP_MISSING = _rule("kubernetes-group-missing", "Pods name a PodGroup that does not exist.", "8.9", _WARNING)
GROUP_UNUSED = _rule("kubernetes-group-unused", "A PodGroup has no pods in the input.", "8.10", _INFO)
PARENT_MISSING = _rule("kubernetes-parent-missing", "A group names a parent that does not exist.", "8.11", _WARNING)
WORKLOAD_MISSING = _rule(
    "kubernetes-workload-missing", "A group names a Workload or a template that does not exist.", "8.12", _WARNING
)
TEMPLATE_DIFFERS = _rule(
    "kubernetes-template-differs", "A group differs from the template that it names.", "8.13", _WARNING
)
MIN_COUNT_PODS = _rule(
    "kubernetes-min-count-pods", "A gang needs more pods than its workloads create.", "8.14", _WARNING
)
PODS_DIFFER = _rule(
    "kubernetes-pods-differ",
    "The pods of a group have different schedulers or priorities, or another priority than the group.",
    "8.15",
    _WARNING,
)
TWO_GANGS = _rule(
    "kubernetes-two-gangs", "The pods of a group also belong to a group of KAI or Kueue.", "8.16", _WARNING
)
JOB_IGNORED = _rule("kubernetes-job-ignored", "`spec.scheduling` of a Job has no effect.", "8.17", _WARNING)
JOB_NAME = _rule(
    "kubernetes-job-name", "The name of a Job is too long, or has a dot, for the Workload of the Job.", "8.18", _WARNING
)
PRIORITY_CLASS = _rule(
    "kubernetes-priority-class",
    "The PriorityClass of a group does not exist, or has another value than the group.",
    "11",
    _WARNING,
)

RULES = (
    VERSION, RELEASE_UNNAMED, DECODE, UNKNOWN, OBJECT, UPDATE, GATES, GATES_UNNAMED, UNCHECKED, GATE_DROPPED, REPLACED,
    MIN_GROUP_COUNT, TWO_ROOTS, BASIC_UNDER_GANG, DISRUPTION_MODE, NO_CONSTRAINT, COARSER_CHILD, DOMAIN_SPLIT,
    KEY_UNKNOWN, GROUP_MISSING, GROUP_UNUSED, PARENT_MISSING, WORKLOAD_MISSING, TEMPLATE_DIFFERS, MIN_COUNT_PODS,
    PODS_DIFFER, TWO_GANGS, JOB_IGNORED, JOB_NAME, PRIORITY_CLASS,
)  # fmt: skip
"""Every rule, in the order in which they are checked."""
