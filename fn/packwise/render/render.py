"""The objects to write: new ones, and those of an earlier render with every byte that need not change.

Source: spec/packwise.md#1.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from krmfn.kubeobject import KubeObject
from krmfn.record import NamedTuple
from packwise.findings.finding import Finding, Rule
from packwise.objects.identity import format_identity, has_epoch, identity, is_generated, stable_identities
from packwise.objects.kinds import GENERATED, KINDS, kind_of_object
from packwise.objects.place import place_text
from packwise.render.carry import carry
from packwise.render.mark import marked

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from packwise.objects.identity import Identity
    from packwise.objects.index import Index
    from packwise.objects.place import Generated
    from packwise.settings import TopologyRender

__all__ = ["RULES", "Rendering", "render"]

CLASH = Rule("identity-clash", "No object of the input has the identity of a generated one.", "spec/packwise.md#1.4")
TWICE = Rule("generated-twice", "No two objects are generated with one identity.", "spec/grove.md#6")
RULES = (CLASH, TWICE)
"""Rules of generated objects."""

_ORDER = {kind.name: kind.write_order or 0 for kind in GENERATED}
_NO_ANNOTATIONS: Mapping[str, str] = {}
_PREVIEWED = frozenset([kind.key for kind in KINDS if kind.previewed])


class Rendering(NamedTuple):
    """The objects in their final order, and the generated ones they are written from; none while there are findings."""

    objects: tuple[KubeObject, ...]
    findings: tuple[Finding, ...]
    generated: tuple[Generated, ...] = ()


def render(
    generated: Sequence[Generated],
    index: Index,
    settings: TopologyRender,
    in_use: Collection[str] = (),
    *,
    folder: str = "",
    is_listed: bool = True,
    previews: bool = False,
) -> Rendering:
    """The objects of the kinds that `settings` emits, by kind and then in the given order.

    An object of an earlier render is the same object afterwards, comments and client annotations included; what it no
    longer is, is spliced; a gang is the same one whatever its epoch. Earlier objects that are not among the result no
    longer belong. `in_use` are the names of the ClusterTopologies by which workloads are placed. The files of new
    objects stand below `folder`. Where nobody asks for the new objects, only for what is wrong, none `is_listed`.
    `previews`: what the scheduler makes itself is among the result, whether or not its kind is emitted.
    """
    wanted = [each for each in generated if _is_emitted(each, settings) or (previews and each.preview)]
    # Stable: within a kind the planner's order is namespace, workload and the operator's own.
    wanted.sort(key=lambda each: _ORDER[str(each.value["kind"])])
    findings: list[Finding] = []
    first: dict[Identity, Generated] = {}
    objects: list[KubeObject] = []
    of_operators = _previews(wanted) if settings.apply else set[int]()
    for each, stable in zip(wanted, stable_identities([each.value for each in wanted]), strict=True):
        epoch = has_epoch(each.value)
        key = identity(each.value) if epoch else stable
        other = index.users.get(key)
        if other is not None and (each.preview or (epoch and has_epoch(other.value))):
            # The operator's own, from which an epoch is known: it stays as it is.
            continue
        if other is not None:
            findings.append(_clash(each, other))
        elif key in first:
            findings.append(_twice(each, first[key], key))
        else:
            first[key] = each
            before = index.generated.get(key) or (_earlier(index, stable) if index.gangs else None)
            if before is None and not is_listed:
                continue
            apply = settings.apply and not each.preview and id(each.subject) not in of_operators
            gitops = _gitops(each, settings, in_use) if settings.gitops else _NO_ANNOTATIONS
            value = marked(each, stable[3], apply=apply, gitops=gitops, folder=folder)
            objects.append(KubeObject.new(value) if before is None else carry(before, value))
    if findings:
        return Rendering((), tuple(findings))
    return Rendering(tuple(objects), (), tuple(first.values()))


def _is_emitted(generated: Generated, settings: TopologyRender) -> bool:
    return settings.emits(kind_of_object(generated.value).emitted, by_default=generated.emit_by_default)


def _previews(generated: Sequence[Generated]) -> set[int]:
    """What an operator makes objects from itself, by its identity in memory."""
    subjects = {id(each.subject): each.subject for each in generated}
    return {
        place
        for place, subject in subjects.items()
        if subject is not None and identity(subject.value)[:2] in _PREVIEWED
    }


def _earlier(index: Index, stable: Identity) -> KubeObject | None:
    """The gang of an earlier render that has another epoch; None where there is none."""
    item = index.gangs.get(stable)
    return item if item is not None and is_generated(item.value) else None


def _gitops(generated: Generated, settings: TopologyRender, in_use: Collection[str]) -> Mapping[str, str]:
    from packwise.render.gitops import gitops_annotations

    return gitops_annotations(generated, settings.gitops, in_use)


def _clash(generated: Generated, other: KubeObject) -> Finding:
    made_from = _source(generated)
    message = f"must not be what is rendered from {made_from} too; take it out of the input, or rename one of the two"
    return Finding.of(CLASH, other, ("metadata", "name"), message)


def _twice(generated: Generated, first: Generated, key: Identity) -> Finding:
    where = format_identity(key)
    message = f"becomes {where}, and so does {_source(first)}; rename one of them, or one of their cliques or groups"
    return Finding.of(TWICE, generated.subject, ("metadata", "name"), message)


def _source(generated: Generated) -> str:
    return generated.source if generated.subject is None else f"{generated.source} ({place_text(generated.subject)})"
