"""The explanation of each rule, from `explanations/NAME.yaml`, and its examples, which run."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from krmfn.hints import TYPE_CHECKING, cast
from krmfn.kubeobject import KubeObject
from krmfn.yamltext import read, split_documents
from packwise.findings.finding import Stage
from packwise.pipeline import render
from packwise.pipeline.registry import is_document
from packwise.select import Package
from packwise.settings.topologyrender import DIALECTS

if TYPE_CHECKING:
    from collections.abc import Mapping
    from importlib.resources.abc import Traversable
    from typing import Any

    from krmfn.fieldpath import FieldPath
    from krmfn.result import Result
    from krmfn.value import Value

_SPEAKERS = {
    Stage.CONFIG: "the operator, at its start",
    Stage.DECODE: "the operator's webhook, which cannot decode it",
    Stage.SCHEMA: "the API server",
    Stage.WEBHOOK: "the operator's webhook",
    Stage.POD: "the API server, of each pod that the operator creates",
    Stage.SCHEDULER: "the scheduler, of the workload's pods",
}

_SETTINGS = "TopologyRender"
_POOL = "OSMO pool"
_WORKFLOW = "OSMO workflow"
_CONFIGURATIONS = frozenset({_SETTINGS, "OperatorConfiguration"})


@dataclass(frozen=True, slots=True)
class Refusal:
    """What is said in a cluster of a failing example, at `stage`: `texts` are the exact words, in order.

    `rule` is the one that the example breaks.
    """

    stage: Stage
    texts: tuple[str, ...]
    rule: str = ""

    @property
    def speaker(self) -> str:
        """Who says it."""
        if self.rule.startswith("osmo-"):
            return "OSMO"
        if self.rule.startswith("kueue-") and self.stage is Stage.WEBHOOK:
            return "Kueue's webhook"
        return _SPEAKERS[self.stage]


def refusal(rule: str, explanation: Explanation) -> Refusal | None:
    """What would be said in a cluster, by that rule, of the failing example; None where nobody would say anything."""
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
    """What a render says of `example`, with lines as in it; as an update of `before`, where that is given."""
    objects = _objects(example)
    items = tuple(item for item in objects if not is_document(item.value))
    documents = tuple(item for item in objects if is_document(item.value))
    return render(Package(items, baseline=_objects(before) if before else None, documents=documents)).results


def _objects(example: str) -> tuple[KubeObject, ...]:
    """The objects of an example, whole; with a configuration, where it shows none."""
    bases = _bases()
    shown = _parsed(example)
    if all(item.kind not in _CONFIGURATIONS for item in shown):
        shown = (bases[_SETTINGS], *shown)
    kinds = [_kind(item) for item in shown]
    if _WORKFLOW in kinds and _POOL not in kinds:
        shown = (bases[_POOL], *shown)
    return tuple(_completed(item, (), item.value, _base(item, bases)) for item in shown)


def _base(item: KubeObject, bases: Mapping[str, KubeObject]) -> Mapping[str, Value]:
    """What `item` is completed by; a topology section that is spelt another way, by the one of the base.

    Nothing, where no base is of its kind or where it names the API group of another one: it is whole then.
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
    text = (files("packwise.commands.rules") / "base.yaml").read_text(encoding="utf-8")
    return {_kind(item): item for item in _parsed(text)}


def _kind(item: KubeObject) -> str:
    """The kind of an object; OSMO's documents have a name here."""
    if item.kind:
        return item.kind
    return _WORKFLOW if "workflow" in item.value else _POOL


def _parsed(text: str) -> tuple[KubeObject, ...]:
    return tuple(KubeObject.parse(document.text, line=document.line) for document in split_documents(text))


def _completed(item: KubeObject, path: FieldPath, shown: Value, base: Value) -> KubeObject:
    """`item` with what `shown`, its part at `path`, leaves out of `base`.

    The entries of a list are completed by those at their place. What is shown keeps its text: rules read that too.
    """
    if isinstance(shown, dict) and isinstance(base, dict):
        for key, part in base.items():
            inner = (*path, key)
            item = _completed(item, inner, shown[key], part) if key in shown else item.set(inner, part)
    elif isinstance(shown, list) and isinstance(base, list):
        for index, (entry, part) in enumerate(zip(shown, base, strict=False)):
            item = _completed(item, (*path, index), entry, part)
    return item


@dataclass(frozen=True, slots=True)
class Explanation:
    """`why` there is the rule, and how to `fix` what breaks it.

    The rest are examples, as YAML of what matters in them; "" where a rule has none. `before` is the state that
    `failing` and `passing` are an update of. `also` names the other rules whose errors `failing` leads to.
    """

    why: str
    fix: str
    failing: str = ""
    passing: str = ""
    before: str = ""
    also: tuple[str, ...] = ()


def explained() -> frozenset[str]:
    """The names of all rules that have an explanation."""
    return frozenset(file.name.removesuffix(".yaml") for file in _folder().iterdir())


def explanation(rule: str) -> Explanation:
    """The explanation of the rule of that name. Raises FileNotFoundError where there is none."""
    fields = cast("dict[str, Any]", read(_folder().joinpath(f"{rule}.yaml").read_text(encoding="utf-8")))
    also: list[str] = fields.pop("also", [])
    return Explanation(**fields, also=tuple(also))


def _folder() -> Traversable:
    return files("packwise.commands.rules") / "explanations"
