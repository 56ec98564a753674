"""The documents of a package rewritten for a later release with every comment, and the proof of their equal meaning.

The scheduler gets the same input. Running workloads are named if the webhook refuses their migration. From alpha.12 on,
names contain their creation time. Pod groups keep their names, and each is in one gang. In that release a gang above
minAvailable has the PodCliqueSet's constraint, and the constraint of its group as a group config. Before, it has only
the constraint of its group.

Source: spec/designs.md#1, #2; spec/grove.md#5, #9, #12; spec/grove-releases.md#2.6, #3.3.
"""

from __future__ import annotations

import json
import re
from collections import Counter

from krmfn.edit import is_same_json
from krmfn.fieldpath import FieldError, FieldPath
from krmfn.hints import TYPE_CHECKING, Record, cast
from krmfn.kubeobject import KubeObject
from krmfn.result import Severity, exit_code
from krmfn.yamltext import YamlError, locate, read, write
from krmfn.yamltext.places import comments, placed_comments
from packwise.diff.change import FieldChange, field_changes, format_steps
from packwise.findings import Finding, Rule, Stage
from packwise.lenient import entries, mapping, value_at
from packwise.objects.index import format_identity, identity, is_generated
from packwise.objects.kinds import CLUSTER_TOPOLOGY, POD_CLIQUE_SET, PODGANG, TOPOLOGY
from packwise.pipeline import render
from packwise.pipeline.registry import SCHEDULERS, schedulers, workload_front_ends
from packwise.pipeline.selection import Configured
from packwise.pipeline.steps import read_package, results_of, unreadable_result
from packwise.revisions.dynamo import goes_with, release_of, release_that_goes_with
from packwise.revisions.grove import Step, precedes, same_record
from packwise.settings.topologyrender import API_VERSION, KAI_PROFILE, KIND, settings_place
from packwise.topology.known import sort_levels
from packwise.wording import list_known

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from krmfn.result import Result
    from krmfn.value import Value
    from packwise.findings import Place
    from packwise.objects.index import Inventory
    from packwise.pipeline.selection import Package, Selection
    from packwise.revisions.grove import Revision
    from packwise.settings.configuration import Configuration
    from packwise.topology.known import Level

_ROOT, _CONFIGS = "topologyConstraint", "topologyConstraintGroupConfigs"


def gang_key(spec: Value) -> tuple[str, ...]:
    """Return the key of a gang: the sorted names of its pod groups."""
    return tuple(sorted(_names(spec)))


def normalize(spec: Value) -> Value:
    """Return `spec` without the group configs that have no constraint."""
    if not isinstance(spec, dict) or not isinstance(spec.get(_CONFIGS), list):
        return spec
    configs = [config for config in _configs(spec) if config.get(_ROOT) is not None]
    kept = {key: value for key, value in spec.items() if key != _CONFIGS}
    return {**kept, _CONFIGS: cast("Value", configs)} if configs else kept


def added_bounds(old: Value, new: Value) -> Value:
    """Return bounds that only `new` has and that apply to all pods. Return None if the specs differ in anything else.

    The result is empty if `new` has no further bound of all pods.
    """
    (rest, demands), (rest_after, demands_after) = _split_bounds(old), _split_bounds(new)
    if not is_same_json(rest, rest_after) or not all(
        any(is_same_json(each, other) for other in demands_after) for each in demands
    ):
        return None
    known = {key for demand in demands for key in demand}
    return {key: level for demand in demands_after for key, level in demand.items() if key not in known}


def _split_bounds(spec: Value) -> tuple[Value, list[dict[str, Value]]]:
    """Return the spec without the bounds of all its pods and a list of these bounds.

    They are the root's constraint, and the constraint of a group config with all pods.
    """
    if not isinstance(spec, dict):
        return spec, []
    configs = _configs(spec)
    whole = [
        config for config in configs if is_same_json(_sort_names(config.get("podGroupNames")), list(gang_key(spec)))
    ]
    constraints = [spec.get(_ROOT), *(config.get(_ROOT) for config in whole)]
    demands = [c["packConstraint"] for c in constraints if isinstance(c, dict) and c.get("packConstraint")]
    rest = {key: value for key, value in spec.items() if key not in (_ROOT, _CONFIGS)}
    parts = [config for config in configs if config not in whole]
    return {**rest, _CONFIGS: cast("Value", parts)}, cast("list[dict[str, Value]]", demands)


def _names(spec: Value) -> list[str]:
    podgroups = value_at(spec, "podgroups")
    return [
        str(podgroup.get("name")) for podgroup in entries(podgroups)
        if isinstance(podgroup, dict)
    ]  # fmt: skip


def _configs(spec: dict[str, Value]) -> list[dict[str, Value]]:
    configs = spec.get(_CONFIGS)
    return [config for config in entries(configs) if isinstance(config, dict)]


def _sort_names(names: Value) -> Value:
    return cast("Value", sorted(str(name) for name in names)) if isinstance(names, list) else names


GAINED = Rule(
    "migrate-gained",
    "An object that had no effect takes effect after the migration.",
    "spec/packwise.md#6.3",
    Severity.WARNING,
)
MEANING = Rule(
    "migrate-meaning", "A migration would change the objects that the scheduler reads.", "spec/packwise.md#6.2"
)

_COMPARED = (TOPOLOGY.name, PODGANG.name)


def changed_meanings(before: Package, after: Package, step: Step) -> list[Result]:
    """Return a finding for each object that is different for the scheduler in `after`, or the errors of a render.

    Labels and annotations are ignored, because later revisions write others. If only the source prefers a level on
    every object, preferences are ignored too.
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
            findings.append(Finding.of(MEANING, None, (), f"packwise would no longer render {name}"))
        elif not is_same_json(spec, spec_after):
            findings += _compare(name, spec, spec_after, step)
    return [finding.to_result() for finding in findings]


def _compare(name: str, old: Value, new: Value, step: Step) -> list[Finding]:
    """Return the findings about a changed gang: a warning if a rule of the target adds the bounds, else an error."""
    if step.target.podgang_maps and not step.source.podgang_maps:
        added = added_bounds(old, new)
        if added == {}:
            return []
        if added is not None:
            message = (
                f"{name} would also have the PodCliqueSet's own constraint, {_text_of(added)}: revision "
                f'"{step.target.name}" adds it to every PodGang'
            )
            return [Finding.of(GAINED, None, (), message)]
    return [_difference_finding(name, old, new)]


def _difference_finding(name: str, old: Value, new: Value) -> Finding:
    """Return a finding with the first field that differs in two specs.

    If only the order of entries differs, it has the whole specs.
    """
    whole = FieldChange(("spec",), old, new)
    change = next(field_changes(old, new, whole.path), whole)
    text = f"{format_steps(change.path)} would change from {_text_of(change.before)} to {_text_of(change.after)}"
    return Finding.of(MEANING, None, (), f"{name} would change for the scheduler: {text}")


_Key = tuple[str, ...]


def scheduled_specs(package: Package, name: str, *, drops: bool) -> tuple[dict[_Key, tuple[str, Value]], list[Result]]:
    """Return the spec of each rendered object by the parts of its identity that stay equal, or the errors of the
    render.
    """
    rendered = render(as_admitted(package, "Existing", name))
    if exit_code(rendered.results):
        return {}, [
            result.replace(message=f'with revision "{name}": {result.message}')
            for result in rendered.results
            if result.severity is Severity.ERROR
        ]
    specs: dict[_Key, tuple[str, Value]] = {}
    for item in rendered.generated:
        if item.kind in _COMPARED:
            spec = normalize(item.value.get("spec"))
            pods = gang_key(spec) if item.kind == PODGANG.name else ()
            spec = _without_preferred(spec) if drops else spec
            specs[item.kind, item.namespace, *(pods or (item.name,))] = (format_identity(identity(item.value)), spec)
    return specs, []


def as_admitted(package: Package, admission: str, revision: str) -> Package:
    """Return `package` without generated objects of an earlier render. Workloads are checked by `admission`.

    A package without a TopologyRender gets one with `revision`.
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
    return package.replace(items=items, function_config=config)


def _without_preferred(value: Value) -> Value:
    if isinstance(value, dict):
        kept = {key: _without_preferred(entry) for key, entry in value.items() if key != "preferred"}
        # A constraint that had only a preference is removed.
        return {key: entry for key, entry in kept.items() if not (key == "topologyConstraint" and _is_empty(entry))}
    if isinstance(value, list):
        return [_without_preferred(entry) for entry in value]
    return value


def _is_empty(constraint: Value) -> bool:
    return isinstance(constraint, dict) and constraint.get("packConstraint") == {}


def _text_of(value: Value) -> str:
    if value is None:
        return "absent"
    return json.dumps(value, ensure_ascii=False)


def refused_workloads(before: Package, after: Package, step: Step) -> tuple[str, ...] | None:
    """Return `namespace/name` of each workload if the target's webhook refuses its change.

    Return None if there are no workloads.
    """
    stored = as_admitted(before, "Auto", step.source.name)
    if not any(item.kind == POD_CLIQUE_SET.name for item in stored.items):
        return None
    earlier = Configured(stored.function_config)
    changed = after.replace(baseline=stored.items, configured_before=earlier)
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


_ITEM = re.compile(r"( *)-(?: |$)")


def levels_text(text: str, path: FieldPath, levels: Sequence[Level], indent: str) -> str:
    """Return `levels:` and the levels in this order at `indent`. If possible, use the lines of `text` at `path`.

    `path` leads to the levels in `text`. Lines of a block list move with the comments above them. Other styles are
    rewritten below their comments.
    """
    value: list[Value] = [{"domain": level.domain, "key": level.key} for level in levels]
    lines = _lines(text, path)
    for moved in (lines, _in_order(lines, value)):
        if is_same_json(_read(moved), value):
            return "".join([f"{indent}{line}\n" if line else "\n" for line in moved])
    span = locate(text, path)
    # The moved lines may not be YAML, because the first line is moved differently from the others.
    lost = [comment for at, comment in placed_comments(text) if span is not None and span.start <= at < span.end]
    return "".join([f"{indent}{line}\n" for line in (*lost, *write({"levels": value}).splitlines())])


def _lines(text: str, path: FieldPath) -> list[str]:
    """Return the lines of the entry at `path`, moved to column 0. Text before the entry on its first line is
    omitted.
    """
    key, value = locate(text, path, key=True), locate(text, path)
    if key is None or value is None:
        return []
    column = key.start - text.rfind("\n", 0, key.start) - 1
    end = text.find("\n", value.end)
    first, *rest = [line.removesuffix("\r") for line in text[key.start : end if end >= 0 else None].split("\n")]
    return [first, *(line[column:] if not line[:column].strip() else line.lstrip() for line in rest)]


def _in_order(lines: list[str], value: list[Value]) -> list[str]:
    """Return `lines` of a block list in the order of `value`, each item with the comments above it."""
    dashes = [match.end(1) for line in lines if (match := _ITEM.match(line))]
    head: list[str] = lines[:1]
    items: list[list[str]] = []
    above: list[str] = []
    for line in lines[1:]:
        match = _ITEM.match(line)
        if match and match.end(1) == min(dashes):
            items.append([*above, line])
            above = []
        elif not line.strip() or line.lstrip().startswith("#") or not items:
            above.append(line)
        else:
            items[-1] += [*above, line]
            above = []
    written = _read([*head, *(line for item in items for line in item)])
    if not isinstance(written, list) or len(written) != len(items):
        return []
    places: list[int] = []
    for wanted in value:
        # A level that is listed twice is two items.
        left = [place for place, entry in enumerate(written) if place not in places and is_same_json(entry, wanted)]
        places += left[:1]
    if len(places) != len(items):
        return []
    return [*head, *(line for place in places for line in items[place]), *above]


def _read(lines: list[str]) -> Value:
    try:
        value = read("".join([f"{line}\n" for line in lines]))
    except YamlError:
        return None
    return value_at(value, "levels")


def edit_place(place: Place, edit: Callable[[KubeObject, FieldPath], KubeObject]) -> Place:
    """Return `place` after `edit`, which gets an object or an embedded document, and the path in it.

    Raise FieldError if an anchor prevents the edit.
    """
    if not place.embedded:
        return place.replace(item=edit(place.item, place.path))
    text = place.item.get(place.path)
    document = KubeObject.parse(text if isinstance(text, str) else "")
    return place.replace(item=place.item.set(place.path, edit(document, place.inner).text))


def rename_key(place: Place, key: str) -> Place:
    """Return `place` with its key renamed to `key`. Raise FieldError if the mapping already has `key`."""
    path = place.inner if place.embedded and place.inner else place.path
    last = path[-1]
    if last == key:
        return place
    if place.embedded and not place.inner:
        # The data of a ConfigMap may name a field by its path.
        key = key if isinstance(last, str) and not last.startswith("spec.") else f"spec.{key}"
        return place.replace(item=place.item.rename(place.path, key), path=(*path[:-1], key))
    place = edit_place(place, lambda item, at: item.rename(at, key))
    if place.embedded:
        return place.replace(inner=(*path[:-1], key))
    return place.replace(path=(*path[:-1], key))


def text_at(place: Place) -> tuple[str, FieldPath]:
    """Return the text that contains the content at `place`, and the path of the content in this text."""
    if place.embedded:
        text = place.item.get(place.path)
        return text if isinstance(text, str) else "", place.inner
    source = place.item.source
    return source.text, (*source.root, *place.path)


UNKNOWN = Rule(
    "migrate-source",
    "The revision before or after a migration is unknown, or the migration does not lead to a later revision.",
    "spec/packwise.md#6.1",
)
ORDER = Rule(
    "migrate-order",
    "The levels are listed in another order than the fixed order of later designs.",
    "spec/designs.md#1",
)
COMMENT = Rule("migrate-comment", "A migration would lose a comment.", "spec/packwise.md#6.4")
LOST = Rule(
    "migrate-lost",
    "A migration drops a field that the later revision does not have.",
    "spec/packwise.md#6.3",
    Severity.WARNING,
)
RULES = (UNKNOWN, ORDER, COMMENT, MEANING, LOST, GAINED)
"""Rules of migrations."""


class NewFile(Record):
    """An object in a separate file `name`, in the same folder as the file of `neighbour`."""

    neighbour: KubeObject
    name: str
    item: KubeObject


class Migrated(Record):
    """`items` are the items of the package in order. `new_files` are more objects.

    If `results` has an error, no item is changed. `refused_workloads` are running workloads with a change that the
    target's webhook refuses, or None if unknown. `steps` is true if `keep_pack_domain` would divide the change into two
    changes that the webhook accepts.
    """

    items: tuple[KubeObject, ...]
    new_files: tuple[NewFile, ...]
    results: tuple[Result, ...]
    refused_workloads: tuple[str, ...] | None = None
    steps: bool = False


def migrate(
    package: Package, target: Revision, *, source: Revision | None = None, keep_pack_domain: bool = False
) -> Migrated:
    """Return `package` as `target` writes it. `source` is its revision if its configuration does not show it.

    `keep_pack_domain` keeps the field `packDomain` in workloads. For a running workload, the webhook accepts the name
    of a topology and the change to `pack` only one after the other (spec/grove.md#5).
    """
    inventory, selection = read_package(package)
    evidence = selection.evidence.findings if source is None and selection.evidence is not None else ()
    wrong = (*selection.findings, *selection.definitions.findings, *evidence)
    problems = results_of(wrong, selection.results)
    if exit_code(problems):
        return Migrated(package.items, (), problems)
    configured = selection.configuration is not None
    if source is None and not configured and not selection.enabled:
        return Migrated(package.items, (), (_unknown_source().to_result(),))
    before = source or selection.revision
    if before.name == target.name:
        return _respell(package, selection, target, configured=configured)
    if not _is_later(target, before):
        return Migrated(package.items, (), tuple(f.to_result() for f in _not_later(selection, before, target)))
    beside = _beside_input(package, selection)
    if beside:
        return Migrated(package.items, (), tuple(finding.to_result() for finding in beside))
    step = _step(selection, source, target, keep_pack_domain=keep_pack_domain)
    return _rewrite(_Rewriting(package, inventory, selection, step), package, configured=configured)


def migrate_objects(package: Package) -> Migrated:
    """Return `package` with schedulers' objects in versions that all known releases serve."""
    known = [entry.load() for entry in SCHEDULERS]
    items = list(package.items)
    try:
        for scheduler in known:
            items = [item if is_generated(item.value) else scheduler.migrate(item) for item in items]
    except FieldError as error:
        return Migrated(package.items, (), (unreadable_result(error),))
    return Migrated(tuple(items), (), ())


def _rewrite(rewriting: _Rewriting, package: Package, *, configured: bool) -> Migrated:
    """Return the result of the rewriting. Return `package` with errors if it would change the scheduler's input."""
    try:
        rewriting.run()
    except FieldError as error:
        return Migrated(package.items, (), (unreadable_result(error),))
    results = [finding.to_result() for finding in rewriting.findings]
    if configured and not exit_code(results):
        results += changed_meanings(package, rewriting.package, rewriting.step)
    if exit_code(results):
        return Migrated(package.items, (), tuple(results))
    step, after = rewriting.step, rewriting.package
    refused = refused_workloads(package, after, step) if configured else None
    steps = step.packs and step.source.topology_kind != step.target.topology_kind and not step.keep_pack_domain
    return Migrated(after.items[: len(package.items)], tuple(rewriting.new), tuple(results), refused, steps)


def _respell(package: Package, selection: Selection, revision: Revision, *, configured: bool) -> Migrated:
    """Return `package` in the same revision, with its workloads in the newest spelling that the revision accepts."""
    step = _step(selection, revision, revision, keep_pack_domain=False)
    try:
        items = tuple(item if is_generated(item.value) else migrate_workload(item, step) for item in package.items)
    except FieldError as error:
        return Migrated(package.items, (), (unreadable_result(error),))
    after = package.replace(items=items)
    results = changed_meanings(package, after, step) if configured and items != package.items else []
    return Migrated(package.items if exit_code(results) else items, (), tuple(results))


def _is_later(target: Revision, source: Revision) -> bool:
    """Return True if `source` may become `target`: a later record or release, or the design of the same record."""
    is_design = same_record(source, target) and target.name not in target.releases
    return precedes(source, target) or (is_design and source.name != target.name)


def _unknown_source() -> Finding:
    message = (
        "packwise cannot infer the revision of these objects without a topology configuration; pass the file with it, "
        "or pass --from REVISION"
    )
    return Finding.of(UNKNOWN, None, (), message)


def _beside_input(package: Package, selection: Selection) -> list[Finding]:
    """Return errors about the configuration that applies to the package but is outside it."""
    configuration, settings = selection.configuration, selection.settings.item
    places = [] if configuration is None else [configuration.place.item]
    items = [*places, *([] if settings is None else [settings])]
    message = "the topology configuration must be migrated together with its workloads; pass its file too"
    own = {id(item) for item in package.items}
    return [Finding.of(UNKNOWN, item, (), message) for item in dict.fromkeys(items) if id(item) not in own]


def _not_later(selection: Selection, source: Revision, target: Revision) -> list[Finding]:
    """Return the finding that `target` is not later than `source`."""
    message = (
        f'is for revision "{source.name}", but packwise migrates only to later revisions, and "{target.name}" '
        "is earlier"
    )
    configuration = selection.configuration
    if configuration is None:
        return [Finding.of(UNKNOWN, None, (), f"the given objects: {message}")]
    return [configuration.place.finding(UNKNOWN, message, at_key=True)]


def _step(selection: Selection, chosen: Revision | None, target: Revision, *, keep_pack_domain: bool) -> Step:
    source = chosen or selection.revision
    configuration = selection.configuration
    topology, preferred = target.default_topology or source.default_topology or "", None
    if configuration is not None:
        if configuration.name is not None and (
            target.named_by_configuration or target.topology_kind != source.topology_kind
        ):
            topology = configuration.name
        if source.always_preferred and configuration.levels:
            preferred = configuration.hierarchy(source)[-1].domain
    dynamo = _dynamo_release(selection.settings.dynamo.release, target)
    return Step(source, target, topology, preferred, keep_pack_domain, dynamo)


class _Rewriting:
    """One migration in progress: the current form of each original item, new items, and findings."""

    def __init__(self, package: Package, inventory: Inventory, selection: Selection, step: Step) -> None:
        self._package, self._inventory, self._selection, self.step = package, inventory, selection, step
        self._now = {id(item): item for item in package.items}
        self.new: list[NewFile] = []
        self.findings: list[Finding] = []

    @property
    def package(self) -> Package:
        """Return the current package, with new items at its end."""
        items = [*(self._now[id(item)] for item in self._package.items), *(file.item for file in self.new)]
        config = self._package.function_config
        config = None if config is None else self._now.get(id(config), config)
        return self._package.replace(items=tuple(items), function_config=config)

    def run(self) -> None:
        """Run all steps. Raise FieldError if an anchor prevents a step or a comment cannot be kept."""
        configuration = self._selection.configuration
        # First append new entries. Then remove the old ones, so that their comments stay in place.
        self._settings()
        if configuration is not None:
            self._order(configuration)
            self._profiles(configuration)
            self._section(configuration)
        for item in self._package.items:
            if not is_generated(item.value):
                self._object(item)
        self._list_new()
        self._comments()

    def _order(self, configuration: Configuration) -> None:
        source, target = self.step.source, self.step.target
        known = sort_levels(configuration.levels)
        if source.listed_order and not target.listed_order and known != configuration.levels:
            message = (
                f'revision "{source.name}" uses the listed order of the levels, but "{target.name}" always orders them '
                "from the broadest to the narrowest. Constraints would change. First list the levels in that order: "
                f"{list_known([level.domain for level in known])}"
            )
            self.findings.append(configuration.place.child("levels").finding(ORDER, message))

    def _section(self, configuration: Configuration) -> None:
        source, target = self.step.source, self.step.target
        original = configuration.place.item
        place = rename_key(configuration.place.replace(item=self._now[id(original)]), target.configuration_key)
        if configuration.name is not None and not target.named_by_configuration:
            place = edit_place(place, lambda item, path: item.remove((*path, "name"), keep_comments=True))
            if configuration.name != self.step.topology:
                message = (
                    f'revision "{target.name}" does not keep the name "{configuration.name}"; it names its topology '
                    f'"{target.default_topology}"'
                )
                self.findings.append(configuration.place.child("name").finding(LOST, message))
        if self.step.changes_topologies and configuration.levels:
            place = self._moved_levels(configuration, place)
        if source.always_preferred and not target.always_preferred and not target.deprecates_pack_domain:
            message = (
                f'revision "{target.name}" does not support the preference for "{self.step.preferred}" on all '
                "objects, and migrate drops it"
            )
            self.findings.append(configuration.place.finding(LOST, message, at_key=True))
        self._now[id(original)] = place.item

    def _moved_levels(self, configuration: Configuration, place: Place) -> Place:
        """Return `place` without its levels. They move into a separate object."""
        target, name = self.step.target, self.step.topology
        levels = configuration.hierarchy(self.step.source)
        own = self._inventory.items.of_kind(*CLUSTER_TOPOLOGY.key)
        if all(item.name != name for item in own):
            text, path = text_at(place)
            kind = f"apiVersion: {CLUSTER_TOPOLOGY.api_version}\nkind: {target.topology_kind}\n"
            head = f"{kind}metadata:\n  name: {name}\nspec:\n"
            item = KubeObject.parse(head + levels_text(text, (*path, "levels"), levels, "  "))
            file = f"{target.topology_kind.lower()}-{name}.yaml"
            self.new.append(NewFile(configuration.place.item, file, self._mark_external(item)))
        return edit_place(place, lambda item, path: item.remove((*path, "levels")))

    def _others_make_topologies(self) -> bool:
        """Return True if the profiles state that the owners of the cluster make the KAI Topologies, and not the
        operator.

        The migration removes the field of the profiles with this statement.
        """
        configuration = self._selection.configuration
        leaves = self.step.changes_topologies and self.step.source.scheduler_profiles
        return leaves and configuration is not None and configuration.makes_kai_topologies is False

    def _mark_external(self, topology: KubeObject) -> KubeObject:
        """Return `topology`. If the owners of the cluster make the KAI Topology, mark it as made by others."""
        if not self._others_make_topologies():
            return topology
        reference = {"schedulerName": KAI_PROFILE, "topologyReference": topology.name}
        return topology.set("spec.schedulerTopologyBindings", [reference])

    def _profiles(self, configuration: Configuration) -> None:
        """Add the KAI profile as the target expects it. Without the profile the target makes no KAI Topology."""
        if not self.step.changes_topologies:
            return
        settings = self._selection.settings
        place = _place_beside(configuration.place, "scheduler")
        if settings.item is not None and settings.scheduler is not None:
            place = settings_place(settings).child("scheduler")
        original = place.item
        place = place.replace(item=self._now[id(original)])
        if place.embedded and not place.inner and place.item.get(place.path) is None:
            self._now[id(original)] = place.item.set(place.path, f"profiles:\n- name: {KAI_PROFILE}\n")
        else:
            self._now[id(original)] = edit_place(place, _with_profile).item

    def _settings(self) -> None:
        """Rewrite packwise's own settings: name the revision if needed, and remove options of other designs."""
        settings, target = self._selection.settings, self.step.target
        original = settings.item
        if original is None:
            chosen = target.chosen_by_key or (self.step.changes_topologies and target.chosen_by_topologies)
            if not chosen and not same_record(self.step.source, target):
                message = (
                    f'revision "{target.name}" requires `revision: {target.name}` in a TopologyRender; add it next to '
                    "the configuration"
                )
                self.findings.append(Finding.of(LOST, None, (), message))
            return
        item = self._now[id(original)]
        place = settings_place(settings)
        if settings.revision is not None or not target.chosen_by_key:
            item = item.set(place.child("revision").path, target.name)
        if self._others_make_topologies() and TOPOLOGY.name in settings.emit:
            kinds = [kind for kind in settings.emit if kind != TOPOLOGY.name]
            item = item.set(place.child("emit").path, f"[{', '.join(kinds)}]" if settings.embedded else list(kinds))
        if self.step.dynamo is not None:
            item = item.set(place.child("dynamo", "release").path, self.step.dynamo)
        option = place.child("topologyNameAnnotation").path
        if target.annotate_topology and item.get(option) is not None:
            item = item.remove(option, keep_comments=True)
        self._now[id(original)] = item

    def _object(self, original: KubeObject) -> None:
        """Rewrite a workload, or a topology that a user wrote."""
        source, target = self.step.source, self.step.target
        item = migrate_workload(self._now[id(original)], self.step)
        if original.kind == source.topology_kind and original.api_version.startswith(f"{CLUSTER_TOPOLOGY.group}/"):
            if self.step.changes_topologies:
                item = self._mark_external(item.set(("kind",), target.topology_kind))
            if source.user_topologies != "Used" and original.name != source.default_topology:
                message = (
                    f'revision "{source.name}" did not use "{original.name}", but "{target.name}" makes a KAI '
                    "Topology from it"
                )
                self.findings.append(Finding.of(GAINED, original, ("metadata", "name"), message))
        self._now[id(original)] = item

    def _list_new(self) -> None:
        """Add the new files to the resources of the kustomization in their folder, because kustomize reads only
        listed files.
        """
        for original in self._package.items:
            listed = original.get(("resources",))
            if not original.api_version.startswith("kustomize.config.k8s.io/") or not isinstance(listed, list):
                continue
            folder = _folder(original)
            names = [file.name for file in self.new if _folder(file.neighbour) == folder and file.name not in listed]
            for index, name in enumerate(names, start=len(listed)):
                self._now[id(original)] = self._now[id(original)].set(("resources", index), name)

    def _comments(self) -> None:
        """Report each lost comment as an error. A comment is lost only if a file has an unforeseen form."""
        new = [comment for file in self.new for comment in comments(file.item.text)]
        for original in self._package.items:
            item = self._now[id(original)]
            if item is original:
                continue
            left = Counter(_comments_of(item) + new)
            for comment in _comments_of(original):
                if left[comment]:
                    left[comment] -= 1
                else:
                    message = f'migrate would lose the comment "{comment}"; move it to a separate line above the object'
                    self.findings.append(Finding.of(COMMENT, original, (), message))


def _dynamo_release(name: str | None, target: Revision) -> str | None:
    """Return the release of Dynamo in the settings, or a compatible release if it does not match `target`."""
    if name is None:
        return None
    release, fitting = release_of(name), release_that_goes_with(target)
    return name if release is None or fitting is None or goes_with(release, target) else fitting.name


def _folder(item: KubeObject) -> str:
    return (item.location().file or "").rpartition("/")[0]


def _place_beside(place: Place, key: str) -> Place:
    """Return the place of the entry `key` in the mapping with the section at `place`."""
    if not place.embedded:
        return place.replace(path=(*place.path[:-1], key))
    if place.inner:
        return place.replace(inner=(*place.inner[:-1], key))
    long = str(place.path[-1]).startswith("spec.")
    return place.replace(path=(*place.path[:-1], f"spec.{key}" if long else key))


def _with_profile(item: KubeObject, path: FieldPath) -> KubeObject:
    """Return `item` with KAI's profile in its scheduler section at `path`, spelt as in the newest API.

    Source: spec/grove.md#9.
    """
    profiles = item.get((*path, "profiles"))
    if not profiles or not isinstance(profiles, list):
        return item.set((*path, "profiles"), [{"name": KAI_PROFILE}])
    for index, profile in enumerate(profiles):
        at = (*path, "profiles", index)
        if not isinstance(profile, dict):
            continue
        if profile.get("default") is True and item.get((*path, "defaultProfileName")) is None:
            item = item.set((*path, "defaultProfileName"), profile.get("name"))
        item = item.remove((*at, "default"), keep_comments=True)
        item = item.remove((*at, "config", "createTopologyResources"), prune=True, keep_comments=True)
    return item


def _comments_of(item: KubeObject) -> list[str]:
    """Return the comments of an object and of the documents in a ConfigMap's data."""
    texts = comments(item.text)
    data = item.get("data") if item.kind == "ConfigMap" else None
    for text in mapping(data).values():
        if isinstance(text, str) and "#" in text:
            try:
                texts += comments(text)
            except ValueError:
                # The text is not YAML, and stays unchanged.
                continue
    return texts


def migrate_workload(item: KubeObject, step: Step) -> KubeObject:
    """Return `item` as the later revision of the step writes it. Return `item` itself if it is equal in both revisions.

    An object of a scheduler gets the version that all known releases of the scheduler serve.

    Raise FieldError if an anchor prevents it or a comment cannot be kept.
    """
    for front_end in workload_front_ends():
        item = front_end.migrate(item, step)
    for scheduler in schedulers(step.target):
        item = scheduler.migrate(item)
    return item
