"""All rules about DynamoGraphDeployments, in one table. Source: spec/dynamo.md."""

from __future__ import annotations

from krmfn.result import Severity
from packwise.findings import Rule
from packwise.frontends.dynamo.rules.admission import ADMISSION, UPDATE, Subject, run
from packwise.frontends.dynamo.rules.advice import ADVICE, IMAGES, PAIRING, report_version_once
from packwise.frontends.dynamo.rules.topology import OVERRIDE, TOPOLOGY

__all__ = [
    "CHECKS",
    "CLASH",
    "FIELD",
    "LIVE",
    "RULES",
    "SCHEMA",
    "TEMPLATED",
    "UNNAMED",
    "UNRENDERED",
    "VERSION",
    "Subject",
    "report_version_once",
    "run",
]  # fmt: skip

UNNAMED = Rule(
    "dynamo-release-unnamed", "The release of Dynamo is not set.", "spec/dynamo.md#1.1", Severity.INFO, once=True
)
VERSION = Rule(
    "dynamo-version",
    "The release of Dynamo does not serve the API version of a DynamoGraphDeployment.",
    "spec/dynamo.md#1.1",
)
SCHEMA = Rule("dynamo-schema", "A field of a DynamoGraphDeployment has the wrong type.", "spec/dynamo.md#2")
FIELD = Rule(
    "dynamo-field",
    "The API server drops an unknown field of a DynamoGraphDeployment.",
    "spec/dynamo.md#2",
    Severity.WARNING,
)
TEMPLATED = Rule(
    "dynamo-template",
    "A graph contains placeholders in fields that packwise must read.",
    "spec/dynamo.md#4.22",
    Severity.WARNING,
)
UNRENDERED = Rule(
    "dynamo-without-grove", "The operator creates no PodCliqueSet for a graph.", "spec/dynamo.md#3.1.1", Severity.INFO
)
CLASH = Rule("dynamo-set-clash", "The PodCliqueSets of two graphs have the same name.", "spec/dynamo.md#3.2.2")
LIVE = Rule(
    "dynamo-live",
    "packwise renders the operator's own PodCliqueSet instead of a preview.",
    "spec/dynamo.md#3.11.1",
    Severity.INFO,
)

CHECKS = (*PAIRING, *ADMISSION, *IMAGES, *TOPOLOGY, *OVERRIDE, *UPDATE, *ADVICE)
"""The checks of every graph, in the order in which they run."""

RULES: tuple[Rule, ...] = (
    UNNAMED, VERSION, SCHEMA, FIELD, TEMPLATED, UNRENDERED, CLASH, LIVE, *(check.rule for check in CHECKS),
)  # fmt: skip
"""Every rule of this front end."""
