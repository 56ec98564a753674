"""Renders of OSMO's documents in this process, and checks that every rendered object passes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from krmfn.kubeobject import KubeObject, Source
from krmfn.result import Result, Severity
from krmfn.yamltext import split_documents
from packwise.objects.index import RENDERED_FROM
from packwise.pipeline import render
from packwise.pipeline.selection import Package

__all__ = ["ALL", "HOST", "POOL", "Rendered", "marks_removed", "of_kind", "rendered", "webhook_refusals"]

POOL = """\
name: gb200
backend: cluster
default_platform: gb200
platforms: {gb200: {}}
topology_keys:
- {key: zone, label: topology.kubernetes.io/zone}
- {key: rack, label: example.com/rack}
"""
HOST = "- {key: host, label: kubernetes.io/hostname}\n"
"""A level that can be added at the end of POOL."""

ALL = "[Queue, Topology, PodGroup, Pod]"


class Rendered(NamedTuple):
    """The output of a render as plain values, and its messages."""

    objects: list[Any]
    results: tuple[Result, ...]

    @property
    def accepted(self) -> bool:
        return not any(result.severity is Severity.ERROR for result in self.results)

    def said(self, severity: Severity = Severity.ERROR) -> list[tuple[str, str, str | None]]:
        """Return rule, field and OSMO's own text of each result with that severity, in OSMO's order."""
        found = [result for result in self.results if result.severity is severity]
        return [
            (r.tags["rule"], r.field.path if r.field is not None else "", r.tags.get("operatorMessage")) for r in found
        ]


def rendered(*texts: str, emit: str = ALL, osmo: str = "{submittedBy: alice}", more: str = "") -> Rendered:
    """Return the render of documents. Each text is a stream of documents."""
    settings = KubeObject.parse(
        "apiVersion: packwise.dev/v1alpha1\nkind: TopologyRender\nmetadata: {name: topology}\n"
        f"spec:\n  emit: {emit}\n  osmo: {osmo}\n{more}"
    )
    documents = [
        KubeObject(Source(one.text, (), one.line, 1, f"{number}.yaml"))
        for number, text in enumerate(texts)
        for one in split_documents(text)
        if one.text.strip()
    ]
    found = render(Package((settings,), documents=tuple(documents)))
    return Rendered([dict(item.value) for item in found.generated], found.results)


def of_kind(objects: Iterable[Any], kind: str) -> list[Any]:
    return [one for one in objects if one.get("kind") == kind]


def marks_removed(value: Any) -> Any:
    """Return an object without packwise's marks."""
    metadata = dict(value["metadata"])
    marks = {RENDERED_FROM, "config.kubernetes.io/path"}
    notes = {key: text for key, text in metadata.get("annotations", {}).items() if key not in marks}
    metadata.pop("annotations", None)
    return {**value, "metadata": {**metadata, **({"annotations": notes} if notes else {})}}


def webhook_refusals(group: Any) -> list[str]:
    """Yield the refusals of KAI's webhook, v0.15 or newer. Older webhooks have fewer. Source: spec/kai.md."""
    subs: list[dict[str, Any]] = group["spec"].get("subGroups", [])
    names = [sub["name"] for sub in subs]
    parents = {sub["name"]: sub.get("parent") for sub in subs}
    inner = {parent for parent in parents.values() if parent is not None}
    found = [f"duplicate subgroup name {name}" for place, name in enumerate(names) if name in names[:place]]
    found += [f"parent {p} of {n} was not found" for n, p in parents.items() if p is not None and p not in parents]
    for name in names:
        seen: set[str | None] = set()
        at: str | None = name
        while at is not None and at not in seen:
            seen.add(at)
            at = parents.get(at)
        found += ["cycle detected in subgroups"] if at is not None else []
    for sub in subs:
        if sub["name"] in inner and "minMember" in sub:
            found.append(f'subgroup "{sub["name"]}": minMember cannot be set on a mid-level SubGroup')
        if sub["name"] not in inner and "minMember" not in sub:
            found.append(f"subgroup {sub['name']}: minMember is required")
    if subs and "minMember" in group["spec"]:
        found.append("minMember of the whole beside subGroups")
    return found
