"""Graphs for tables: a case has only some fields.

This module adds the common fields of all cases and renders the graph.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import Any

from krmfn.fieldpath import format_path
from krmfn.kubeobject import KubeObject
from krmfn.result import Result
from krmfn.yamltext import split_documents
from packwise.pipeline import Rendered, render
from packwise.pipeline.selection import Package

IMAGE = "nvcr.io/nvidia/ai-dynamo/vllm-runtime:1.5.0"
"""The image of every case that does not test images."""

BINDING = """\
apiVersion: grove.io/v1alpha1
kind: ClusterTopologyBinding
metadata: {name: default}
spec:
  levels:
  - {domain: zone, key: topology.kubernetes.io/zone}
  - {domain: block, key: example.com/block}
  - {domain: rack, key: example.com/rack}
  - {domain: host, key: kubernetes.io/hostname}
"""


def document(case: Mapping[str, Any]) -> str:
    """Return the graph of a case: its `spec` as text, and its `metadata` and `version` if it has them."""
    version, metadata = case.get("version", "v1beta1"), case.get("metadata", "{name: llm, namespace: serving}")
    spec = textwrap.indent(case["spec"], "  ")
    head = f"apiVersion: nvidia.com/{version}\nkind: DynamoGraphDeployment\nmetadata: {metadata}\n"
    return f"{head}spec:\n{spec}{case.get('status', '')}"


def settings(case: Mapping[str, Any]) -> str:
    """Return the TopologyRender of a case: its releases of Grove and Dynamo, and its other settings."""
    revision, release = case.get("grove", "v0.1.0-alpha.13"), case.get("dynamo", "1.5")
    spec = [f"revision: {revision}"] if revision else []
    if "settings" in case:
        spec += case["settings"].splitlines()
    else:
        spec += [f'dynamo: {{release: "{release}"}}'] if release else ["annotate: true"]
    spec += case.get("more", "").splitlines()
    return "apiVersion: packwise.dev/v1alpha1\nkind: TopologyRender\nmetadata: {name: t}\nspec:\n" + "".join(
        [f"  {line}\n" for line in spec]
    )


def rendered(case: Mapping[str, Any]) -> Rendered:
    """Return the render of a case. `beside` in the case replaces the topology binding."""
    texts = [settings(case), case.get("beside", BINDING)]
    items = [item for text in texts for item in parsed(text)]
    items.append(graph(case, "graph.yaml"))
    before = None
    if "before" in case:
        before = (graph({**case, "status": "", **case["before"]}, "before.yaml"),)
    return render(Package(tuple(items), baseline=before))


def graph(case: Mapping[str, Any], file: str) -> KubeObject:
    """Return the graph of a case. It has images if its release requires them and the case does not test images."""
    item = KubeObject.parse(document(case), file=file)
    if case.get("dynamo", "1.5") not in ("1.5", "1.6") or case.get("images") == "as written":
        return item
    components, services = item.get("spec.components"), item.get("spec.services")
    for place, component in enumerate(components if isinstance(components, list) else ()):
        path = ("spec", "components", place, "podTemplate", "spec", "containers")
        containers = item.get(path)
        if not isinstance(component, dict) or component.get("type") == "lpx":
            continue
        if containers is None:
            item = item.set(path, [{"name": "main", "image": IMAGE}])
        for index, container in enumerate(containers if isinstance(containers, list) else ()):
            if isinstance(container, dict) and container.get("name") == "main" and "image" not in container:
                item = item.set((*path, index, "image"), IMAGE)
    for name, service in services.items() if isinstance(services, dict) else ():
        path = ("spec", "services", name, "extraPodSpec", "mainContainer", "image")
        if isinstance(service, dict) and item.get(path) is None:
            item = item.set(path, IMAGE)
    return item


def parsed(text: str) -> list[KubeObject]:
    return [KubeObject.parse(part.text, file="beside.yaml", line=part.line) for part in split_documents(text)]


def shown(result: Result) -> dict[str, str]:
    """Return a finding as text: its place, its rule, packwise's text and the operator's text."""
    tags = result.tags
    place = f"{tags.get('line', '-')}:{tags.get('column', '-')}"
    field = result.field.path if result.field is not None else ""
    file = "" if result.file is None or result.file.path == "graph.yaml" else f"{result.file.path} "
    told = {"at": f"{file}{place} {field}".strip(), "rule": f"{tags['rule']}, {result.severity.value}"}
    told["message"] = result.message
    if "operatorMessage" in tags:
        told[tags["stage"]] = tags["operatorMessage"]
    return told


def shape(answer: Rendered) -> list[str]:
    """Return the PodCliqueSets of a render as lines: names, replicas, minAvailable, constraints, gangs."""
    lines: list[str] = []
    for source in answer.sources:
        value: Any = source.value
        if value["kind"] == "PodCliqueSet":
            lines += _set_lines(value)
        elif value["kind"] == "PodGang":
            lines.append(f"gang {value['metadata']['name']}")
    return lines


def _set_lines(value: Mapping[str, Any]) -> list[str]:
    template = value["spec"]["template"]
    strategy = value["spec"].get("updateStrategy", {}).get("type", "")
    head = f"{value['metadata']['name']} {template['cliqueStartupType']} {template['terminationDelay']} {strategy}"
    lines = [head.strip() + _constraint(template)]
    for clique in template["cliques"]:
        spec = clique["spec"]
        after = f" after {', '.join(spec['startsAfter'])}" if "startsAfter" in spec else ""
        counts = f"{spec['replicas']}/{spec['minAvailable']}"
        lines.append(f"  clique {clique['name']} {counts}{after}{_constraint(clique)}")
    for group in template.get("podCliqueScalingGroups", []):
        members = ", ".join(group["cliqueNames"])
        counts = f"{group['replicas']}/{group['minAvailable']}"
        sharing = "".join(
            f" shares {each['name']} with {', '.join(each['filter']['childCliqueNames'])}"
            for each in group.get("resourceSharing", [])
        )
        lines.append(f"  group {group['name']} {counts} of {members}{_constraint(group)}{sharing}")
    for claim in template.get("resourceClaimTemplates", []):
        (request,) = claim["templateSpec"]["spec"]["devices"]["requests"]
        exactly = request["exactly"]
        lines.append(f"  claim {claim['name']} {exactly['count']} {exactly['deviceClassName']}")
    return lines


def _constraint(part: Mapping[str, Any]) -> str:
    constraint = part.get("topologyConstraint")
    if constraint is None:
        return ""
    pack = constraint.get("pack", {})
    words = [f"{key} {pack[key]}" for key in ("required", "preferred") if key in pack]
    words += [f"{key} {constraint[key]}" for key in ("packDomain", "topologyName") if key in constraint]
    return f" [{', '.join(words)}]"


def origins(answer: Rendered, kind: str) -> dict[str, str]:
    """Return the place of each part of the generated objects of a kind, by the path of the part."""
    return {
        format_path(path): f"{origin.place.item.location(origin.place.path).line} {format_path(origin.place.path)}"
        for source in answer.sources
        if source.value["kind"] == kind
        for path, origin in source.origins().items()
    }
