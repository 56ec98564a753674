"""The table of all rules, and the explanation of one rule.

An explanation is a file `explanations/NAME.yaml`, in the folder of the module that defines the rule.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.resources import files
from textwrap import fill, indent

from krmfn.hints import TYPE_CHECKING, cast
from krmfn.kubeobject import KubeObject
from krmfn.result import Severity
from krmfn.yamltext import read, split_documents
from packwise.answer import PLAIN, Answer, Terminal, Text
from packwise.console import json_text, table
from packwise.findings import Stage
from packwise.inputs.request import UsageError
from packwise.pipeline import render
from packwise.pipeline.registry import SCHEDULERS, is_document
from packwise.pipeline.rules import rule_table
from packwise.pipeline.selection import Package
from packwise.settings.topologyrender import DIALECTS
from packwise.wording import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from importlib.resources.abc import Traversable
    from typing import Any

    from krmfn.fieldpath import FieldPath
    from krmfn.result import Result
    from krmfn.value import Value
    from packwise.findings import Rule
    from packwise.rules.options import Rules

_ANSWERS = {
    Stage.CONFIG: "The operator does not start and reports:",
    Stage.DECODE: "The operator's webhook cannot decode the object and answers:",
    Stage.SCHEMA: "The API server answers:",
    Stage.WEBHOOK: "The operator's webhook answers:",
    Stage.POD: "The API server answers for each pod that the operator creates:",
    Stage.SCHEDULER: "The scheduler reports for the pods of the workload:",
}
"""Headings of a component's text, by the stage that refuses the object."""

_WORDS = {Severity.ERROR: "an error", Severity.WARNING: "a warning", Severity.INFO: "an info"}

_SETTINGS = "TopologyRender"

_POOL = "OSMO pool"

_WORKFLOW = "OSMO workflow"

_CONFIGURATIONS = frozenset({_SETTINGS, "OperatorConfiguration"})


@dataclass(frozen=True, slots=True)
class Refusal:
    """The answer of a cluster to a failing example at `stage`. `texts` are the exact texts in order.

    `rule` is the rule that the example breaks.
    """

    stage: Stage
    texts: tuple[str, ...]
    rule: str = ""

    @property
    def head(self) -> str:
        """Return the line before the texts, which names the component that answers."""
        if self.rule.startswith("osmo-"):
            return "OSMO answers:"
        own = _webhook_of(self.rule) if self.stage is Stage.WEBHOOK else ""
        return f"{own} answers:" if own else _ANSWERS[self.stage]


def _webhook_of(rule: str) -> str:
    """Return the webhook of the scheduler that has the rule. Return "" if it is a rule of the operator's webhook."""
    entries = [entry for entry in SCHEDULERS if entry.webhook]
    return next((entry.webhook for entry in entries if rule in [each.name for each in entry.rules()]), "")


def refusal(rule: str, explanation: RuleExplanation) -> Refusal | None:
    """Return the cluster's answer by that rule to the failing example. Return None if the cluster does not report the
    rule.
    """
    if not explanation.failing:
        return None
    results = [result.tags for result in results_of(explanation.failing, explanation.before)]
    tags = [each for each in results if each["rule"] == rule and "operatorMessage" in each]
    if not tags:
        return None
    tags.sort(key=lambda each: int(each["order"]))
    texts = tuple(each["operatorMessage"] for each in tags)
    return Refusal(Stage(tags[0]["stage"]), texts, rule)


def results_of(example: str, before: str = "") -> tuple[Result, ...]:
    """Return the results of a render of `example`. If `before` is set, `example` is an update of it."""
    objects = _objects(example)
    items = tuple(item for item in objects if not is_document(item.value))
    documents = tuple(item for item in objects if is_document(item.value))
    return render(Package(items, baseline=_objects(before) if before else None, documents=documents)).results


def _objects(example: str) -> tuple[KubeObject, ...]:
    """Return the completed objects of an example, with a configuration if the example has none."""
    bases = _bases()
    shown = _parse(example)
    if all(item.kind not in _CONFIGURATIONS for item in shown):
        shown = (bases[_SETTINGS], *shown)
    kinds = [_kind(item) for item in shown]
    if _WORKFLOW in kinds and _POOL not in kinds:
        shown = (bases[_POOL], *shown)
    return tuple(_complete(item, (), item.value, _base(item, bases)) for item in shown)


def _base(item: KubeObject, bases: Mapping[str, KubeObject]) -> Mapping[str, Value]:
    """Return the base that completes `item`. A topology section keeps its spelling, and the base's section completes
    it.

    The result is empty if no base has its kind, or if `item` has another API group. The item is then complete.
    """
    known = bases.get(_kind(item))
    if known is None or (item.api_version and _group(item) != _group(known)):
        return {}
    base, spec = known.value, item.get("spec")
    keys = [key for key in DIALECTS if key in spec] if item.kind == _SETTINGS and isinstance(spec, dict) else []
    if not keys:
        return base
    parts = cast("Mapping[str, Value]", base["spec"])
    sections = {keys[0] if key in DIALECTS else key: part for key, part in parts.items()}
    return {**base, "spec": sections}


def _group(item: KubeObject) -> str:
    return item.api_version.partition("/")[0]


@cache
def _bases() -> Mapping[str, KubeObject]:
    text = (files("packwise.rules") / "base.yaml").read_text(encoding="utf-8")
    return {_kind(item): item for item in _parse(text)}


def _kind(item: KubeObject) -> str:
    """Return the kind of an object. Documents of OSMO get a name too."""
    if item.kind:
        return item.kind
    return _WORKFLOW if "workflow" in item.value else _POOL


def _parse(text: str) -> tuple[KubeObject, ...]:
    return tuple(KubeObject.parse(document.text, line=document.line) for document in split_documents(text))


def _complete(item: KubeObject, path: FieldPath, shown: Value, base: Value) -> KubeObject:
    """Return `item` completed from `base`. `shown` is its part at `path`.

    The entries of a list are completed by position. Parts in the example keep their text, because rules read the text
    too.
    """
    if isinstance(shown, dict) and isinstance(base, dict):
        for key, part in base.items():
            inner = (*path, key)
            item = _complete(item, inner, shown[key], part) if key in shown else item.set(inner, part)
    elif isinstance(shown, list) and isinstance(base, list):
        for index, (entry, part) in enumerate(zip(shown, base, strict=False)):
            item = _complete(item, (*path, index), entry, part)
    return item


@dataclass(frozen=True, slots=True)
class RuleExplanation:
    """The reason for the rule (`why`), and what to change (`fix`).

    The other fields are examples with the relevant YAML, or "" without one. `before` is the state that `failing` and
    `passing` update. `also` names other rules that `failing` breaks.
    """

    why: str
    fix: str
    failing: str = ""
    passing: str = ""
    before: str = ""
    also: tuple[str, ...] = ()


def explained_rules() -> frozenset[str]:
    """Return the names of all rules that have an explanation."""
    return frozenset(explanation_files())


def explanation(rule: str) -> RuleExplanation:
    """Return the explanation of the rule. Raise KeyError if there is none."""
    fields = cast("dict[str, Any]", read(explanation_files()[rule].read_text(encoding="utf-8")))
    also: list[str] = fields.pop("also", [])
    return RuleExplanation(**fields, also=tuple(also))


@cache
def explanation_files() -> Mapping[str, Traversable]:
    """Return the file of each explanation, by the name of the rule."""
    return {file.name.removesuffix(".yaml"): file for file in _explanations_below(files("packwise"))}


def _explanations_below(folder: Traversable) -> Iterator[Traversable]:
    for entry in folder.iterdir():
        if entry.name == "explanations":
            yield from entry.iterdir()
        elif entry.is_dir():
            yield from _explanations_below(entry)


_TABLES = (
    "build.summary",
    "inputs.paths",
    "render.files",
    "render.folder",
    "inputs.applications",
    "migrate.rewrite",
    "fleet.result",
)
"""Modules that define rules outside a render."""

RULES_BY_NAME: dict[str, Rule] = {
    rule.name: rule
    for rules in (rule_table(), *[import_module(f"packwise.{module}").RULES for module in _TABLES])
    for rule in rules
}
"""Every rule of a render, of the command line, of fleets and of migrations, by its name."""

_NARROWEST, _WIDEST = 40, 100


def rules(command: Rules, terminal: Terminal = PLAIN) -> Answer:
    """Return the table of rules, or the explanation of one. Raise UsageError if no rule has that name."""
    if command.name is None:
        known = RULES_BY_NAME.values()
        text = json_text([_fields(rule) for rule in known]) if command.as_json else _table(known)
    else:
        columns = max(_NARROWEST, min(terminal.columns or _WIDEST, _WIDEST))
        text = _explanation_text(rule_named(command.name), columns, as_json=command.as_json)
    return Answer((Text((text,)),))


def rule_named(name: str) -> Rule:
    """Return the rule of that name. If there is none, raise UsageError with the nearest name."""
    if name not in RULES_BY_NAME:
        hint = did_you_mean(name, RULES_BY_NAME, len(RULES_BY_NAME)) or "; `packwise rules` lists them"
        raise UsageError(f'there is no rule "{name}"{hint}')
    return RULES_BY_NAME[name]


def _explanation_text(rule: Rule, columns: int, *, as_json: bool) -> str:
    # Only the page of a rule needs its explanation.
    explained = explanation(rule.name)
    refused = refusal(rule.name, explained)
    if as_json:
        return json_text(_all_fields(rule, explained, refused))
    return "".join(_page(rule, explained, refused, columns))


def _table(known: Iterable[Rule]) -> str:
    rows = [(rule.name, rule.severity.value, rule.summary) for rule in known]
    return "".join([f"{line}\n" for line in table(rows)])


def _page(rule: Rule, explained: RuleExplanation, refused: Refusal | None, columns: int) -> Iterator[str]:
    """Yield the sections of a rule's page: its effect, its reason, an example and the replacement."""
    yield f"{rule.name} ({rule.severity.value})\n"
    yield _paragraph("What it does", f"Reports {word_of(rule)}: {rule.summary}", columns)
    yield _paragraph("Why it matters", explained.why, columns)
    if explained.failing:
        yield "\nExample\n"
        if explained.before:
            yield f"{_code(explained.before)}\n  changed to\n"
        yield _code(explained.failing)
        if explained.also:
            yield f"\n  The example also breaks {', '.join(explained.also)}.\n"
        if refused is not None:
            texts = "".join([f"{text}\n" for text in refused.texts])
            yield f"\n  {refused.head}\n{_code(texts)}"
    yield _paragraph("Use instead", explained.fix, columns)
    if explained.passing:
        yield _code(explained.passing)
    yield f"\nSource: docs/{rule.source}\n"


def _paragraph(head: str, text: str, columns: int) -> str:
    margin = "  "
    filled = fill(
        text,
        columns,
        initial_indent=margin,
        subsequent_indent=margin,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return f"\n{head}\n{filled}\n"


def _code(text: str) -> str:
    return "\n" + indent(text, "    ")


def word_of(rule: Rule) -> str:
    """Return the severity of the rule with its article: "an error"."""
    return _WORDS[rule.severity]


def _fields(rule: Rule) -> dict[str, Any]:
    return {
        "name": rule.name,
        "severity": rule.severity.value,
        "summary": rule.summary,
        "source": f"docs/{rule.source}",
    }


def _all_fields(rule: Rule, explained: RuleExplanation, refused: Refusal | None) -> dict[str, Any]:
    parts = {
        "why": explained.why,
        "fix": explained.fix,
        "before": explained.before,
        "failing": explained.failing,
        "also": list(explained.also),
        "stage": refused.stage.value if refused is not None else None,
        "operatorMessages": list(refused.texts) if refused is not None else [],
        "passing": explained.passing,
    }
    return {**_fields(rule), **{key: part for key, part in parts.items() if part}}
