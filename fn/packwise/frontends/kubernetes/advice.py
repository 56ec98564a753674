"""Findings about objects that the API server accepts, such as groups that never start or constraints without effect.

Each rule is a function that reads the groups, the pods and the Jobs of the input. Source: spec/kubernetes-gangs.md#8.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING, Record
from krmfn.result import Severity
from packwise.findings import Finding
from packwise.frontends.kubernetes import rules
from packwise.keys import HOSTNAME
from packwise.lenient import mapping, mapping_at, mappings_by_place, text, value_at
from packwise.objects.index import identity, is_placeholder
from packwise.objects.scheduling_groups import FIELD, is_controlled, job_pods
from packwise.objects.workload_kinds import QUEUE_NAME
from packwise.revisions.kubernetes import JOBS
from packwise.wording import did_you_mean, list_known

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from krmfn.fieldpath import FieldPath
    from krmfn.kubeobject import KubeObject
    from krmfn.value import Value
    from packwise.objects.scheduling_groups import Group, Pods
    from packwise.revisions.kubernetes import KubernetesRelease

WELL_KNOWN_LEVELS = ("topology.kubernetes.io/region", "topology.kubernetes.io/zone", HOSTNAME)
"""The node labels whose order Kubernetes defines, the broadest first."""

_KAI_KEYS, _KUEUE_KEYS = ("kai.scheduler/",), (QUEUE_NAME, "kueue.x-k8s.io/podset-")
_MAX_JOB_NAME_LENGTH = 57
_TEMPLATE_SUFFIX = "-pgt-0"


class Scene(Record):
    """The facts that the rules of this module need."""

    release: KubernetesRelease
    gates: frozenset[str]
    """The enabled feature gates."""
    templates: Mapping[tuple[str, str], Sequence[Group]]
    """The templates of each Workload, by its namespace and name."""
    groups: Sequence[Group]
    """The PodGroups and CompositePodGroups."""
    users: Mapping[tuple[str, str], Sequence[Pods]]
    """The pods of each group, by the group's namespace and name."""
    jobs: Sequence[tuple[KubeObject, Mapping[str, Value]]]
    """Each Job, also in the form in which the API server stores it."""
    known: frozenset[tuple[str, str, str]]
    """Namespace, kind and name of each Workload, PodGroup and CompositePodGroup. Refused objects are included."""
    levels: Sequence[tuple[str, ...]]
    """Lists of node labels, each from the broadest level to the narrowest."""
    nodes: Sequence[Mapping[str, str]]
    """The labels of each node. Empty if the nodes are unknown."""
    kai_name: str
    """The name of KAI in `schedulerName`."""
    classes: Mapping[str, Value] = {}
    """The value of each PriorityClass, by name. Empty if the input has none."""


def advise(scene: Scene) -> Iterator[Finding]:
    """Yield the findings of every rule."""
    for templates in scene.templates.values():
        for group in templates:
            yield from _about_group(group, scene)
        yield from _two_roots(templates)
    for group in scene.groups:
        yield from _about_group(group, scene)
        yield from _about_references(group, scene)
    yield from _about_pods(scene)
    for item, value in scene.jobs:
        yield from _about_job(item, value, scene)


def _about_group(group: Group, scene: Scene) -> Iterator[Finding]:
    for rule in _GROUP_RULES:
        yield from rule(group, scene)


def _min_group_count(group: Group, _scene: Scene) -> Iterator[Finding]:
    needed, has = group.minimum, group.children
    # If no child of a group is in the input, the children may be in another input.
    if group.is_composite and needed is not None and has and needed > has:
        path = group.field_path("schedulingPolicy", "gang", group.count_field)
        message = f"the group never starts: it needs {needed} child {'groups' if needed > 1 else 'group'} and has {has}"
        yield Finding.of(rules.MIN_GROUP_COUNT, group.item, path, message)


def _basic_under_gang(group: Group, scene: Scene) -> Iterator[Finding]:
    if group.parent is not None and group.parent.gang is not None and group.gang is None:
        message = (
            "Kubernetes 1.38 refuses a basic group below a gang, and earlier releases start it with one pod. Set "
            f"gang: {{{group.count_field}: …}}"
        )
        path = group.field_path("schedulingPolicy")
        yield Finding.of(rules.BASIC_UNDER_GANG, group.item, path, message, severity=_refused_later(group, scene))


def _disruption_mode(group: Group, scene: Scene) -> Iterator[Finding]:
    path = group.field_path("disruptionMode") if "disruptionMode" in group.value else group.path
    severity = _refused_later(group, scene)
    if group.is_disrupted_together and group.gang is None:
        message = 'Kubernetes 1.38 refuses "all" without a gang. Set single: {}, or set a gang'
        severity = Severity.ERROR if scene.release.refuses_mixed_modes else None
        yield Finding.of(rules.DISRUPTION_MODE, group.item, path, message, severity=severity)
    elif group.parent is not None and group.parent.is_disrupted_together and not group.is_disrupted_together:
        message = "the parent group is disrupted as a whole, but this group is not. Set disruptionMode: {all: {}}"
        yield Finding.of(rules.DISRUPTION_MODE, group.item, path, message, severity=severity)


def _refused_later(group: Group, scene: Scene) -> Severity | None:
    """Return ERROR if `group` is a template and the release refuses it, otherwise None.

    The API server compares a template with its parent in the same Workload. It cannot compare separate objects.
    """
    is_template = group.path != ("spec",)
    return Severity.ERROR if is_template and scene.release.refuses_mixed_modes else None


def _no_constraint(group: Group, _scene: Scene) -> Iterator[Finding]:
    constraints = group.value.get("schedulingConstraints")
    if isinstance(constraints, dict) and not group.key:
        path = group.field_path("schedulingConstraints")
        yield Finding.of(rules.NO_CONSTRAINT, group.item, path, "the constraint has no effect because it names no key")


def _coarser_child(group: Group, scene: Scene) -> Iterator[Finding]:
    above = group.constrained_ancestors[:1]
    if group.key and above and _is_broader(group.key, above[0].key, scene):
        message = f"{group.key} is broader than {above[0].key}, the level of the parent, and has no effect"
        yield Finding.of(rules.COARSER_CHILD, group.item, _key_path(group), message)


def _is_broader(key: str, other: str, scene: Scene) -> bool:
    lists = [levels for levels in scene.levels if key in levels and other in levels]
    return any(levels.index(key) < levels.index(other) for levels in lists)


def _domain_split(group: Group, scene: Scene) -> Iterator[Finding]:
    key = group.key
    if not key or key == HOSTNAME or not scene.nodes:
        return
    above = {each.key for each in group.constrained_ancestors}
    for levels in scene.levels:
        if key not in levels:
            continue
        place = levels.index(key)
        for position, broader in enumerate(levels[:place]):
            if above.isdisjoint(levels[position:place]) and (split := _split_value(key, broader, scene)) is not None:
                value, first, second = split
                message = (
                    f"the value {value} occurs in {first} and in {second}. Kubernetes treats both as one domain and "
                    f"may spread the pods over them. Make the values of {key} unique"
                )
                yield Finding.of(rules.DOMAIN_SPLIT, group.item, _key_path(group), message)
                return


def _split_value(key: str, broader: str, scene: Scene) -> tuple[str, str, str] | None:
    """Return a value of the label `key`, and two values of the label `broader` on nodes with this value.

    The first such case in the order of the nodes counts. Return None if there is none.
    """
    above: dict[str, str] = {}
    for labels in scene.nodes:
        value, outer = labels.get(key), labels.get(broader)
        if value is None or outer is None:
            continue
        if above.setdefault(value, outer) != outer:
            return value, above[value], outer
    return None


def _key_unknown(group: Group, scene: Scene) -> Iterator[Finding]:
    if (
        group.key
        and not is_placeholder(group.key)
        and scene.nodes
        and not any(group.key in labels for labels in scene.nodes)
    ):
        message = f"no node has the label {group.key}, and the group never starts"
        yield Finding.of(rules.KEY_UNKNOWN, group.item, _key_path(group), message)


def _priority_class(group: Group, scene: Scene) -> Iterator[Finding]:
    name, priority = group.priority_class, group.value.get("priority")
    if not scene.classes or not name or name in _BUILT_IN_CLASSES or is_placeholder(name):
        return
    path = group.field_path("priorityClassName")
    if name not in scene.classes:
        message = (
            f'the PriorityClass "{name}" is not in the input. Without it, the API server refuses the '
            f"group{did_you_mean(name, scene.classes)}"
        )
        yield Finding.of(rules.PRIORITY_CLASS, group.item, path, message)
    elif priority is not None and priority != scene.classes[name]:
        # The admission plugin Priority refuses a group whose priority differs from the value of its class.
        message = f'the PriorityClass "{name}" has the value {scene.classes[name]}, and the group has {priority}'
        yield Finding.of(rules.PRIORITY_CLASS, group.item, group.field_path("priority"), message)


_BUILT_IN_CLASSES = ("system-cluster-critical", "system-node-critical")


_GROUP_RULES: tuple[Callable[[Group, Scene], Iterator[Finding]], ...] = (
    _min_group_count, _basic_under_gang, _disruption_mode, _no_constraint, _coarser_child, _domain_split, _key_unknown,
    _priority_class,
)  # fmt: skip
"""The rules about one group, which is a template or an object."""


def _two_roots(templates: Sequence[Group]) -> Iterator[Finding]:
    roots = [group for group in templates if group.is_composite and group.parent is None]
    if len(roots) > 1:
        message = (
            "the Workload has several top-level templates of composite groups, and each becomes a gang that starts "
            "independently. Put them below one template"
        )
        yield Finding.of(rules.TWO_ROOTS, roots[1].item, roots[1].path, message)


# Rules about references from one object to another.


def _about_references(group: Group, scene: Scene) -> Iterator[Finding]:
    namespace = identity(group.item.value)[2]
    parent = text(group.value.get("parentCompositePodGroupName"))
    if parent and not _is_known((namespace, "CompositePodGroup", parent), scene):
        message = f"the pods wait for the CompositePodGroup {parent}, which is not in the input"
        yield Finding.of(rules.PARENT_MISSING, group.item, group.field_path("parentCompositePodGroupName"), message)
    reference = mapping(group.value.get("workloadRef"))
    workload, name = text(reference.get("workloadName")), text(reference.get("templateName"))
    if workload and name:
        yield from _about_template(group, workload, name, scene)
    if not group.is_composite:
        yield from _about_users(group, scene.users.get((namespace, group.name), ()))


def _about_template(group: Group, workload: str, name: str, scene: Scene) -> Iterator[Finding]:
    at = (identity(group.item.value)[2], workload)
    templates = [each for each in scene.templates.get(at, ()) if each.is_composite == group.is_composite]
    template = next((each for each in templates if each.name == name), None)
    path = group.field_path("workloadRef", "templateName")
    if template is not None:
        yield from _template_differs(group, template)
    elif is_placeholder(name):
        return
    elif at in scene.templates or not _is_known((at[0], "Workload", workload), scene):
        known = list_known([each.name for each in templates]) if templates else ""
        hint = f"; known: {known}" if known else ""
        message = f"the Workload {workload} with a template {name} is not in the input{hint}"
        yield Finding.of(rules.WORKLOAD_MISSING, group.item, path, message)


def _is_known(group: tuple[str, str, str], scene: Scene) -> bool:
    """Return True if an object is in the input, or if its name has a placeholder that another tool replaces."""
    return group in scene.known or is_placeholder("".join(group))


def _template_differs(group: Group, template: Group) -> Iterator[Finding]:
    for field, read in _COMPARED:
        own, other = read(group), read(template)
        if own != other:
            path = group.field_path(field) if field in group.value else group.path
            message = f"the group has {own or 'no ' + field}, but its template has {other or 'no ' + field}"
            yield Finding.of(rules.TEMPLATE_DIFFERS, group.item, path, message)


def _policy_text(group: Group) -> str:
    if group.gang is not None:
        return f"{group.count_field} {group.minimum}"
    return "basic" if value_at(group.value, "schedulingPolicy", "basic") is not None else ""


def _priority_text(group: Group) -> str:
    priority = group.value.get("priority")
    return "" if priority is None else f"priority {priority}"


_COMPARED: tuple[tuple[str, Callable[[Group], str]], ...] = (
    ("schedulingPolicy", _policy_text),
    ("schedulingConstraints", lambda group: f"key {group.key}" if group.key else ""),
    ("disruptionMode", lambda group: "all" if group.is_disrupted_together else "single"),
    ("priorityClassName", lambda group: f"priorityClassName {group.priority_class}" if group.priority_class else ""),
    ("priority", _priority_text),
)
"""The fields in which a group is compared with its template, each with a function that describes the value."""


def _about_users(group: Group, users: Sequence[Pods]) -> Iterator[Finding]:
    if not users:
        if is_placeholder("".join(identity(group.item.value)[2:])):
            return
        yield Finding.of(rules.GROUP_UNUSED, group.item, ("metadata", "name"), "no pod names this PodGroup")
        return
    counts = [pods.count for pods in users]
    known = [count for count in counts if count is not None]
    needed = group.minimum
    if needed is not None and len(known) == len(counts) and sum(known) < needed:
        message = f"the group never starts: it needs {needed} pods, and its workloads have {sum(known)}"
        path = group.field_path("schedulingPolicy", "gang", "minCount")
        yield Finding.of(rules.MIN_COUNT_PODS, group.item, path, message)


# Rules about pods that name a group.


def _about_pods(scene: Scene) -> Iterator[Finding]:
    classes = {(identity(each.item.value)[2], each.name): each for each in scene.groups if not each.is_composite}
    for (namespace, name), users in scene.users.items():
        for pods in users:
            yield from _two_gangs(pods.item, pods.path, pods.spec, pods.holders, scene)
        if not _is_known((namespace, "PodGroup", name), scene):
            message = f"the pods wait for the PodGroup {name} in {namespace}, which is not in the input"
            for pods in users:
                yield Finding.of(rules.GROUP_MISSING, pods.item, (*pods.path, FIELD, "podGroupName"), message)
        yield from _pods_differ(users, classes.get((namespace, name)))


def _pods_differ(users: Sequence[Pods], group: Group | None) -> Iterator[Finding]:
    differences = (
        ("schedulerName", "schedulers", [pods.scheduler for pods in users]),
        ("priorityClassName", "priority classes", [pods.priority_class for pods in users]),
        ("preemptionPolicy", "preemption policies", [pods.preemption for pods in users]),
    )
    for field, what, values in differences:
        odd = next((place for place, value in enumerate(values) if value != values[0]), None)
        if odd is not None:
            message = f"pods of one group have different {what}: {values[0] or 'none'} and {values[odd] or 'none'}"
            yield Finding.of(rules.PODS_DIFFER, users[odd].item, _field(users[odd], field), message)
            return
    if group is not None and users[0].priority_class != group.priority_class:
        message = (
            f"the pods have the priority class {users[0].priority_class or 'none'}, but their group has "
            f"{group.priority_class or 'none'}"
        )
        yield Finding.of(rules.PODS_DIFFER, users[0].item, _field(users[0], "priorityClassName"), message)


def _field(pods: Pods, name: str) -> FieldPath:
    return (*pods.path, name) if name in pods.spec else pods.path


def _two_gangs(
    item: KubeObject, path: FieldPath, spec: Mapping[str, Value], holders: Iterable[FieldPath], scene: Scene
) -> Iterator[Finding]:
    """Yield a warning if KAI or Kueue also groups these pods. `holders` are the paths of the metadata to search."""
    if text(spec.get("schedulerName")) == scene.kai_name:
        yield Finding.of(rules.TWO_GANGS, item, (*path, "schedulerName"), _KAI_TEXT)
        return
    for holder in holders:
        metadata = mapping(item.get(holder))
        for form in ("labels", "annotations"):
            for key in mapping(metadata.get(form)):
                kai, kueue = key.startswith(_KAI_KEYS), key.startswith(_KUEUE_KEYS)
                if kai or kueue:
                    message = _KAI_TEXT if kai else _KUEUE_TEXT
                    yield Finding.of(rules.TWO_GANGS, item, (*holder, form, key), message, at_key=True)
                    return


_KAI_TEXT = "KAI ignores the group of the pods and makes another. Remove the group or this field"
_KUEUE_TEXT = "Kueue ignores the group of the pods and admits the pods by its own rules. Remove the group or this key"


# Rules about Jobs.


def _about_job(item: KubeObject, value: Mapping[str, Value], scene: Scene) -> Iterator[Finding]:
    spec = mapping(value.get("spec"))
    pod_spec, scheduling = mapping_at(spec, "template", "spec"), spec.get("scheduling")
    template: FieldPath = ("spec", "template", "spec")
    group = text(value_at(pod_spec, FIELD, "podGroupName"))
    if isinstance(scheduling, dict):
        if group:
            message = (
                f"spec.scheduling has no effect because the pods name the group {group}. Remove spec.scheduling or "
                "the name of the group"
            )
            yield Finding.of(rules.JOB_IGNORED, item, ("spec", "scheduling"), message, at_key=True)
        else:
            holders = (("metadata",), ("spec", "template", "metadata"))
            yield from _two_gangs(item, template, pod_spec, holders, scene)
        yield from _job_minimum(item, spec, scheduling)
    if JOBS in scene.gates and not group and not is_controlled(item):
        name = item.name
        if lacks_template_name(name):
            message = (
                f"the Job gets no pods: the controller cannot make a Workload because {name}{_TEMPLATE_SUFFIX} is not "
                f"a DNS label. Use a name without dots, of at most {_MAX_JOB_NAME_LENGTH} characters"
            )
            yield Finding.of(rules.JOB_NAME, item, ("metadata", "name"), message)


def _job_minimum(item: KubeObject, spec: Mapping[str, Value], scheduling: Mapping[str, Value]) -> Iterator[Finding]:
    gang = value_at(scheduling, "schedulingPolicy", "gang")
    has, parallelism = job_pods(spec), spec.get("parallelism")
    if not isinstance(gang, dict) or has is None:
        return
    needed = gang.get("minCount")
    needed = (1 if parallelism is None else parallelism) if needed is None else needed
    if type(needed) is int and needed > has:
        message = f"the Job never starts: it needs {needed} pods, but its completions allow {has}"
        yield Finding.of(rules.MIN_COUNT_PODS, item, ("spec", "scheduling", "schedulingPolicy", "gang"), message)


def lacks_template_name(name: str) -> bool:
    """Return True if the Job controller cannot make a valid name for a Workload's template from a Job's `name`."""
    return "." in name or len(name) > _MAX_JOB_NAME_LENGTH


def _key_path(group: Group) -> FieldPath:
    constraints = mappings_by_place(value_at(group.value, "schedulingConstraints", "topology"))
    return group.field_path("schedulingConstraints", "topology", constraints[0][0], "key")
