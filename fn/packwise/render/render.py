"""The objects to write: new ones, and those of an earlier render with every byte that need not change.

Source: product.md "What goes in, what comes out".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from krmfn.kubeobject import KubeObject
from packwise.finding import Finding, Rule
from packwise.render.carry import carry
from packwise.render.mark import marked
from packwise.select.index import identity, told_identity

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from packwise.api import TopologyRender
    from packwise.plan import Generated
    from packwise.select.index import Identity, Index

__all__ = ["RULES", "Rendering", "render"]

CLASH = Rule("identity-clash", "No object of the input has the identity of a generated one.", "product.md")
TWICE = Rule("generated-twice", "No two objects are generated with one identity.", "operator.md 6")
RULES = (CLASH, TWICE)
"""Rules of generated objects."""

_ORDER = {
    kind: place for place, kind in enumerate(("ClusterTopology", "Queue", "Topology", "PodGang", "PodGroup", "Pod"))
}


class Rendering(NamedTuple):
    """The generated objects in their final order; none of them while there are findings."""

    objects: tuple[KubeObject, ...]
    findings: tuple[Finding, ...]


def render(
    generated: Sequence[Generated], index: Index, settings: TopologyRender, in_use: Collection[str] = ()
) -> Rendering:
    """The objects of the kinds that `settings` emits, by kind and then in the given order.

    An object of an earlier render is the same object afterwards, comments and client annotations included; what it no
    longer is, is spliced. Earlier objects that are not among the result no longer belong. `in_use` are the names of the
    ClusterTopologies by which workloads are placed.
    """
    wanted = [one for one in generated if settings.emits(str(one.value["kind"]), unasked=one.unasked)]
    # Stable: within a kind the planner's order is namespace, workload and the operator's own.
    wanted.sort(key=lambda one: _ORDER[str(one.value["kind"])])
    findings: list[Finding] = []
    first: dict[Identity, Generated] = {}
    objects: list[KubeObject] = []
    for one in wanted:
        key = identity(one.value)
        if key in index.others:
            findings.append(_clash(one, index.others[key]))
        elif key in first:
            findings.append(_twice(one, first[key], key))
        else:
            first[key] = one
            value = marked(one, apply=settings.apply, gitops=_gitops(one, settings, in_use))
            before = index.earlier.get(key)
            objects.append(KubeObject.new(value) if before is None else carry(before, value))
    return Rendering(() if findings else tuple(objects), tuple(findings))


def _gitops(one: Generated, settings: TopologyRender, in_use: Collection[str]) -> Mapping[str, str]:
    if not settings.gitops:
        return {}
    from packwise.render.gitops import gitops_annotations

    return gitops_annotations(one, settings.gitops, in_use)


def _clash(one: Generated, other: KubeObject) -> Finding:
    made_from = _told(one)
    message = f"must not be what is rendered from {made_from} too; take it out of the input, or rename one of the two"
    return Finding.of(CLASH, other, ("metadata", "name"), message)


def _twice(one: Generated, first: Generated, key: Identity) -> Finding:
    where = told_identity(key)
    message = f"becomes {where}, and so does {_told(first)}; rename one of them, or one of their cliques or groups"
    return Finding.of(TWICE, one.subject, ("metadata", "name"), message)


def _told(one: Generated) -> str:
    return one.origin if one.subject is None else f"{one.origin} ({one.subject.location()})"
