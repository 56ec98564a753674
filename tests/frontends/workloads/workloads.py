"""Renders of workloads in a user's files, and the PodGroups that KAI makes from the workloads."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from krmfn.kubeobject import KubeObject
from krmfn.result import Result
from krmfn.yamltext import split_documents
from packwise.pipeline import Rendered, render
from packwise.pipeline.selection import Package

__all__ = ["groups_of", "parsed", "rendered", "shown"]

SETTINGS = """\
apiVersion: packwise.dev/v1alpha1
kind: TopologyRender
metadata: {name: topology}
spec:
  revision: v0.1.0-alpha.13
  apply: false
  emit: [PodGroup]
  kai: {version: %s, schedulerName: %s}
  topologyAwareScheduling: {enabled: true}
"""


def parsed(text: str, file: str = "workload.yaml") -> tuple[KubeObject, ...]:
    """Return the objects of a file."""
    return tuple([KubeObject.parse(each.text, file=file, line=each.line) for each in split_documents(text)])


def rendered(
    objects: Sequence[KubeObject], version: str = "v0.17", *, name: str = "kai-scheduler", writes: bool = False
) -> Rendered:
    """Return the render of the objects with this release of KAI, and with this scheduler name in the pods."""
    settings = KubeObject.parse(SETTINGS % (version, name), file="topology.yaml")
    return render(Package((settings, *objects)), writes=writes)


def groups_of(answer: Rendered) -> list[Any]:
    """Return name, owner and spec of each PodGroup."""
    return [
        {
            "name": item.name,
            "owner": [
                f"{owner['apiVersion']} {owner['kind']} {owner['name']}"
                for owner in item.value["metadata"].get("ownerReferences", [])  # type: ignore[union-attr]
            ],
            "spec": item.value["spec"],
        }
        for item in answer.items
        if item.kind == "PodGroup"
    ]


def shown(results: Iterable[Result], operator: str = "kai") -> list[dict[str, str]]:
    """Return the findings about the workloads: place, rule, severity and text, with the operator's text."""
    lines: list[dict[str, str]] = []
    for result in results:
        line, column = (result.tags.get(tag, "") for tag in ("line", "column"))
        path = result.field.path if result.field is not None else ""
        entry = {
            "at": f"{line}:{column} {path}".rstrip(),
            "rule": f"{result.tags['rule']}, {result.severity}",
            "message": result.message,
        }
        if "operatorMessage" in result.tags:
            entry[operator] = result.tags["operatorMessage"]
        lines.append(entry)
    return lines
