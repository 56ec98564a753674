"""The rules of OSMO's documents as one table. Source: spec/osmo.md."""

from __future__ import annotations

from packwise.findings.rule import Rule, Severity
from packwise.frontends.osmo.rules.documents import GROUPS_OR_TASKS, LOCAL_FILES, NAMES, NAMES_UNIQUE, SECTIONS
from packwise.frontends.osmo.rules.pools import POOL, POOLS, PoolAt
from packwise.frontends.osmo.rules.workflows import NEED_NO_POOL, SUBMISSION, WORKFLOWS, Submission, levelled

__all__ = [
    "DIFFERS",
    "DOCUMENT",
    "DUPLICATE_KEY",
    "NAMES",
    "NEED_NO_POOL",
    "POOL",
    "POOLS",
    "POOL_CHOSEN",
    "POOL_KNOWN",
    "RULES",
    "SCHEMA",
    "SECTIONS",
    "SUBMISSION",
    "TEMPLATE",
    "TOKEN",
    "WORKFLOWS",
    "PoolAt",
    "Submission",
    "levelled",
]

DOCUMENT = Rule("osmo-document", "A labelled ConfigMap holds one document of OSMO.", "spec/osmo.md#input")
SCHEMA = Rule("osmo-schema", "Every field of a pool or workflow is one that OSMO takes.", "spec/osmo.md#1")
POOL_KNOWN = Rule("osmo-pool-known", "The pool of a workflow is among the input.", "spec/osmo.md#2")
POOL_CHOSEN = Rule(
    "osmo-pool-chosen", "A workflow says which of several pools it is for.", "spec/osmo.md#2", Severity.WARNING
)
TEMPLATE = Rule(
    "osmo-template",
    "The templates of a workflow can be filled in: each variable has a value.",
    "spec/osmo.md#6.1",
)
DUPLICATE_KEY = Rule("osmo-duplicate-key", "A key stands once in its mapping.", "spec/osmo.md#6.2", Severity.WARNING)
TOKEN = Rule(
    "osmo-token",
    "What OSMO fills in while a workflow runs stands in the Pods as it is.",
    "spec/osmo.md#2",
    Severity.INFO,
)
DIFFERS = Rule(
    "osmo-differs", "What OSMO itself would have made otherwise, and why that would be wrong.", "spec/osmo.md#defects",
    Severity.INFO,
)  # fmt: skip

RULES: tuple[Rule, ...] = (
    DOCUMENT,
    SECTIONS.rule,
    TEMPLATE,
    DUPLICATE_KEY,
    LOCAL_FILES.rule,
    GROUPS_OR_TASKS.rule,
    NAMES_UNIQUE.rule,
    SCHEMA,
    *(check.rule for check in (*POOLS, *POOL)),
    POOL_KNOWN,
    POOL_CHOSEN,
    *(check.rule for check in (*WORKFLOWS, *SUBMISSION)),
    TOKEN,
    DIFFERS,
)
"""Every rule, in the order in which OSMO would look."""
