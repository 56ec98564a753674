"""The outline of groups that `packwise explain` shows: the requests of each group, its pods, and dropped fields.

Source: spec/kubernetes-gangs.md#9.
"""

from __future__ import annotations

from krmfn.fieldpath import format_path
from krmfn.hints import TYPE_CHECKING
from packwise.findings import Place
from packwise.objects.index import identity
from packwise.objects.scheduling_groups import FIELD
from packwise.placement import Outline
from packwise.wording import count_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import TypeAlias

    from krmfn.fieldpath import FieldPath
    from krmfn.kubeobject import KubeObject
    from packwise.frontends.kubernetes.advice import Scene
    from packwise.frontends.kubernetes.check import CheckedObject
    from packwise.frontends.kubernetes.gates import Dropped
    from packwise.objects.scheduling_groups import Group, Pods

    _Below: TypeAlias = Mapping[tuple[KubeObject, FieldPath], Sequence[Group]]
    """The child groups of each group, by the object and the path of the parent."""


_MAX_DEPTH = 4


def outlines_of(checked: Iterable[CheckedObject], scene: Scene) -> dict[KubeObject, tuple[Outline, ...]]:
    """Return the outline of each object: first its groups with their children and pods, then its dropped fields."""
    own: dict[KubeObject, list[Group]] = {}
    below: dict[tuple[KubeObject, FieldPath], list[Group]] = {}
    for group in (*[each for templates in scene.templates.values() for each in templates], *scene.groups):
        if group.parent is not None:
            below.setdefault((group.parent.item, group.parent.path), []).append(group)
        if group.parent is None or group.parent.item is not group.item:
            own.setdefault(group.item, []).append(group)
    return {
        each.item: (
            *[_outline(group, below, scene) for group in own.get(each.item, ())],
            *_dropped_fields(each.item, each.dropped),
        )
        for each in checked
        if each.kept is not None
    }


def _outline(group: Group, below: _Below, scene: Scene, depth: int = 0) -> Outline:
    is_template = group.path != ("spec",)
    # The limit is needed because objects can name one another as parents in a cycle.
    children = below.get((group.item, group.path), ()) if depth < _MAX_DEPTH else ()
    parts = [_outline(each, below, scene, depth + 1) for each in children]
    if not is_template and not group.is_composite:
        parts += _users(scene.users.get((identity(group.item.value)[2], group.name), ()))
    kind = "groups" if group.is_composite else "pods"
    name = f"{kind} {group.name}" if is_template else f"{group.item.kind} {group.name}"
    return Outline(name, Place(group.item, group.path), tuple(_details(group, is_template=is_template)), tuple(parts))


def _details(group: Group, *, is_template: bool) -> Iterator[str]:
    noun = "group" if group.is_composite else "pod"
    if group.minimum is not None:
        yield f"gang, needs {count_text(group.minimum, noun)}"
    else:
        yield "basic, needs 1 pod"
    if group.key:
        yield f"within one {group.key}"
    if group.is_disrupted_together:
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
        count = "unknown number of pods" if pods.count is None else count_text(pods.count, "pod")
        place = Place(pods.item, (*pods.path, FIELD))
        yield Outline(f"{pods.item.kind} {pods.item.name}", place, (count, f"scheduler {pods.scheduler}"))


def _dropped_fields(item: KubeObject, dropped: Iterable[Dropped]) -> Iterator[Outline]:
    for each in dropped:
        why = f"the feature gate {each.gate} is off"
        yield Outline(f"dropped: {format_path(each.path)}", Place(item, each.path), (why,))
