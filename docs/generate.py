"""Write the pages of docs/reference/ that are generated from the code: `python docs/generate.py`, or `make docs`."""

# argparse has no public name for the arguments of a parser.
# pyright: reportPrivateUsage=false, reportUnknownVariableType=false, reportUnknownMemberType=false
from __future__ import annotations

import argparse
import ast
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import fill
from typing import Any, cast

from packwise.cli.command_line import parsers
from packwise.findings import Rule
from packwise.frontends.workloads.keys import PLACES, WORKLOAD_KEYS, is_owner
from packwise.keys import FORMS, KEYS, Key, Part, describe_places, parts_of
from packwise.objects.workload_kinds import WORKLOAD_KINDS, Role, WorkloadKind
from packwise.revisions.grove import HISTORY, NEWEST, RECORDS, ConditionCase, Revision
from packwise.revisions.kai import NEWEST as NEWEST_KAI
from packwise.revisions.kai import RELEASES as KAI_RELEASES
from packwise.revisions.kai import SUBGROUP_COUNTS, KaiRelease
from packwise.rules.run import RULES_BY_NAME, explained_rules, explanation, refusal, word_of
from packwise.schedulers.kueue.request import (
    GROUP_NAME,
    PREFERRED,
    REQUIRED,
    SLICE_LAYERS,
    SLICE_REQUIRED,
    SLICE_SIZE,
    TOPOLOGY_KEYS,
    UNCONSTRAINED,
)
from packwise.schema.run import schema_text, topologyrender_schema

__all__ = ["pages"]

HERE = Path(__file__).resolve().parent
FN = HERE.parent / "fn"
BEGIN, END = "<!-- imports -->\n", "<!-- /imports -->\n"
SMALL = frozenset({"__main__", "function", "kubernetes", "wording"})
"""Parts that the drawing omits, because they are a single module or know nothing of the domain."""


RULES_HEAD = """\
# Rules

Every finding names its rule: `[rule]` at the end of a line, `rule` in JSON, `tags.rule` in the results of a KRM
function. An error stops the render, a warning or an info does not. If Grove's operator, OSMO or an API server would
refuse the object, the finding also has its exact text (`operatorMessage`).

The last column links to the source of the rule: a section of [the specification](../spec/README.md), or a numbered rule
of Grove's webhook. Rules with r apply to new and updated workloads, and rules with u only to updates. A section below
the table explains each rule, and `packwise rules NAME` prints this section.

| Rule | Severity | Problem | Source |
|---|---|---|---|
"""

EXAMPLES_HEAD = """
Examples show only the fields that matter for the rule. If an example shows no configuration, the cluster has the levels
`zone`, `rack` and `host`.

"""

KEYS_HEAD = """\
# Labels and annotations

This page lists the keys that Grove, KAI and Dynamo read from workloads of Grove and Dynamo. packwise reports a misspelt
key ([`key-spelling`](rules.md#key-spelling)), a misplaced key ([`key-place`](rules.md#key-place)) and a value without
an effect ([`key-value`](rules.md#key-value), [`key-refused`](rules.md#key-refused)). It ignores keys of other projects.

Components read the keys at these places:

- PodCliqueSet: in its `metadata`. The keys of cliques and scaling groups are next to their `name`.
- DynamoGraphDeployment: in its `metadata`. `labels` and `annotations` below `spec` become the keys of the PodCliqueSet.
  The keys of a component are in `podTemplate.metadata`. In v1alpha1 they are directly in a service, or in its
  `extraPodMetadata`.

| Key | Read by | As | Values | Releases |
|---|---|---|---|---|
"""

WORKLOAD_KEYS_HEAD = """
## Workloads that KAI groups itself

KAI reads these keys from Jobs, JobSets and other kinds that it groups itself
([how](../how-to/gangs-without-grove.md)). The *owner* is the object for which KAI creates a PodGroup. A key at another
place has no effect, and KAI does not report it.

| Key | Read by | As | Where | Values | KAI |
|---|---|---|---|---|---|
"""

WORKLOAD_PLACES_HEAD = """
| Kind | Keys of the owner | Keys of the pods | Other keys |
|---|---|---|---|
"""

KUEUE_KEYS_HEAD = """
## Jobs that Kueue queues

Kueue reads these annotations from the metadata of each pod template of a job ([how](../how-to/kueue.md)). For a pod, it
reads the metadata of the pod. In a SparkApplication, they are directly in `spec.driver` and `spec.executor`.
`kueue.x-k8s.io/queue-name` is a label of the job itself. For a CronJob, this label is in `spec.jobTemplate.metadata`.
[`kueue-key`](rules.md#kueue-key) reports misspelt and misplaced keys. Levels are node labels.

| Key | Request |
|---|---|
"""

KUEUE_KEYS = {
    REQUIRED: "all pods within one domain of the level",
    PREFERRED: "all pods within one domain of the level, if possible",
    UNCONSTRAINED: '`"true"`: anywhere in the topology',
    SLICE_REQUIRED: "each slice of the pods within one domain of the level",
    SLICE_SIZE: "the number of pods of a slice",
    SLICE_LAYERS: "slices within slices: a JSON list with one to three entries of `topology` and `size`, from v0.19",
    GROUP_NAME: "two pod sets that are placed together; one of them has a single pod",
}

WRITTEN_KEYS_HEAD = """
## Written by operators

Operators and KAI write these keys, so packwise does not check their places.

| Key | Written by |
|---|---|
"""

COMMANDS_HEAD = """\
# Commands

`packwise help COMMAND` prints the section of a command. Paths are files and folders; `-` is standard input. Exit codes:
0 no error, 1 errors were found, 2 wrong usage.

| Command | Purpose |
|---|---|
"""

CONFIGURATION_HEAD = """\
# TopologyRender

The configuration of packwise, `packwise.dev/v1alpha1`. Put it among the objects of a package, or pass it as
functionConfig or with `--config`. Only packwise reads it, so do not apply it to a cluster. If the functionConfig is a
ConfigMap, its `data` has the same fields, and each value is a YAML text. Unknown fields are errors.

Editors can check and complete the file with [`topologyrender.schema.json`](topologyrender.schema.json). For the YAML
language server, write `# yaml-language-server: $schema=` and the path of the schema in the first line of the file.

"""

TABLE_HEAD = "| Field | Type | Default | Meaning |\n|---|---|---|---|\n"


REVISIONS_HEAD = """\
# Revisions: designs and releases

Grove's topology-aware scheduling differs from release to release. Before the first release, there were several designs.
Set `spec.revision` of a TopologyRender to the tag of the release in your cluster, or to the name of a design. The page
[Which Grove does my cluster run?](../explanation/revisions.md) helps you to choose.

## Releases

packwise generates the same objects for all releases of a record. Releases later implemented the designs `grep-244` and
`upstream`. v0.1.0-alpha.10-rc1 was a prototype and was never released.

"""

RECORDS_HEAD = """\
## Records

A record holds the data of one or several releases. These tables are generated from the records. If records have the
same values, they share a row.

"""


def yes(flag: bool) -> str:
    """Return "yes" or "no", for a cell of a table."""
    return "yes" if flag else "no"


def code(text: str | None, otherwise: str = "none") -> str:
    """Return `text` as code for a cell of a table, or `otherwise` if it is None."""
    return otherwise if text is None else f"`{text}`"


def chosen_by(revision: Revision) -> str:
    """Return the input that selects the revision for a render."""
    if revision.chosen_by_key and not revision.needs_levels:
        return "the configuration key"
    if revision.needs_levels:
        own = ", ".join([f"`{key}` in a workload" for key in revision.workload_keys])
        return f"the configuration key with levels, a {revision.topology_kind} in the input, or {own}"
    if revision.workload_keys:
        own = " or ".join([f"`{key}` in a workload" for key in revision.workload_keys])
        return f"`spec.revision`, or levels in the configuration and {own}"
    return "`spec.revision`" + (
        f", or a {revision.topology_kind} in the input" if revision.chosen_by_topologies else ""
    )


def existing_while_disabled(revision: Revision) -> str:
    """Return the part of a constraint that an existing workload keeps while topology-aware scheduling is disabled."""
    return "`required` dropped, `preferred` kept" if revision.keeps_preferred else "dropped"


def annotation(revision: Revision) -> str:
    """Return the PodGangs that have the annotation with the name of their topology."""
    if not revision.annotate_topology:
        return "none; all PodGangs if `topologyNameAnnotation` is set"
    return "all PodGangs" if revision.annotate_unconstrained else "PodGangs with a constraint"


SCHEDULER_LABELS = {
    "Never": "none",
    "Named": "if a clique or the configuration names a scheduler",
    "Always": "all PodGangs",
}

USER_TOPOLOGIES = {
    "Refused": "an error",
    "Ignored": "ignored",
    "Unused": "ignored, with a warning",
    "Used": "workloads choose one",
}

REVISION_ROWS: list[tuple[str, tuple[str, ...], Callable[[Revision], str]]] = [
    ("configuration key", ("configuration_key",), lambda r: code(r.configuration_key)),
    ("chosen by", ("chosen_by_key", "needs_levels", "workload_keys", "chosen_by_topologies"), chosen_by),
    ("topology object", ("topology_kind",), lambda r: code(r.topology_kind)),
    ("levels allowed", ("limits",), lambda r: f"1 to {r.limits.levels}" if r.limits.levels else "1 or more"),
    ("characters of a key", ("limits",), lambda r: f"1 to {r.limits.key_length}"),
    ("syntax of a key", ("limits",), lambda r: "qualified name" if r.limits.qualified_keys else "the CRD's pattern"),
    ("error for a repeated domain or key", ("duplicate_level",), lambda r: code(r.duplicate_level, "field errors")),
    ("hierarchy", ("listed_order",), lambda r: "as listed" if r.listed_order else "the fixed order of the domains"),
    ("name of the topology", ("default_topology", "named_by_configuration"),
     lambda r: code(r.default_topology, "the name of each object")
     + (", or `name` in the section" if r.named_by_configuration else "")),
    ("labels of the topology", ("topology_labels",),
     lambda r: ", ".join([f"`{key}: {value}`" for key, value in r.topology_labels]) or "none"),
    ("finalizer that `finalizers` adds", ("finalizer",), lambda r: code(r.finalizer)),
    ("topologies that users create", ("user_topologies",), lambda r: USER_TOPOLOGIES[r.user_topologies]),
    ("field of a workload that names its topology", ("topology_name_field",),
     lambda r: "`topologyConstraint.topologyName`" if r.constraints_choose else code(r.topology_name_field)),
    ("`scheduler.profiles` decide whether KAI Topologies are created", ("scheduler_profiles",),
     lambda r: yes(r.scheduler_profiles)),
    ("result if KAI refuses the Topology", ("topology_status",),
     lambda r: "an error" if r.topology_status is None else f"not Ready: `{r.topology_status.failed.reason}`"),
    ("schedulers that profiles may name", ("scheduler_backends",),
     lambda r: ", ".join([f"`{name}`" for name in r.scheduler_backends]) or "any"),
    ("schedulers that bindings may list", ("topology_backends",),
     lambda r: ", ".join([f"`{name}`" for name in r.topology_backends]) or "none"),
    ("fields of a workload", ("workload_api",), lambda r: code(r.workload_api)),
    ("rules of the webhook", ("validated_by",), lambda r: code(r.webhook or None, "older than all releases")),
    ("order of the domains in errors", ("fixed_domain_order",),
     lambda r: "broadest first" if r.fixed_domain_order else "as configured"),
    ("`packDomain` is optional", ("optional_domain",), lambda r: yes(r.optional_domain)),
    ("`packDomain` is deprecated for `pack.required`", ("deprecates_pack_domain",),
     lambda r: yes(r.deprecates_pack_domain)),
    ("separate error for an empty `packDomain`", ("names_missing_domain",), lambda r: yes(r.names_missing_domain)),
    ("name of the field of scaling groups in errors", ("group_constraint_field",),
     lambda r: code(r.group_constraint_field)),
    ("constraints after creation", ("mutable_constraints",),
     lambda r: "mutable" if r.mutable_constraints else "immutable"),
    ("preferred level of PodGangs", ("always_preferred",),
     lambda r: "always the strictest level" if r.always_preferred else "as in the workload"),
    ("PodGangs with the annotation `grove.io/topology-name`",
     ("annotate_topology", "annotate_unconstrained"), annotation),
    ("labels and annotations of PodGangs", ("mirrors_metadata",),
     lambda r: "from the operator and from the workload" if r.mirrors_metadata else "from the operator"),
    ("PodGangs with the label `grove.io/scheduler-name`", ("scheduler_label",),
     lambda r: SCHEDULER_LABELS[r.scheduler_label]),
    ("PodGangs are built from", ("podgang_maps",),
     lambda r: "PodGangMaps, with epochs in the names" if r.podgang_maps else "the PodCliqueSet"),
    ("version of Kubernetes' checks of names and labels", ("apimachinery",), lambda r: r.apimachinery),
    ("annotation that the webhook adds to new workloads with GPUs", ("mnnvl_annotation",),
     lambda r: code(r.mnnvl_annotation)),
    ("component that creates KAI PodGroups", ("podgroups_by_operator",),
     lambda r: "the operator, with `minSubGroup`" if r.podgroups_by_operator else "KAI's pod-grouper"),
    ("name of the Topology in PodGroups", ("follows_references",),
     lambda r: "the `topologyReference` of the binding for KAI, or else the name of the binding" if r.follows_references
     else "the name of the ClusterTopology or binding"),
    ("KAI schedules cliques of lpx-scheduler that request no LPU", ("splits_lpx",), lambda r: yes(r.splits_lpx)),
    ("PodGangs without pods have a PodGroup", ("empty_podgroups",), lambda r: yes(r.empty_podgroups)),
    ("default `minAvailable` of a clique", ("min_available_default",),
     lambda r: "1" if r.min_available_default == "One" else "the `replicas` as written"),
    ("default `minReplicas` of a clique's autoscaler", ("min_replicas_default",),
     lambda r: "`replicas`" if r.min_replicas_default == "Replicas" else "the `replicas` as written"),
    ("`rollingUpdate` of cliques and scaling groups", ("rolling_updates",),
     lambda r: "gets defaults" if r.rolling_updates else "does not exist"),
    ("constraint of an existing workload while topology-aware scheduling is disabled",
     ("keeps_preferred",), existing_while_disabled),
]  # fmt: skip
"""The columns of the tables of records. Each has a title, the fields of the record that it shows, and the function
that returns its cell.
"""

TOPICS = {
    "Configuration": (
        "configuration key",
        "chosen by",
        "schedulers that profiles may name",
        "`scheduler.profiles` decide whether KAI Topologies are created",
    ),
    "Topologies": (
        "topology object",
        "name of the topology",
        "topologies that users create",
        "hierarchy",
        "result if KAI refuses the Topology",
        "schedulers that bindings may list",
        "labels of the topology",
        "finalizer that `finalizers` adds",
    ),
    "Levels": ("levels allowed", "characters of a key", "syntax of a key", "error for a repeated domain or key"),
    "Constraints": (
        "field of a workload that names its topology",
        "`packDomain` is optional",
        "`packDomain` is deprecated for `pack.required`",
        "constraints after creation",
        "constraint of an existing workload while topology-aware scheduling is disabled",
    ),
    "Admission": (
        "fields of a workload",
        "rules of the webhook",
        "default `minAvailable` of a clique",
        "default `minReplicas` of a clique's autoscaler",
        "`rollingUpdate` of cliques and scaling groups",
        "annotation that the webhook adds to new workloads with GPUs",
    ),
    "Texts of the webhook": (
        "order of the domains in errors",
        "separate error for an empty `packDomain`",
        "name of the field of scaling groups in errors",
        "version of Kubernetes' checks of names and labels",
    ),
    "PodGangs": (
        "PodGangs are built from",
        "preferred level of PodGangs",
        "PodGangs with the annotation `grove.io/topology-name`",
        "labels and annotations of PodGangs",
        "PodGangs with the label `grove.io/scheduler-name`",
    ),
    "PodGroups of KAI": (
        "component that creates KAI PodGroups",
        "name of the Topology in PodGroups",
        "PodGangs without pods have a PodGroup",
        "KAI schedules cliques of lpx-scheduler that request no LPU",
    ),
}
"""The columns of each table, by the title of the table. Every column is in one table."""

CONDITION_ROWS = (
    ("all levels exist", "available"),
    ("one level no longer exists", "level_missing"),
    ("several levels no longer exist", "levels_missing"),
    ("topology-aware scheduling is disabled", "disabled"),
    ("the workload has no constraint", "unconstrained"),
    ("a constraint names no topology", "unnamed"),
    ("the topology does not exist", "topology_missing"),
)


def pages() -> dict[str, str]:
    """Return every generated page, by its path below docs/."""
    return {
        "architecture.md": architecture_page(),
        "reference/commands.md": commands_page(),
        "reference/rules.md": rules_page(),
        "reference/revisions.md": revisions_page(),
        "reference/keys.md": keys_page(),
        "reference/configuration.md": configuration_page(),
        "reference/topologyrender.schema.json": schema_text(topologyrender_schema()),
    }


def architecture_page() -> str:
    """Return docs/architecture.md with a drawing of the current imports."""
    page = (HERE / "architecture.md").read_text(encoding="utf-8")
    head, _, rest = page.partition(BEGIN)
    _, _, tail = rest.partition(END)
    return f"{head}{BEGIN}{drawing()}{END}{tail}"


def drawing() -> str:
    """Return a Mermaid graph of the parts, with an arrow for each import that no other arrows imply."""
    imports = part_imports()
    arrows = [
        f"  {part} --> {other}"
        for part in sorted(imports)
        for other in sorted(imports[part])
        if not any(other in reachable(imports, between) for between in imports[part] - {other})
    ]
    return "```mermaid\ngraph LR\n" + "\n".join(arrows) + "\n```\n"


def part_imports() -> dict[str, set[str]]:
    """Return the parts that each part of packwise imports. krmfn counts as one part."""
    imports: dict[str, set[str]] = {}
    for module in sorted((FN / "packwise").rglob("*.py")):
        part = module.relative_to(FN / "packwise").with_suffix("").parts[0]
        names = {name for name in imported_names(module) if name.startswith(("packwise.", "krmfn"))}
        others = {"krmfn" if name.startswith("krmfn") else name.split(".")[1] for name in names}
        imports.setdefault(part, set()).update(others - {part})
    drawn = imports.keys() - SMALL - {"__init__"}
    return {part: {other for other in imports[part] if other in drawn or other == "krmfn"} for part in drawn}


def imported_names(module: Path) -> list[str]:
    """Return the names of the modules in the `from … import` statements of a file."""
    nodes = ast.walk(ast.parse(module.read_text(encoding="utf-8")))
    return [node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module]


def reachable(imports: dict[str, set[str]], part: str) -> set[str]:
    """Return the parts that `part` imports, directly or through other parts."""
    parts: set[str] = set()
    waiting = [part]
    while waiting:
        new = imports.get(waiting.pop(), set()) - parts
        parts |= new
        waiting += new
    return parts


def revisions_page() -> str:
    """Return the page of revisions: the releases, a table of records for each topic, and the texts of conditions."""
    # Records with the same conditions share a section.
    texts = dict.fromkeys([(record.conditions, record.topology_status) for record in RECORDS])
    alike = [[r for r in RECORDS if (r.conditions, r.topology_status) == text] for text in texts]
    conditions = "\n".join([conditions_of(records) for records in alike])
    topics = "\n".join([topic_of(title, columns) for title, columns in TOPICS.items()])
    return REVISIONS_HEAD + releases_table() + RECORDS_HEAD + topics + "\n" + conditions + kai_releases()


def releases_table() -> str:
    """Return the table of releases: their records, dates and news, and the components that they work with."""
    rows = ["| Release | Record | Date | What is new | Works with |", "|---|---|---|---|---|"]
    for release in HISTORY:
        record = next(record for record in RECORDS if release.tag in record.releases)
        rows.append(
            f"| `{release.tag}` | `{record.name}` | {release.date} | {as_cell(release.news)} | {release.goes_with} |"
        )
    return "\n".join(rows) + "\n\n"


KAI_HEAD = """
## Releases of KAI

Set `spec.kai.version` to the release in your cluster. Releases differ in the PodGroups that the pod-grouper creates,
and in the objects that the API server accepts. packwise learned the behaviour of most releases by running their code.
If you omit the field, packwise assumes the newest release that was run. It warns
([`kai-unnamed`](rules.md#kai-unnamed)) if the input has a chart or an image of an older release. If the code of a
release was only read, packwise warns, and refuses no object because of this release.

"""

JOB_SETS = {
    "tree": "all pods of the Jobs that it needs, as a tree of groups",
    "flat": "1 pod, or the number in the annotation",
    "counted": "all pods",
}

KAI_ROWS: list[tuple[str, Callable[[KaiRelease], str]]] = [
    ("learned from", lambda r: r.source),
    ("`skip-podgrouper` is read", lambda r: yes(r.skips_by_annotation)),
    ("`preemption-delay` and `staleness-grace-period` are read", lambda r: yes(r.delays)),
    ("a Job is one group", lambda r: yes(r.groups_jobs)),
    ("`batch-min-member` is read", lambda r: yes(r.batch_min_member)),
    ("the group of a JobSet needs", lambda r: JOB_SETS[r.job_sets]),
    ("segments of LeaderWorkerSets and PyTorchJobs",
     lambda r: "work" if r.counts_segments or r.minor < SUBGROUP_COUNTS else "KAI's webhook refuses them"),
    ("topology keys of Ray groups are read", lambda r: yes(r.ray_group_topology)),
    ("the object that is created from a TrainJob or a Workflow gets the defaults of that kind",
     lambda r: yes(r.passes_defaults)),
]  # fmt: skip


def kai_releases() -> str:
    """Return the section of KAI's releases, with a table of their differences. Each release is a column."""
    names = [f"`{release.name}`" + (" (default)" if release is NEWEST_KAI else "") for release in KAI_RELEASES]
    lines = [f"| | {' | '.join(names)} |", "|---|" + "---|" * len(names)]
    for title, cell in KAI_ROWS:
        lines.append(f"| {title} | {' | '.join([cell(release) for release in KAI_RELEASES])} |")
    return KAI_HEAD + "\n".join(lines) + "\n"


def topic_of(title: str, columns: tuple[str, ...]) -> str:
    """Return the table of one topic. Consecutive records with the same cells share a row."""
    cells = {name: cell for name, _, cell in REVISION_ROWS}
    rows: list[tuple[list[str], list[str]]] = []
    for record in RECORDS:
        row = [as_cell(cells[name](record)) for name in columns]
        name = f"`{record.name}`" + (" (default)" if NEWEST.name in record.releases else "")
        if rows and rows[-1][1] == row:
            rows[-1][0].append(name)
        else:
            rows.append(([name], row))
    lines = [f"| Record | {' | '.join(columns)} |", "|---|" + "---|" * len(columns)]
    lines += [f"| {', '.join(names)} | {' | '.join(row)} |" for names, row in rows]
    return f"### {title}\n\n" + "\n".join(lines) + "\n"


def conditions_of(records: list[Revision]) -> str:
    """Return the section about the conditions that `records` have in common."""
    revision = records[0]
    texts = revision.conditions
    names = ", ".join([record.name for record in records])
    head = f"## Conditions of {names}\n\nConditions of a PodCliqueSet, type `{texts.type}`:\n\n"
    rows = "| When | Status | Reason | Message |\n|---|---|---|---|\n"
    for title, field in CONDITION_ROWS:
        rows += case_row(title, getattr(texts, field))
    if texts.constrained_only:
        rows += "\nA workload without constraints has no condition.\n"
    status = revision.topology_status
    if status is not None:
        rows += "\nConditions of the ClusterTopology, type `Ready`:\n\n"
        rows += "| When | Status | Reason | Message |\n|---|---|---|---|\n"
        rows += case_row("KAI accepts the Topology", status.ready) + case_row("KAI refuses the Topology", status.failed)
    return head + rows


def case_row(title: str, case: ConditionCase | None) -> str:
    """Return the row of a table of conditions, or "" if there is no such case."""
    if case is None:
        return ""
    told = [f"`{as_cell(text)}`" if text else "(empty)" for text in (case.status, case.reason, case.message)]
    return f"| {title} | {' | '.join(told)} |\n"


def rules_page() -> str:
    """Return the page of rules: the table of rules in the order in which they run, and a section for each rule."""
    if missing := sorted(RULES_BY_NAME.keys() - explained_rules()):
        raise SystemExit(f"no explanation of {', '.join(missing)}: write explanations/NAME.yaml beside its module")
    rules = RULES_BY_NAME.values()
    rows = [
        f"| [`{r.name}`](#{r.name}) | {r.severity} | {as_cell(r.summary)} | [{source_text(r)}](../{r.source}) |"
        for r in rules
    ]
    return RULES_HEAD + "\n".join(rows) + "\n" + EXAMPLES_HEAD + "\n".join([rule_section(rule) for rule in rules])


def source_text(rule: Rule) -> str:
    """Return the text of the link to the source of a rule: the page and the anchor, as in `grove r08`."""
    page, _, anchor = rule.source.removeprefix("spec/").partition(".md#")
    return f"{page} {anchor}"


def rule_section(rule: Rule) -> str:
    """Return the section of one rule: what it reports, why, an example with the operator's text, and what to use
    instead.
    """
    found = explanation(rule.name)
    refused = refusal(rule.name, found)
    parts = [f"## {rule.name}\n", paragraph("What it does", f"Reports {word_of(rule)}: {rule.summary}")]
    parts.append(paragraph("Why it matters", found.why))
    if found.before:
        parts.append(f"**Example**, before the change:\n\n{code_block('yaml', found.before)}")
    if found.failing:
        head = "Changed to:" if found.before else "**Example**"
        parts.append(f"{head}\n\n{code_block('yaml', found.failing)}")
    if found.also:
        parts.append(f"The example also breaks {', '.join([f'[`{name}`](#{name})' for name in found.also])}.\n")
    if refused is not None:
        texts = "".join([f"{text}\n" for text in refused.texts])
        parts.append(f"{refused.head}\n\n{code_block('text', texts)}")
    parts.append(paragraph("Use instead", found.fix))
    if found.passing:
        parts.append(code_block("yaml", found.passing))
    return "\n".join(parts)


def paragraph(head: str, text: str) -> str:
    """Return a paragraph of a rule: its head in bold, then the text, wrapped at 120 characters."""
    return f"**{head}**\n\n{fill(text, 120, break_long_words=False, break_on_hyphens=False)}\n"


def keys_page() -> str:
    """Return the page of keys: the keys that users write, in order of their names, then the keys of operators."""
    keys = sorted(KEYS.values(), key=lambda key: key.name)
    read = [key_row(key) for key in keys if not key.is_written]
    written = [f"| `{key.name}` | {key.reader} |" for key in keys if key.is_written]
    of_workloads = [
        row for key in sorted(WORKLOAD_KEYS.keys.values(), key=lambda key: key.name) for row in workload_key_rows(key)
    ]
    places = [kind_row(kind) for kind in WORKLOAD_KINDS.values()]
    return (
        KEYS_HEAD
        + "\n".join(read)
        + "\n"
        + WORKLOAD_KEYS_HEAD
        + "\n".join(of_workloads)
        + "\n"
        + WORKLOAD_PLACES_HEAD
        + "\n".join(places)
        + "\n"
        + KUEUE_KEYS_HEAD
        + "\n".join([f"| `{key}` | {KUEUE_KEYS[key]} |" for key in TOPOLOGY_KEYS])
        + "\n"
        + WRITTEN_KEYS_HEAD
        + "\n".join(written)
        + "\n"
    )


def workload_key_rows(key: Key) -> Iterator[str]:
    """Yield the rows of a key of workloads that KAI groups: its places as a label and as an annotation, by release."""
    values = ", ".join([f"`{value}`" for value in key.values if value]) or "any"
    for form, title in FORMS.items():
        parts = parts_of(key, form)
        if not parts:
            continue
        since: dict[int, list[Part]] = {}
        for part in parts:
            if part not in key.only_beside:
                since.setdefault(key.since_of.get(part, key.since), []).append(part)
        rows = [(first, places_of(read)) for first, read in sorted(since.items())]
        if key.only_beside:
            rows.append((key.since, f"{places_of(list(key.only_beside))}, together with the level of segments"))
        for first, place in rows:
            release = f"from v0.{first}" if first else ""
            yield f"| `{key.name}` | {key.reader} | {title} | {as_cell(place)} | {values} | {release} |"


def places_of(parts: list[Part]) -> str:
    """Return the places of a key: names of groups whose parts are all included, then all other parts."""
    left = dict.fromkeys(parts)
    words: list[str] = []
    for title, every in PLACES.items():
        if set(every) <= set(left):
            words.append(title)
            left = {part: None for part in left if part not in every}
    return ", ".join([*words, *dict.fromkeys([part.title for part in left])])


def kind_row(kind: WorkloadKind) -> str:
    """Return the row of a kind, with the paths of the metadata of its owner, its pods and its other parts."""
    cells: dict[str, list[str]] = {"owner": [], "pods": [], "others": []}
    for metadata in kind.metadata:
        column = "pods" if metadata.role is Role.POD else "owner" if is_owner(kind, metadata) else "others"
        cells[column].append(f"`{'.'.join(metadata.path).replace('.*', '[]')}`")
        if metadata.role is Role.POD and is_owner(kind, metadata):
            cells["owner"].append(cells["pods"][-1])
    return f"| {kind.name} | {' | '.join([', '.join(cell) or '–' for cell in cells.values()])} |"


def key_row(key: Key) -> str:
    """Return the row of a key that users write."""
    values = ", ".join([f"`{value}`" for value in key.values if value]) or "any"
    if key.otherwise:
        values += f"; {key.otherwise}"
    place = describe_places(key) or f"nothing; `{key.successor}` replaces it"
    releases = key.releases.words if key.releases is not None else ""
    if key.annotation_releases is not None:
        releases = f"as an annotation: {key.annotation_releases.words}"
    return f"| `{key.name}` | {key.reader} | {as_cell(place)} | {as_cell(values)} | {as_cell(releases)} |"


def commands_page() -> str:
    """Return the page of commands: a table in the order of the help, and a section for each command."""
    parser, commands = parsers()
    (choice,) = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    meanings = {action.dest: action.help or "" for action in choice._choices_actions}
    rows = [f"| [`{name}`](#{name}) | {as_cell(meaning)} |" for name, meaning in meanings.items()]
    parts = [command_section(name, command) for name, command in commands.items()]
    return COMMANDS_HEAD + "\n".join(rows) + "\n\n" + "\n".join(parts)


def command_section(name: str, command: argparse.ArgumentParser) -> str:
    """Return the section of a command: its description, a row for each argument, and its examples."""
    rows = [argument_row(action) for action in command._actions if action.dest != "help" and action.help]
    table = "| Argument | Meaning |\n|---|---|\n" + "\n".join(rows) + "\n\n" if rows else ""
    return f"## {name}\n\n{command.description}\n\n{table}" + code_block("text", f"{command.epilog}\n")


def argument_row(action: argparse.Action) -> str:
    """Return the row of an argument, spelled as in the help of its command."""
    chosen = "{" + ",".join(map(str, action.choices)) + "}" if action.choices else action.dest.upper()
    value = action.metavar if isinstance(action.metavar, str) else chosen
    spelt = [f"{option} {value}" if action.nargs != 0 else option for option in action.option_strings]
    return f"| `{as_cell(', '.join(spelt) or value)}` | {as_cell(' '.join((action.help or '').split()))} |"


def code_block(language: str, text: str) -> str:
    """Return `text` as a code block of Markdown."""
    return f"```{language}\n{text}```\n"


def configuration_page() -> str:
    """Return the page with a table of fields for the spec and for each part of it."""
    schema = topologyrender_schema()
    parts: dict[str, Any] = {"spec": schema["properties"]["spec"], **schema["$defs"]}
    return CONFIGURATION_HEAD + "\n".join(section(name, part) for name, part in parts.items())


def section(name: str, part: dict[str, Any]) -> str:
    """Return the section of one mapping of the configuration: its heading, and a row for each field."""
    rows = [
        f"| `{field}` | {as_cell(type_of(found))} | {default_of(found, field in part.get('required', ()))} "
        f"| {as_cell(found.get('description', ''))} |"
        for field, found in part["properties"].items()
    ]
    title = "spec" if name == "spec" else name.removesuffix("Model")
    return f"## {title}\n\n{part.get('description', '')}\n\n{TABLE_HEAD}" + "\n".join(rows) + "\n"


def type_of(found: dict[str, Any]) -> str:
    """Return the type of a field in words: its values, a list, or a link to another part of the configuration."""
    options = found.get("anyOf", found.get("oneOf"))
    if options is not None:
        return " or ".join([type_of(option) for option in options if option.get("type") != "null"])
    if "$ref" in found:
        name = found["$ref"].rpartition("/")[2].removesuffix("Model")
        return f"[{name}](#{name.lower()})"
    if "enum" in found:
        return " | ".join([f"`{choice}`" for choice in found["enum"]])
    if found.get("type") == "array":
        return f"list of {type_of(found['items'])}"
    kinds = cast("str | list[str]", found["type"])
    return kinds if isinstance(kinds, str) else " or ".join(kinds)


def default_of(found: dict[str, Any], required: bool) -> str:
    """Return the default of a field as JSON, "(required)", or "" if it has no default."""
    if required:
        return "(required)"
    default = found.get("default")
    return "" if default is None or isinstance(default, dict) else f"`{json.dumps(default)}`"


def as_cell(text: str) -> str:
    """Return `text` with escaped bars, for a cell of a Markdown table."""
    return text.replace("|", "\\|")


if __name__ == "__main__":
    for page, text in pages().items():
        (HERE / page).write_text(text, encoding="utf-8")
