"""Proof that a migrated package gives the scheduler the same, and the running workloads whose migration is refused.

From alpha.12 on names hold the time of their making; pod groups keep theirs, and each is in one gang. There a gang
beyond minAvailable has the PodCliqueSet's constraint and its group's as a group config; before, the group's alone.
Source: spec/grove-releases.md#3.3.

Source: spec/grove.md#5, spec/grove-releases.md#2.6.
"""

from __future__ import annotations

from krmfn.edit import same
from krmfn.hints import TYPE_CHECKING, cast
from krmfn.kubeobject import KubeObject
from krmfn.result import Severity, exit_code
from packwise.findings.finding import Finding, Rule, Stage
from packwise.objects.identity import format_identity, identity, is_generated
from packwise.objects.kinds import POD_CLIQUE_SET, PODGANG, TOPOLOGY
from packwise.pipeline import render
from packwise.select import Configured
from packwise.settings import API_VERSION, KIND

if TYPE_CHECKING:
    from krmfn.result import Result
    from krmfn.value import Value
    from packwise.revisions.step import Step
    from packwise.select import Package

_ROOT, _CONFIGS = "topologyConstraint", "topologyConstraintGroupConfigs"


def gang_key(spec: Value) -> tuple[str, ...]:
    """What a gang is known by: its pod groups."""
    return tuple(sorted(_names(spec)))


def normalized(spec: Value) -> Value:
    """`spec` without group configs that demand nothing."""
    if not isinstance(spec, dict) or not isinstance(spec.get(_CONFIGS), list):
        return spec
    configs = [config for config in _configs(spec) if config.get(_ROOT) is not None]
    kept = {key: value for key, value in spec.items() if key != _CONFIGS}
    return {**kept, _CONFIGS: cast("Value", configs)} if configs else kept


def added_bounds(old: Value, new: Value) -> Value:
    """What `new` demands of all its pods that `old` does not, where that is the only difference; else None.

    Empty where the demands are the same ones, written elsewhere, or follow from those that stay.
    """
    (rest, demands), (rest_after, demands_after) = _apart(old), _apart(new)
    if not same(rest, rest_after) or not all(any(same(each, other) for other in demands_after) for each in demands):
        return None
    known = {key for demand in demands for key in demand}
    return {key: level for demand in demands_after for key, level in demand.items() if key not in known}


def _apart(spec: Value) -> tuple[Value, list[dict[str, Value]]]:
    """The spec without what holds all its pods, and that: the root's constraint, and that of a config of them all."""
    if not isinstance(spec, dict):
        return spec, []
    configs = _configs(spec)
    whole = [config for config in configs if same(_sorted(config.get("podGroupNames")), list(gang_key(spec)))]
    constraints = [spec.get(_ROOT), *(config.get(_ROOT) for config in whole)]
    demands = [c["packConstraint"] for c in constraints if isinstance(c, dict) and c.get("packConstraint")]
    rest = {key: value for key, value in spec.items() if key not in (_ROOT, _CONFIGS)}
    parts = [config for config in configs if config not in whole]
    return {**rest, _CONFIGS: cast("Value", parts)}, cast("list[dict[str, Value]]", demands)


def _names(spec: Value) -> list[str]:
    podgroups = spec.get("podgroups") if isinstance(spec, dict) else None
    return [
        str(podgroup.get("name")) for podgroup in (podgroups if isinstance(podgroups, list) else ())
        if isinstance(podgroup, dict)
    ]  # fmt: skip


def _configs(spec: dict[str, Value]) -> list[dict[str, Value]]:
    configs = spec.get(_CONFIGS)
    return [config for config in (configs if isinstance(configs, list) else ()) if isinstance(config, dict)]


def _sorted(names: Value) -> Value:
    return cast("Value", sorted([str(name) for name in names])) if isinstance(names, list) else names


GAINED = Rule("migrate-gained", "What had no effect before and has one now.", "spec/packwise.md#6.3", Severity.WARNING)
MEANING = Rule(
    "migrate-meaning", "The scheduler is told the same before and after a migration.", "spec/packwise.md#6.2"
)

_COMPARED = (TOPOLOGY.name, PODGANG.name)


def changed_meanings(before: Package, after: Package, step: Step) -> list[Result]:
    """A finding for each object that the scheduler gets otherwise from `after`; or the errors of a render.

    Labels and annotations count for nothing: later revisions write others. Nor does what every object of the source
    prefers, where the target has no words for it.
    """
    drops = step.preferred is not None and (not step.target.deprecates_pack_domain or step.keep_pack_domain)
    known, results = scheduled_specs(before, step.source.name, drops=drops)
    if results:
        return results
    now, results = scheduled_specs(after, step.target.name, drops=drops)
    if results:
        return results
    renamed = {step.source.default_topology: step.topology}
    findings: list[Finding] = []
    for key, (name, spec) in known.items():
        at = key if key in now or key[0] != TOPOLOGY.name else (*key[:2], renamed.get(key[2], key[2]))
        _, spec_after = now.get(at, ("", None))
        if spec_after is None:
            findings.append(Finding.of(MEANING, None, (), f"{name} would no longer be rendered"))
        elif not same(spec, spec_after):
            findings += _compared(name, spec, spec_after, step)
    return [finding.to_result() for finding in findings]


def _compared(name: str, old: Value, new: Value, step: Step) -> list[Finding]:
    """What the target adds to a gang by its own rule, as a warning; any other difference as an error."""
    if step.target.podgang_maps and not step.source.podgang_maps:
        added = added_bounds(old, new)
        if added == {}:
            return []
        if added is not None:
            message = (
                f"{name} would also be within the PodCliqueSet's own constraint, {_shown(added)}: revision "
                f'"{step.target.name}" puts it on every PodGang'
            )
            return [Finding.of(GAINED, None, (), message)]
    return [_otherwise(name, old, new)]


def _otherwise(name: str, old: Value, new: Value) -> Finding:
    """The first field in which two specs differ; all of them where only the order of entries does."""
    from packwise.commands.diff.change import FieldChange, field_changes, format_steps

    whole = FieldChange(("spec",), old, new)
    change = next(field_changes(old, new, whole.path), whole)
    text = f"{format_steps(change.path)} is {_shown(change.before)}, and would be {_shown(change.after)}"
    return Finding.of(MEANING, None, (), f"{name} would be told otherwise: {text}")


_Key = tuple[str, ...]


def scheduled_specs(package: Package, name: str, *, drops: bool) -> tuple[dict[_Key, tuple[str, Value]], list[Result]]:
    """What the schedulers read of each rendered object, by what stays the same; or the errors of the render."""
    rendered = render(as_admitted(package, "Existing", name))
    if exit_code(rendered.results):
        return {}, [
            result._replace(message=f'as revision "{name}": {result.message}')
            for result in rendered.results
            if result.severity is Severity.ERROR
        ]
    specs: dict[_Key, tuple[str, Value]] = {}
    for item in rendered.generated:
        if item.kind in _COMPARED:
            spec = normalized(item.value.get("spec"))
            pods = gang_key(spec) if item.kind == PODGANG.name else ()
            spec = _without_preferred(spec) if drops else spec
            specs[item.kind, item.namespace, *(pods or (item.name,))] = (format_identity(identity(item.value)), spec)
    return specs, []


def as_admitted(package: Package, admission: str, revision: str) -> Package:
    """`package` without what was generated earlier, for workloads of that admission.

    A package without a TopologyRender gets one, which names `revision`.
    """
    items = tuple(item for item in package.items if not is_generated(item.value))
    own = [item for item in items if (item.get(("apiVersion",)), item.get(("kind",))) == (API_VERSION, KIND)]
    configuration = package.function_config or (own[0] if own else None)
    if configuration is None:
        spec: dict[str, Value] = {"admission": admission, "revision": revision}
        config = KubeObject.new(
            {"apiVersion": API_VERSION, "kind": KIND, "metadata": {"name": "migrate"}, "spec": spec}
        )
    else:
        config = configuration.set(("data" if configuration.kind == "ConfigMap" else "spec", "admission"), admission)
    return package._replace(items=items, function_config=config)


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


def refused_workloads(before: Package, after: Package, step: Step) -> tuple[str, ...] | None:
    """`namespace/name` of each workload that the target's webhook refuses to change from its form before.

    None where there are no workloads.
    """
    stored = as_admitted(before, "Auto", step.source.name)
    if not any(item.kind == POD_CLIQUE_SET.name for item in stored.items):
        return None
    earlier = Configured(stored.function_config)
    changed = after._replace(baseline=stored.items, configured_before=earlier)
    rendered = render(as_admitted(changed, "Auto", step.target.name))
    refused = [
        f"{result.resource_ref.namespace}/{result.resource_ref.name}"
        for result in rendered.results
        if result.severity is Severity.ERROR
        and result.tags.get("stage") == Stage.WEBHOOK.value
        and result.resource_ref is not None
        and result.resource_ref.kind == POD_CLIQUE_SET.name
    ]
    return tuple(dict.fromkeys(refused))
