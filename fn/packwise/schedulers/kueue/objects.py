"""Kueue's Topologies and ResourceFlavors: the rendered objects, and the checks of the API server and the webhook.

packwise renders a Topology for each topology that workloads can name, and a ResourceFlavor for each flavor in the
settings. Source: spec/kueue.md#5.
"""

from __future__ import annotations

from functools import partial

from krmfn.fieldpath import format_path
from krmfn.hints import TYPE_CHECKING
from krmfn.result import Severity
from packwise.findings import Finding, Origin, Problem, Rule, Stage
from packwise.keys import HOSTNAME
from packwise.kubernetes import (
    V35,
    ErrorType,
    OperatorError,
    Unquoted,
    go_json,
    is_dns_subdomain,
    json_type,
    label_value,
    qualified_name,
    refusal,
    type_error,
    variable_advice,
)
from packwise.lenient import entries, mapping, mappings_by_place, value_at
from packwise.objects.index import Generated
from packwise.objects.kinds import KUEUE_TOPOLOGY, RESOURCE_FLAVOR
from packwise.schedulers.kueue.request import merge_texts
from packwise.settings.topologyrender import settings_place
from packwise.topology.known import LABEL_PATTERN, is_label, level_origins, node_labels
from packwise.validate.crds import validate_object
from packwise.wording import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from krmfn.fieldpath import FieldPath
    from krmfn.kubeobject import KubeObject
    from krmfn.value import Value
    from packwise.findings import Place
    from packwise.objects.index import Index
    from packwise.objects.kinds import Kind
    from packwise.revisions.kueue import KueueRelease
    from packwise.schedulers import SchedulerInput
    from packwise.settings.topologyrender import KueueFlavor, TopologyRender
    from packwise.topology.known import KnownTopologies, KnownTopology

OBJECT = Rule("kueue-object", "The API server refuses a Topology or ResourceFlavor of Kueue.", "spec/kueue.md#5")
VERSION = Rule("kueue-version", "The release of Kueue does not serve the API version of an object.", "spec/kueue.md#7")
IGNORED = Rule(
    "kueue-dropped",
    "A Topology or ResourceFlavor of Kueue has an unknown field.",
    "spec/kueue.md#5",
    Severity.WARNING,
)
REFUSED = Rule(
    "kueue-topology", "The API server refuses the Topology of Kueue that is created from a topology.", "spec/kueue.md#5"
)
UNUSED = Rule(
    "kueue-flavors",
    "A ResourceFlavor of `kueue.flavors` cannot name a topology.",
    "spec/packwise.md#2.9",
    Severity.WARNING,
)
RULES = (REFUSED, UNUSED, OBJECT, VERSION, IGNORED)
"""Rules about Topologies and ResourceFlavors, written by users or rendered."""

_SOURCE = "spec/kueue.md#5"
_LEVELS = ("spec", "levels")
_MAX_LEVELS = 16
_LONGEST_LABEL = 316
_LONGEST_NAME = 253
_MAX_ENTRIES = 8
_OLD_VERSION = "kueue.x-k8s.io/v1beta1"
_NAME_PATTERN = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_EFFECTS_TEXT = "supported taint effect values: 'NoSchedule', 'PreferNoSchedule', 'NoExecute'"
_TOLERATION_RULES = (
    "operator must be Exists when 'key' is empty, which means 'match all values and all keys'",
    "effect must be 'NoExecute' when 'tolerationSeconds' is set",
    "supported toleration values: 'Equal'(default), 'Exists'",
    "a value must be empty when 'operator' is 'Exists'",
    _EFFECTS_TEXT,
)
"""The texts of the CRD's rules about tolerations, in the order of the rules."""


def check_objects(source: SchedulerInput, release: KueueRelease) -> Iterator[Finding]:
    """Yield findings about users' Topologies and ResourceFlavors, and about objects in a version that is not served.

    If the input has the CRD of a kind, it replaces packwise's own checks of the schema.
    """
    if not release.serves_v1beta1:
        yield from _check_versions(source.inventory.items, release)
    for kind in (KUEUE_TOPOLOGY, RESOURCE_FLAVOR):
        for item in source.inventory.items.of_kind(*kind.key):
            yield from _item_findings(kind, item, source, release)


def _check_versions(index: Index, release: KueueRelease) -> Iterator[Finding]:
    """Yield a finding for each object of Kueue in an API version that the release no longer serves."""
    served = KUEUE_TOPOLOGY.api_version
    message = f'must be "{served}"; {release.name} no longer serves "{_OLD_VERSION}"'
    for key, items in index.by_kind.items():
        # In other kinds, fields have other names in the new version, such as `cohort` of a ClusterQueue. So a new
        # `apiVersion` alone would not be a fix.
        proposed = served if key in (KUEUE_TOPOLOGY.key, RESOURCE_FLAVOR.key) else None
        for item in items if key[0] == KUEUE_TOPOLOGY.group else ():
            if item.api_version == _OLD_VERSION:
                yield Finding.of(VERSION, item, ("apiVersion",), message, proposed=proposed)


def _item_findings(kind: Kind, item: KubeObject, source: SchedulerInput, release: KueueRelease) -> Iterator[Finding]:
    before = source.inventory.baseline_object(item)
    table = topology_problems if kind is KUEUE_TOPOLOGY else flavor_problems
    own = partial(table, item.value, before, release)
    verdict = validate_object(item.value, source.definitions.of_kind(*kind.key), own, before=before)
    yield from verdict.findings(item, OBJECT)
    if kind is RESOURCE_FLAVOR and not verdict.problems:
        problems = merge_texts(webhook_problems(item.value))
        yield from (Finding.of(OBJECT, item, problem, order=order) for order, problem in enumerate(problems))
    if not verdict.by_definition:
        known: Collection[str] = ("levels",) if kind is KUEUE_TOPOLOGY else _FLAVOR_TYPES
        for name in mapping(item.get(("spec",))):
            if name not in known:
                yield _dropped_field(kind, item, ("spec", name), did_you_mean(name, known))
    if kind is KUEUE_TOPOLOGY:
        for position, level in mappings_by_place(item.get(_LEVELS)):
            for name in level:
                if name != "nodeLabel":
                    advice = "; Kueue has no aliases, so name the node label in workloads" if name == "alias" else ""
                    yield _dropped_field(kind, item, (*_LEVELS, position, name), advice)


def _dropped_field(kind: Kind, item: KubeObject, path: FieldPath, advice: str) -> Finding:
    """Return a finding about a field that the CRD does not have, such as KAI's alias. The API server drops it."""
    message = f"Kueue's {kind.name} does not have this field, and the API server drops it{advice}"
    return Finding.of(IGNORED, item, path, message, at_key=True)


def _rule(path: FieldPath, field: str, message: str, text: str) -> Problem:
    """Return the problem of a value that breaks a CEL rule with the error `text`."""
    return refusal(path, message, OperatorError(field, ErrorType.INVALID, Unquoted(text)), Stage.SCHEMA)


def topology_problems(
    value: Mapping[str, Value], before: Mapping[str, Value] | None, release: KueueRelease
) -> list[Problem]:
    """Return the violations of the CRD in the Topology `value`: of its schema, or else of its CEL rules."""
    spec, levels = value.get("spec"), value_at(value, *_LEVELS)
    if spec is not None and not isinstance(spec, dict):
        return [_wrong_type(("spec",), spec, "object")]
    if levels is None:
        text = OperatorError("spec.levels", ErrorType.REQUIRED)
        return [
            refusal(
                ("spec",), "must have `levels`, the node labels from the broadest to the narrowest", text, Stage.SCHEMA
            )
        ]
    if not isinstance(levels, list):
        return [_wrong_type(_LEVELS, levels, "array")]
    labels = node_labels(value)
    wrong = [*_level_types(levels)] or [*_structure(labels)]
    return wrong or list(_level_rules(labels, node_labels(before or {}), release, is_new=before is None))


def _level_types(levels: Sequence[Value]) -> Iterator[Problem]:
    for position, level in enumerate(levels):
        path = (*_LEVELS, position)
        if not isinstance(level, dict):
            yield _wrong_type(path, level, "object")
        elif level.get("nodeLabel") is None:
            text = OperatorError(f"spec.levels[{position}].nodeLabel", ErrorType.REQUIRED)
            yield refusal(path, "must have `nodeLabel`, the key of a node label", text, Stage.SCHEMA)
        elif not isinstance(level["nodeLabel"], str):
            yield _wrong_type((*path, "nodeLabel"), level["nodeLabel"], "string")


def _wrong_type(path: FieldPath, value: Value, wanted: str, field: str = "") -> Problem:
    message, error = type_error(field or format_path(path), value, wanted)
    return refusal(path, message, error, Stage.SCHEMA)


def _structure(labels: Sequence[str]) -> Iterator[Problem]:
    if not labels:
        text = OperatorError("spec.levels", ErrorType.INVALID, 0, "spec.levels in body should have at least 1 items")
        yield refusal(_LEVELS, "must have at least one level; got none", text, Stage.SCHEMA)
    if len(labels) > _MAX_LEVELS:
        text = OperatorError("spec.levels", ErrorType.TOO_MANY, len(labels), f"must have at most {_MAX_LEVELS} items")
        yield refusal(_LEVELS, f"must have at most {_MAX_LEVELS} levels; got {len(labels)}", text, Stage.SCHEMA)
    for position, label in enumerate(labels):
        field, path = f"spec.levels[{position}].nodeLabel", (*_LEVELS, position, "nodeLabel")
        if len(label.encode()) > _LONGEST_LABEL:
            text = OperatorError(field, ErrorType.TOO_LONG, None, f"may not be more than {_LONGEST_LABEL} bytes")
            yield refusal(path, f"must be at most {_LONGEST_LABEL} bytes long", text, Stage.SCHEMA)
        elif not label:
            text = OperatorError(field, ErrorType.INVALID, label, f"{field} in body should be at least 1 chars long")
            yield refusal(path, "must be the key of a node label; got an empty string", text, Stage.SCHEMA)
        if label and not is_label(label):
            text = OperatorError(field, ErrorType.INVALID, label, f"{field} in body should match '{LABEL_PATTERN}'")
            yield refusal(
                path, f'must be a label key, with its prefix in lower case; got "{label}"', text, Stage.SCHEMA
            )


def _level_rules(
    labels: Sequence[str], before: Sequence[str], release: KueueRelease, *, is_new: bool
) -> Iterator[Problem]:
    if not is_new and list(labels) != list(before):
        # If a release allows changes of levels, the hostname must be the lowest level before and after the change.
        ends = [each[-1:] == [HOSTNAME] for each in (list(labels), list(before))]
        if not release.mutable_levels:
            message = (
                f"the levels are immutable; they were {', '.join(before)}. Delete the Topology and create it again"
            )
            yield _rule(_LEVELS, "spec.levels", message, "field is immutable")
        elif not all(ends):
            text = f"levels are mutable only when {HOSTNAME} is the lowest level both before and after the change"
            message = f"the levels can change only if {HOSTNAME} is the lowest level before and after"
            yield _rule(_LEVELS, "spec.levels", message, text)
    again = next((position for position, label in enumerate(labels) if label in labels[:position]), None)
    if again is not None:
        message = f'duplicate level "{labels[again]}"'
        yield _rule((*_LEVELS, again, "nodeLabel"), "spec.levels", message, "must be unique")
    if HOSTNAME in labels[:-1] and labels[-1] != HOSTNAME:
        position = labels.index(HOSTNAME)
        message = f'"{HOSTNAME}" must be the lowest level, but "{labels[-1]}" is below it'
        text = f"the {HOSTNAME} label can only be used at the lowest level of topology"
        yield _rule((*_LEVELS, position, "nodeLabel"), "spec.levels", message, text)


def flavor_problems(
    value: Mapping[str, Value], before: Mapping[str, Value] | None, release: KueueRelease
) -> list[Problem]:
    """Return the violations of the CRD in the ResourceFlavor `value`: of its schema, or else of its CEL rules."""
    own = value.get("spec")
    if own is not None and not isinstance(own, dict):
        return [_wrong_type(("spec",), own, "object")]
    spec = mapping(own)
    return list(_flavor_types(spec)) or list(_flavor_structure(spec)) or list(_flavor_rules(spec, before, release))


def _flavor_types(spec: Mapping[str, Value]) -> Iterator[Problem]:
    """Yield a problem for each value of a type that the CRD does not accept."""
    for name, wanted in _FLAVOR_TYPES.items():
        if name in spec and json_type(spec[name]) != wanted:
            yield _wrong_type(("spec", name), spec[name], wanted)
    for key, label in mapping(spec.get("nodeLabels")).items():
        if not isinstance(label, str):
            yield _wrong_type(("spec", "nodeLabels", key), label, "string", f"spec.nodeLabels.{key}")
    for name in ("nodeTaints", "tolerations"):
        for place, entry in enumerate(entries(spec.get(name))):
            if not isinstance(entry, dict):
                yield _wrong_type(("spec", name, place), entry, "object")
            for key in _TAINT_TEXTS:
                text = mapping(entry).get(key)
                if text is not None and not isinstance(text, str):
                    yield _wrong_type(("spec", name, place, key), text, "string")


_FLAVOR_TYPES = {"nodeLabels": "object", "nodeTaints": "array", "tolerations": "array", "topologyName": "string"}
_TAINT_TEXTS = ("key", "value", "effect", "operator")


def _flavor_structure(spec: Mapping[str, Value]) -> Iterator[Problem]:
    for name in ("nodeLabels", "nodeTaints", "tolerations"):
        listed = spec.get(name)
        if isinstance(listed, (dict, list)) and len(listed) > _MAX_ENTRIES:
            detail = f"must have at most {_MAX_ENTRIES} items"
            text = OperatorError(f"spec.{name}", ErrorType.TOO_MANY, len(listed), detail)
            yield refusal(
                ("spec", name), f"must have at most {_MAX_ENTRIES} entries; got {len(listed)}", text, Stage.SCHEMA
            )
    topology = spec.get("topologyName")
    if not isinstance(topology, str):
        return
    path, field = ("spec", "topologyName"), "spec.topologyName"
    if len(topology) > _LONGEST_NAME:
        text = OperatorError(field, ErrorType.TOO_LONG, None, f"may not be more than {_LONGEST_NAME} bytes")
        yield refusal(path, f"must be at most {_LONGEST_NAME} bytes long", text, Stage.SCHEMA)
    if not is_dns_subdomain(topology[:_LONGEST_NAME]):
        text = OperatorError(field, ErrorType.INVALID, topology, f"{field} in body should match '{_NAME_PATTERN}'")
        yield refusal(path, f'must be the name of a Topology; got "{topology}"', text, Stage.SCHEMA)


def _flavor_rules(
    spec: Mapping[str, Value], before: Mapping[str, Value] | None, release: KueueRelease
) -> Iterator[Problem]:
    topology, labels = spec.get("topologyName"), spec.get("nodeLabels")
    text = "at least one nodeLabel is required when topology is set"
    message = "must have `nodeLabels` if `topologyName` is set; they select the nodes of the flavor"
    if topology is not None and labels is None:
        missing = f'"object": no such key: nodeLabels evaluating rule: {text}'
        yield _rule(("spec", "topologyName"), "spec", message, missing)
    elif topology is not None and not labels:
        yield _rule(("spec", "nodeLabels"), "spec", message, text)
    yield from _flavor_changes(spec, mapping(mapping(before).get("spec")), release)
    yield from _taint_rules(mappings_by_place(spec.get("nodeTaints")))
    yield from _toleration_rules(mappings_by_place(spec.get("tolerations")))


def _flavor_changes(spec: Mapping[str, Value], old: Mapping[str, Value], release: KueueRelease) -> Iterator[Problem]:
    was = old.get("topologyName")
    if was is None:
        return
    for name, title in (("nodeLabels", "node labels"), ("tolerations", "tolerations")):
        if release.fixes_flavors and spec.get(name) != old.get(name):
            path = ("spec", name) if name in spec else ("spec",)
            message = (
                f"the {title} are immutable while the flavor has a topology; delete the ResourceFlavor and "
                "create it again"
            )
            yield _rule(path, "spec", message, f"{name} are immutable when topologyName is set")
    if spec.get("topologyName") != was:
        path = ("spec", "topologyName") if "topologyName" in spec else ("spec",)
        message = f'the topology is immutable; it was "{was}". Delete the ResourceFlavor and create it again'
        yield _rule(path, "spec", message, "topologyName is immutable when topologyName is set")


def _taint_rules(taints: list[tuple[int, Mapping[str, Value]]]) -> Iterator[Problem]:
    wrong = [position for position, taint in taints if taint.get("effect") not in _EFFECTS]
    if wrong:
        path = ("spec", "nodeTaints", wrong[0])
        yield _rule(path, "spec.nodeTaints", f"must have an effect, one of {', '.join(_EFFECTS)}", _EFFECTS_TEXT)


def _toleration_rules(tolerations: list[tuple[int, Mapping[str, Value]]]) -> Iterator[Problem]:
    first: dict[str, int] = {}
    for position, toleration in tolerations:
        for text in _broken_rules(toleration):
            first.setdefault(text, position)
    for text in _TOLERATION_RULES:
        if text in first:
            path = ("spec", "tolerations", first[text])
            yield _rule(path, "spec.tolerations", f"the toleration breaks a rule: {text}", text)


def _broken_rules(toleration: Mapping[str, Value]) -> Iterator[str]:
    needs_exists, needs_no_execute, known_operator, no_value, known_effect = _TOLERATION_RULES
    operator, effect = toleration.get("operator", "Equal"), toleration.get("effect")
    if "key" not in toleration and operator != "Exists":
        yield needs_exists
    if "tolerationSeconds" in toleration and effect != "NoExecute":
        yield needs_no_execute
    if operator not in ("Equal", "Exists"):
        yield known_operator
    if operator == "Exists" and "value" in toleration:
        yield no_value
    if "effect" in toleration and effect not in _EFFECTS:
        yield known_effect


def webhook_problems(value: Mapping[str, Value]) -> Iterator[Problem]:
    """Yield the problems that the webhook finds in a ResourceFlavor that the CRD accepts."""
    spec = mapping(value.get("spec"))
    for key, text in mapping(spec.get("nodeLabels")).items():
        path = ("spec", "nodeLabels", key)
        yield from _value_problems(path, "spec.nodeLabels", key, qualified_name(key, V35), "the key of a node label")
        if isinstance(text, str):
            yield from _value_problems(path, "spec.nodeLabels", text, label_value(text, V35), "a label's value")
    seen: set[tuple[Value, Value]] = set()
    for position, taint in mappings_by_place(spec.get("nodeTaints")):
        yield from _taint(position, taint, seen)
    for position, toleration in mappings_by_place(spec.get("tolerations")):
        key = toleration.get("key")
        if isinstance(key, str) and key:
            path = ("spec", "tolerations", position, "key")
            wrong = qualified_name(key, V35)
            yield from _value_problems(path, f"spec.tolerations[{position}].key", key, wrong, "the key of a taint")


def _taint(position: int, taint: Mapping[str, Value], seen: set[tuple[Value, Value]]) -> Iterator[Problem]:
    path, field = ("spec", "nodeTaints", position), f"spec.nodeTaints[{position}]"
    key, text = taint.get("key"), taint.get("value")
    if isinstance(key, str):
        yield from _value_problems((*path, "key"), f"{field}.key", key, qualified_name(key, V35), "the key of a taint")
    if isinstance(text, str) and label_value(text, V35):
        wrong = ";".join(label_value(text, V35))
        yield from _value_problems((*path, "value"), f"{field}.value", text, (wrong,), "a label's value")
    both = (str(key), str(taint.get("effect")))
    if both in seen:
        shown = go_json({name: taint[name] for name in ("key", "value", "effect") if taint.get(name)})
        error = OperatorError(
            field, ErrorType.DUPLICATE, Unquoted(shown), "taints must be unique by key and effect pair"
        )
        yield refusal(path, f'duplicate taint "{key}" with the effect "{taint.get("effect")}"', error)
    seen.add(both)


def _value_problems(path: FieldPath, field: str, value: str, errors: Iterable[str], title: str) -> Iterator[Problem]:
    for error in errors:
        text = OperatorError(field, ErrorType.INVALID, value, error)
        yield refusal(path, f'must be {title}; got "{value}"{variable_advice(value)}', text)


def render_objects(source: SchedulerInput, release: KueueRelease) -> tuple[list[Generated], list[Finding]]:
    """Return the rendered Topologies and ResourceFlavors, and the findings about them."""
    generated: list[Generated] = []
    findings: list[Finding] = []
    for known in source.topologies.by_name.values():
        if known.is_valid:
            problems = _check(_topology(known), source, release)
            findings += [_finding(known, problem) for problem in problems]
            generated.append(_generate(known, recreate=not problems and _is_fixed(known, release)))
    for position, flavor in enumerate(source.settings.kueue.flavors):
        place = settings_place(source.settings).child("kueue", "flavors", position)
        topology = _topology_of_flavors(source.topologies, source.settings)
        if topology is None:
            message = (
                "packwise does not write the ResourceFlavor: it must name one topology, but the settings have none or "
                "several"
            )
            findings.append(place.finding(UNUSED, message))
            continue
        value = _flavor(flavor, topology.topology.name)
        origins = partial(_flavor_origins, place, topology)
        generated.append(Generated(value, f"ClusterTopology {topology.topology.name}", topology.item, origins))
        before = None if source.settings.gitops else source.inventory.baseline_object(value)
        problems = flavor_problems(value, before, release) or merge_texts(webhook_problems(value))
        findings += [_at_flavor(place, problem) for problem in problems]
    return generated, findings


def rendered_values(known: KnownTopologies, settings: TopologyRender) -> list[dict[str, Value]]:
    """Return the Topologies and ResourceFlavors that a render writes, or [] if `emit` does not list them."""
    if not settings.emits(KUEUE_TOPOLOGY.emit_word):
        return []
    values = [_topology(each) for each in known.by_name.values() if each.is_valid]
    topology = _topology_of_flavors(known, settings)
    if topology is not None:
        values += [_flavor(flavor, topology.topology.name) for flavor in settings.kueue.flavors]
    return values


def _topology(known: KnownTopology) -> dict[str, Value]:
    levels: list[Value] = [{"nodeLabel": level.key} for level in known.topology.levels]
    return {
        "apiVersion": KUEUE_TOPOLOGY.api_version,
        "kind": KUEUE_TOPOLOGY.name,
        "metadata": {"name": known.topology.name},
        "spec": {"levels": levels},
    }


def _check(value: Mapping[str, Value], source: SchedulerInput, release: KueueRelease) -> tuple[Problem, ...]:
    # A GitOps tool deletes a changed Topology and creates it again, so immutable fields may change.
    before = None if source.settings.gitops else source.inventory.baseline_object(value)
    own = partial(topology_problems, value, before, release)
    return validate_object(value, source.definitions.of_kind(*KUEUE_TOPOLOGY.key), own, before=before).problems


def _is_fixed(known: KnownTopology, release: KueueRelease) -> bool:
    """Return True if the levels of the Topology are immutable, so that a change requires a new object."""
    return not release.mutable_levels or known.topology.levels[-1].key != HOSTNAME


def _finding(known: KnownTopology, problem: Problem) -> Finding:
    place = known.key_place(problem.path)
    message = f"{problem.message}; Kueue refuses the Topology with these levels"
    return place.finding(REFUSED, message, operator_message=problem.operator_message, stage=problem.stage)


def _generate(known: KnownTopology, *, recreate: bool) -> Generated:
    origins = partial(level_origins, known.levels, known.places, "key", _SOURCE)
    return Generated(_topology(known), f"ClusterTopology {known.topology.name}", known.item, origins, recreate=recreate)


def _topology_of_flavors(known: KnownTopologies, settings: TopologyRender) -> KnownTopology | None:
    """Return the topology that rendered ResourceFlavors name: the settings' own topology, or the only known one.

    Return None if there is no such topology, or if there are several.
    """
    topologies = [each for each in known.by_name.values() if each.is_valid]
    own = [each for each in topologies if each.item is settings.item]
    chosen = own or topologies
    return chosen[0] if len(chosen) == 1 else None


def _flavor(flavor: KueueFlavor, topology: str) -> dict[str, Value]:
    return {
        "apiVersion": RESOURCE_FLAVOR.api_version,
        "kind": RESOURCE_FLAVOR.name,
        "metadata": {"name": flavor.name},
        "spec": {"nodeLabels": dict(flavor.labels), "topologyName": topology},
    }


def _flavor_origins(place: Place, topology: KnownTopology) -> Mapping[FieldPath, Origin]:
    return {
        (): Origin(place, _SOURCE),
        ("spec", "nodeLabels"): Origin(place.child("nodeLabels"), _SOURCE),
        ("spec", "topologyName"): Origin(topology.levels, _SOURCE),
    }


def _at_flavor(place: Place, problem: Problem) -> Finding:
    at = place.child(*problem.path[1:]) if problem.path[1:2] == ("nodeLabels",) else place
    message = f"{problem.message}; Kueue refuses the ResourceFlavor with this value"
    return at.finding(REFUSED, message, operator_message=problem.operator_message, stage=problem.stage)
