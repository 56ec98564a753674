"""Writes the pages of docs/reference/ that follow from the code: `python docs/generate.py` (or `make docs`)."""

from __future__ import annotations

import json
from pathlib import Path
from textwrap import fill
from typing import Any

from packwise.api.model import json_schema
from packwise.cli.rules import RULES_BY_NAME
from packwise.explain import explanation, refusal
from packwise.finding import Rule

__all__ = ["pages"]

HERE = Path(__file__).resolve().parent

RULES_HEAD = """\
# Rules

Every finding names the rule it comes from: `[rule]` at the end of a line, `rule` in JSON, `tags.rule` in the results of
a KRM function. An error stops the render, a warning and an info do not. Where Grove's operator or an API server would
refuse the object, the finding also carries its exact text (`operatorMessage`).

The last column is where the rule is written down: a numbered rule of Grove's webhook (R: on create and update, U: on
update), or the part of a specification. Each rule is explained below the table; `packwise rules NAME` prints the same.

| Rule | Severity | What must be | Source |
|---|---|---|---|
"""

EXAMPLES_HEAD = """
Examples show the fields that matter; the rest is as in any valid object. Where an example shows no configuration, the
cluster has the levels `zone`, `rack` and `host`.

"""

CONFIGURATION_HEAD = """\
# TopologyRender

The configuration of packwise, `packwise.dev/v1alpha1`. It stands among the objects of a package, or is given as
functionConfig or with `--config`; tools read it and never apply it. In a ConfigMap as functionConfig the same fields
are keys of `data`, each a YAML text. Unknown fields are errors.

Editors check and complete it with [`topologyrender.schema.json`](topologyrender.schema.json): with the YAML language
server, as the file's first line `# yaml-language-server: $schema=` and the schema's path.

"""

TABLE_HEAD = "| Field | Type | Default | Meaning |\n|---|---|---|---|\n"


def pages() -> dict[str, str]:
    """Every generated page by its path below docs/."""
    return {
        "reference/rules.md": rules_page(),
        "reference/configuration.md": configuration_page(),
        "reference/topologyrender.schema.json": json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n",
    }


def rules_page() -> str:
    """The table of rules, in the order they run; then each of them explained."""
    rules = RULES_BY_NAME.values()
    rows = [f"| [`{r.name}`](#{r.name}) | {r.severity} | {escaped(r.summary)} | {r.source} |" for r in rules]
    return RULES_HEAD + "\n".join(rows) + "\n" + EXAMPLES_HEAD + "\n".join([rule_section(rule) for rule in rules])


def rule_section(rule: Rule) -> str:
    """One rule: what it is for, what breaks it and what the operator says of that, what keeps it."""
    found = explanation(rule.name)
    refused = refusal(rule.name, found)
    words = fill(f"{rule.summary} {found.why} {found.fix}", 120, break_long_words=False, break_on_hyphens=False)
    parts = [f"## {rule.name}\n\n{words}\n"]
    if found.before:
        parts.append(f"Before the change:\n\n{fenced('yaml', found.before)}")
    if found.failing:
        also = "".join([f", and [`{name}`](#{name}) with it" for name in found.also])
        parts.append(f"Fails{also}:\n\n{fenced('yaml', found.failing)}")
    if refused is not None:
        texts = "".join([f"{text}\n" for text in refused.texts])
        parts.append(f"What {refused.speaker} would say:\n\n{fenced('text', texts)}")
    if found.passing:
        parts.append(f"Passes:\n\n{fenced('yaml', found.passing)}")
    return "\n".join(parts)


def fenced(language: str, text: str) -> str:
    """Lines of code in Markdown."""
    return f"```{language}\n{text}```\n"


def configuration_page() -> str:
    """A table of fields for the spec and for each part of it."""
    schema = json_schema()
    parts: dict[str, Any] = {"spec": schema["properties"]["spec"], **schema["$defs"]}
    return CONFIGURATION_HEAD + "\n".join(section(name, part) for name, part in parts.items())


def section(name: str, part: dict[str, Any]) -> str:
    """One mapping of the configuration: its heading, and a row for each field."""
    rows = [
        f"| `{field}` | {escaped(type_of(found))} | {default_of(found, field in part.get('required', ()))} "
        f"| {escaped(found.get('description', ''))} |"
        for field, found in part["properties"].items()
    ]
    title = "spec" if name == "spec" else name.removesuffix("Model")
    return f"## {title}\n\n{part.get('description', '')}\n\n{TABLE_HEAD}" + "\n".join(rows) + "\n"


def type_of(found: dict[str, Any]) -> str:
    """A field's type in words: a choice, a list, another part of the configuration."""
    if "anyOf" in found:
        return " or ".join([type_of(option) for option in found["anyOf"] if option.get("type") != "null"])
    if "$ref" in found:
        name = found["$ref"].rpartition("/")[2].removesuffix("Model")
        return f"[{name}](#{name.lower()})"
    if "enum" in found:
        return " | ".join([f"`{choice}`" for choice in found["enum"]])
    if found.get("type") == "array":
        return f"list of {type_of(found['items'])}"
    return found["type"]


def default_of(found: dict[str, Any], required: bool) -> str:
    """A field's default as YAML spells it."""
    if required:
        return "(required)"
    default = found.get("default")
    return "" if default is None or isinstance(default, dict) else f"`{json.dumps(default)}`"


def escaped(text: str) -> str:
    """Text for a cell of a Markdown table."""
    return text.replace("|", "\\|")


if __name__ == "__main__":
    for page, text in pages().items():
        (HERE / page).write_text(text, encoding="utf-8")
