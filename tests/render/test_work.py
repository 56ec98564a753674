"""Work in proportion to the input: what once took minutes, under limits on processor time and memory."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

HEAD = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n"
CONFIG = """\
functionConfig:
  apiVersion: packwise.dev/v1alpha1
  kind: TopologyRender
  metadata: {name: topology}
  spec:
    topologyAwareScheduling:
      enabled: true
      levels: [{domain: zone, key: topology.kubernetes.io/zone}, {domain: rack, key: example.com/rack}]
"""
CLIQUE = "{roleName: %s, replicas: 1, minAvailable: 1, podSpec: {containers: [{name: r, image: x%s}]}}"
CONFIG_MAP = "- apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: a}\n  a: "


def limited(packwise: Path, words: list[str], text: str, *, seconds: int, mib: int = 2048) -> tuple[int, str]:
    """Exit code and stderr of packwise, killed where it takes more processor time or address space."""
    command = f'ulimit -t {seconds}; ulimit -v {mib << 10}; exec "$@"'
    done = subprocess.run(
        ["sh", "-c", command, "sh", str(packwise), *words],
        input=text.encode(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False,
    )  # fmt: skip
    return done.returncode, done.stderr.decode()


def workload(*, spec: str = "", template: str = "", args: str = "") -> str:
    return (
        "- apiVersion: grove.io/v1alpha1\n  kind: PodCliqueSet\n  metadata: {name: web, namespace: shop}\n"
        f"  spec:\n    replicas: 1\n{spec}    template:\n      topologyConstraint: {{packDomain: rack}}\n{template}"
        f"      cliques:\n      - name: router\n        spec: {CLIQUE % ('router', args)}\n"
    )


def group(name: str, *members: str) -> str:
    return f"      - {{name: {name}, cliqueNames: [{', '.join(members)}]}}\n"


def osmo(tasks: int) -> str:
    lines = "workflow:\n  name: w\n  pool: p\n  tasks:\n" + "  - {name: t, image: x, resource: default}\n" * tasks
    text = "".join(f"      {line}\n" for line in lines.splitlines())
    labels = "{name: w, labels: {packwise.dev/osmo: workflow}}"
    return f"- apiVersion: v1\n  kind: ConfigMap\n  metadata: {labels}\n  data:\n    w.yaml: |\n{text}"


GROUPS = "      podCliqueScalingGroups:\n"
INPUTS = {
    "an integer of 4 MB": (CONFIG_MAP + "9" * 4_000_000 + "\n", 0),
    "a float of 4 MB": (CONFIG_MAP + "1." + "0" * 4_000_000 + "\n", 0),
    "8,000 words that tools read differently": (workload(args=f", args: [{', '.join(['yes'] * 8000)}]"), 0),
    "50,000 unknown fields": (workload(spec="".join(f"    x{number}: 1\n" for number in range(50_000))), 1),
    "8,000 unknown members": (workload(template=GROUPS + group("g", *(f"m{number}" for number in range(8000)))), 1),
    "10,000 groups": (
        workload(template=GROUPS + "".join(group(f"g{number}", f"c{number}") for number in range(10_000)))
        + "".join(f"      - name: c{n}\n        spec: {CLIQUE % (f'c{n}', '')}\n" for n in range(10_000)),
        0,
    ),
    "2,000 tasks of one name": (osmo(2000), 1),
}


@pytest.mark.parametrize(("items", "code"), INPUTS.values(), ids=INPUTS)
def test_a_list_is_answered_within_its_processor_time(packwise: Path, items: str, code: int) -> None:
    got, stderr = limited(packwise, ["fn"], HEAD + items + CONFIG, seconds=15)

    assert (got, "internal error" in stderr) == (code, False), stderr[:500]


def test_unknown_fields_of_an_item_from_a_file_are_located_in_one_walk(packwise: Path) -> None:
    path = "{name: web, namespace: shop, annotations: {config.kubernetes.io/path: a.yaml}}"
    items = workload(spec="".join(f"    x{number}: 1\n" for number in range(40_000)))

    got, _ = limited(packwise, ["fn"], HEAD + items.replace("{name: web, namespace: shop}", path) + CONFIG, seconds=15)

    assert got == 1


def test_a_stream_of_many_documents_is_cut_in_one_pass(packwise: Path, tmp_path: Path) -> None:
    document = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c%d}\n"
    (tmp_path / "all.yaml").write_text("".join(document % number for number in range(40_000)))

    got, stderr = limited(packwise, ["check", str(tmp_path)], "", seconds=15)

    assert got == 0, stderr[:500]


JSON = '{"apiVersion": "config.kubernetes.io/v1", "kind": "ResourceList", "items": [%s]}'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (JSON % ",".join(["{}"] * 1_000_001), "<stdin>:1:3000077: must hold at most 1000000 items; split the package"),
        (
            JSON % ('{"a": [' + ",".join(["0"] * 5_000_000) + "]}"),
            "<stdin>:1:1: must hold at most 5000000 mappings, lists and scalars; split it into smaller ones",
        ),
        (
            HEAD + "- a:\n" + "  - 0\n" * 5_000_000,
            "<stdin>:4999995:5: must hold at most 5000000 mappings, lists and scalars; split it into smaller ones",
        ),
    ],
    ids=["items", "nodes of JSON", "nodes"],
)
def test_a_list_beyond_its_bounds_is_refused_within_its_memory(packwise: Path, text: str, message: str) -> None:
    assert limited(packwise, ["fn"], text, seconds=60, mib=1024) == (1, f"error: {message}\n")
