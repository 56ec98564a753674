"""Compares what the scheduler gets before a migration and after it: both must be equivalent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krmfn.edit import same
from krmfn.kubeobject import KubeObject
from krmfn.result import Severity, exit_code
from packwise.findings.finding import Finding, Rule
from packwise.objects.identity import format_identity, identity, is_generated
from packwise.objects.kinds import PODGANG, TOPOLOGY
from packwise.pipeline import render
from packwise.settings import API_VERSION, KIND

if TYPE_CHECKING:
    from krmfn.result import Result
    from krmfn.value import Value
    from packwise.objects.identity import Identity
    from packwise.revisions.step import Step
    from packwise.select import Package

__all__ = ["MEANING", "changed_meanings"]

MEANING = Rule("migrate-meaning", "The scheduler is told the same before and after a migration.", "revisions.md")

_COMPARED = (TOPOLOGY.name, PODGANG.name)


def changed_meanings(before: Package, after: Package, step: Step) -> list[Result]:
    """A finding for each object that the scheduler gets otherwise from `after`; or the errors of a render.

    Labels and annotations count for nothing: later revisions write others. Nor does what every object of the source
    prefers, where the target has no words for it.
    """
    drops = step.preferred is not None and (not step.target.deprecates_pack_domain or step.keep_pack_domain)
    known, results = _scheduled_specs(before, step.source.name, drops=drops)
    if results:
        return results
    now, results = _scheduled_specs(after, step.target.name, drops=drops)
    if results:
        return results
    renamed = {step.source.default_topology: step.topology}
    findings: list[Finding] = []
    for key, spec in known.items():
        group, kind, namespace, name = key
        at = key if kind != TOPOLOGY.name or key in now else (group, kind, namespace, renamed.get(name, name))
        spec_after = now.get(at)
        if spec_after is None:
            findings.append(Finding.of(MEANING, None, (), f"{format_identity(key)} would no longer be rendered"))
        elif not same(spec, spec_after):
            findings.append(_otherwise(format_identity(key), spec, spec_after))
    return [finding.to_result() for finding in findings]


def _otherwise(name: str, old: Value, new: Value) -> Finding:
    """The first field in which two specs differ; all of them where only the order of entries does."""
    from packwise.commands.diff.fields import FieldChange, field_changes, format_steps

    whole = FieldChange(("spec",), old, new)
    change = next(field_changes(old, new, whole.path), whole)
    text = f"{format_steps(change.path)} is {_shown(change.before)}, and would be {_shown(change.after)}"
    return Finding.of(MEANING, None, (), f"{name} would be told otherwise: {text}")


def _scheduled_specs(package: Package, name: str, *, drops: bool) -> tuple[dict[Identity, Value], list[Result]]:
    """What the schedulers read of each rendered object; or the errors of the render."""
    items = tuple([item for item in package.items if not is_generated(item.value)])
    rendered = render(package._replace(items=items, function_config=_as_existing(package)))
    if exit_code(rendered.results):
        return {}, [
            result._replace(message=f'as revision "{name}": {result.message}')
            for result in rendered.results
            if result.severity is Severity.ERROR
        ]
    specs = {identity(item.value): item.value.get("spec") for item in rendered.generated}
    return {key: _without_preferred(spec) if drops else spec for key, spec in specs.items() if key[1] in _COMPARED}, []


def _as_existing(package: Package) -> KubeObject:
    """The package's TopologyRender for workloads that run: what only new ones may not say is no matter here."""
    own = [item for item in package.items if item.kind == KIND and item.api_version == API_VERSION]
    configuration = package.function_config or (own[0] if own else None)
    if configuration is None:
        return KubeObject.new(
            {
                "apiVersion": API_VERSION,
                "kind": KIND,
                "metadata": {"name": "migrate"},
                "spec": {"admission": "Existing"},
            }
        )
    return configuration.set(("data" if configuration.kind == "ConfigMap" else "spec", "admission"), "Existing")


def _without_preferred(value: Value) -> Value:
    if isinstance(value, dict):
        kept = {key: _without_preferred(entry) for key, entry in value.items() if key != "preferred"}
        # A constraint that only preferred something is none.
        return {key: entry for key, entry in kept.items() if not (key == "topologyConstraint" and _is_empty(entry))}
    if isinstance(value, list):
        return [_without_preferred(entry) for entry in value]
    return value


def _is_empty(constraint: Value) -> bool:
    return isinstance(constraint, dict) and constraint.get("packConstraint") == {}


def _shown(value: Value) -> str:
    if value is None:
        return "absent"
    import json

    return json.dumps(value, ensure_ascii=False)
