"""Groups as `packwise explain` shows them: what each asks for, the pods that name it, the fields that are dropped.

Source: spec/kubernetes-gangs.md#9.
"""

from __future__ import annotations

from krmfn.fieldpath import format_path
from krmfn.hints import TYPE_CHECKING
from packwise.objects.identity import identity
from packwise.objects.place import Place
from packwise.objects.scheduling_groups import FIELD
from packwise.placement import Outline
from packwise.wording import count_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from krmfn.kubeobject import KubeObject
    from packwise.frontends.kubernetes.advice import Scene
    from packwise.frontends.kubernetes.gates import Dropped
    from packwise.objects.scheduling_groups import Group, Pods


def outline_of(item: KubeObject, dropped: Sequence[Dropped], scene: Scene) -> tuple[Outline, ...]:
    """Return the groups of an object with what is below them, then the fields that are dropped."""
    namespace = identity(item.value)[2]
    if item.kind == "Workload":
        templates = scene.templates.get((namespace, item.name), ())
        groups = [_outline(group, templates, scene, is_template=True) for group in templates if group.parent is None]
    else:
        groups = [_outline(group, scene.groups, scene) for group in scene.groups if group.item is item]
    return (*groups, *_dropped_fields(item, dropped))


def _outline(group: Group, groups: Sequence[Group], scene: Scene, *, is_template: bool = False) -> Outline:
    below = [
        _outline(each, groups, scene, is_template=is_template)
        for each in groups
        if each.parent is not None and (each.parent.item, each.parent.path) == (group.item, group.path)
    ]
    if not is_template and not group.is_composite:
        below += _users(scene.users.get((identity(group.item.value)[2], group.name), ()))
    kind = "groups" if group.is_composite else "pods"
    name = f"{kind} {group.name}" if is_template else f"{group.item.kind} {group.name}"
    return Outline(name, Place(group.item, group.path), tuple(_details(group, is_template=is_template)), tuple(below))


def _details(group: Group, *, is_template: bool) -> Iterator[str]:
    noun = "group" if group.is_composite else "pod"
    if group.minimum is not None:
        yield f"gang, needs {count_text(group.minimum, noun)}"
    else:
        yield "basic, one pod is enough"
    if group.key:
        yield f"within one {group.key}"
    if group.is_whole:
        yield "disrupted as a whole"
    elif "disruptionMode" in group.value:
        yield "disrupted pod by pod"
    elif not is_template:
        yield "disrupted pod by pod, by default"
    if group.priority_class:
        yield f"priority class {group.priority_class}"
    if group.value.get("priority") is not None:
        yield f"priority {group.value['priority']}"


def _users(users: Iterable[Pods]) -> Iterator[Outline]:
    for pods in users:
        count = "a number of pods that nobody knows" if pods.count is None else count_text(pods.count, "pod")
        place = Place(pods.item, (*pods.path, FIELD))
        yield Outline(f"{pods.item.kind} {pods.item.name}", place, (count, f"scheduler {pods.scheduler}"))


def _dropped_fields(item: KubeObject, dropped: Iterable[Dropped]) -> Iterator[Outline]:
    for each in dropped:
        why = f"the feature gate {each.gate} is off"
        yield Outline(f"dropped: {format_path(each.path)}", Place(item, each.path), (why,))
