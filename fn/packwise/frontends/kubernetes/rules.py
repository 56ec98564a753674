"""The rules of Kubernetes' own gangs: refusals by the API server, silently dropped fields, groups that never start.

Source: spec/kubernetes-gangs.md#8.
"""

from __future__ import annotations

from krmfn.result import Severity
from packwise.findings.finding import Rule

_WARNING, _INFO = Severity.WARNING, Severity.INFO
_PAGE = "spec/kubernetes-gangs.md#"


def _rule(name: str, summary: str, source: str, severity: Severity = Severity.ERROR, *, once: bool = False) -> Rule:
    return Rule(name, summary, f"{_PAGE}{source}", severity, once)


VERSION = _rule("kubernetes-version", "The API server serves the kind in that version.", "2")
DECODE = _rule("kubernetes-decode", "Every field of group scheduling has its type.", "4.1")
UNKNOWN = _rule("kubernetes-unknown-field", "Every field of group scheduling is one that the API server knows.", "4.1")
OBJECT = _rule("kubernetes-object", "The API server accepts the object.", "4")
UPDATE = Rule("update-kubernetes-object", "The API server accepts the update of the object.", f"{_PAGE}6")
GATES = _rule("kubernetes-gates", "The feature gates of the settings go together.", "2.1", once=True)
GATES_UNNAMED = _rule(
    "kubernetes-gates-unnamed", "The settings name the feature gates that the objects need.", "1", _INFO
)
UNCHECKED = _rule("kubernetes-unchecked", "The release of Kubernetes is one whose objects packwise checks.", "2", _INFO)
GATE_DROPPED = _rule("kubernetes-gate-dropped", "Every field has the feature gate that it needs.", "7", _WARNING)
REPLACED = _rule("kubernetes-replaced", "A committed object can be changed in place.", "6.1", _WARNING)
MIN_GROUP_COUNT = _rule(
    "kubernetes-min-group-count", "A gang of groups needs no more groups than it has.", "8.1", _WARNING
)
TWO_ROOTS = _rule("kubernetes-two-roots", "A Workload has one tree of groups.", "8.2", _WARNING)
BASIC_UNDER_GANG = _rule("kubernetes-basic-under-gang", "All groups below a gang are gangs.", "8.3", _WARNING)
DISRUPTION_MODE = _rule(
    "kubernetes-disruption-mode", "Only gangs are disrupted as a whole, with all below them.", "8.4", _WARNING
)
NO_CONSTRAINT = _rule("kubernetes-no-constraint", "A constraint names a node label.", "8.5", _INFO)
COARSER_CHILD = _rule(
    "kubernetes-coarser-child", "No group has a broader level than the group above it.", "8.6", _WARNING
)
DOMAIN_SPLIT = _rule(
    "kubernetes-domain-split", "A value of a node label is one domain of the cluster.", "8.7", _WARNING
)
KEY_UNKNOWN = _rule("kubernetes-key-unknown", "Some node has the label that a constraint names.", "8.8", _WARNING)
GROUP_MISSING = _rule("kubernetes-group-missing", "The PodGroup that pods name exists.", "8.9", _WARNING)
GROUP_UNUSED = _rule("kubernetes-group-unused", "Pods name the PodGroup.", "8.10", _INFO)
PARENT_MISSING = _rule(
    "kubernetes-parent-missing", "The CompositePodGroup that a group names as its parent exists.", "8.11", _WARNING
)
WORKLOAD_MISSING = _rule(
    "kubernetes-workload-missing", "The Workload and the template that a group names exist.", "8.12", _WARNING
)
TEMPLATE_DIFFERS = _rule(
    "kubernetes-template-differs", "A group says the same as the template that it names.", "8.13", _WARNING
)
MIN_COUNT_PODS = _rule("kubernetes-min-count-pods", "A gang needs no more pods than there are.", "8.14", _WARNING)
PODS_DIFFER = _rule(
    "kubernetes-pods-differ", "All pods of a group have one scheduler and one priority.", "8.15", _WARNING
)
TWO_GANGS = _rule(
    "kubernetes-two-gangs", "Pods of a group are scheduled by the default scheduler alone.", "8.16", _WARNING
)
JOB_IGNORED = _rule("kubernetes-job-ignored", "`spec.scheduling` of a Job has an effect.", "8.17", _WARNING)
JOB_NAME = _rule("kubernetes-job-name", "The Job controller can name a Workload after the Job.", "8.18", _WARNING)

RULES = (
    VERSION, DECODE, UNKNOWN, OBJECT, UPDATE, GATES, GATES_UNNAMED, UNCHECKED, GATE_DROPPED, REPLACED,
    MIN_GROUP_COUNT, TWO_ROOTS, BASIC_UNDER_GANG, DISRUPTION_MODE, NO_CONSTRAINT, COARSER_CHILD, DOMAIN_SPLIT,
    KEY_UNKNOWN, GROUP_MISSING, GROUP_UNUSED, PARENT_MISSING, WORKLOAD_MISSING, TEMPLATE_DIFFERS, MIN_COUNT_PODS,
    PODS_DIFFER, TWO_GANGS, JOB_IGNORED, JOB_NAME,
)  # fmt: skip
"""Every rule, in the order in which they are checked."""
