"""The work is in proportion to the input.

Inputs that once took minutes run with limits on processor time and memory.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

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
    """Return exit code and stderr of packwise. It is killed if it uses more processor time or address space."""
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


def osmo_pool() -> str:
    return (
        "- apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: p, labels: {packwise.dev/osmo: pool}}\n  data:\n"
        "    p.yaml: |\n      pools: {p: {backend: c, default_platform: g, platforms: {g: {}}}}\n"
    )


def osmo_aliased(tasks: int, argument: str) -> str:
    """Return a workflow of tasks with the same long argument, written once."""
    lines = osmo(0) + f"        - {{name: a, image: x, command: [a], args: &long [{argument}]}}\n"
    return lines + "".join(f"        - {{name: t{n}, image: x, command: [a], args: *long}}\n" for n in range(tasks))


GROUPS = "      podCliqueScalingGroups:\n"
LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789abc"


def cliques(names: Iterable[str]) -> str:
    return "".join(f"      - name: {name}\n        spec: {CLIQUE % (name, '')}\n" for name in names)


def similar_names(count: int, first: int) -> list[str]:
    """Return names with the same letters in different orders, because their comparison takes the longest."""
    steps = [7, 11, 17, 19, 23, 29, 31, 37]
    orders = [(n % len(LETTERS), steps[n // len(LETTERS) % len(steps)]) for n in range(first, first + count)]
    return [
        "".join(LETTERS[(start + step * at) % len(LETTERS)] for at in range(len(LETTERS))) for start, step in orders
    ]


def many(item: str, count: int) -> str:
    return "".join(item.replace("NAME", f"n{number}") for number in range(count))


INPUTS = {
    "an integer of 4 MB": (CONFIG_MAP + "9" * 4_000_000 + "\n", 0),
    "a float of 4 MB": (CONFIG_MAP + "1." + "0" * 4_000_000 + "\n", 0),
    "8,000 words that tools read differently": (workload(args=f", args: [{', '.join(['yes'] * 8000)}]"), 0),
    "100,000 unknown fields": (workload(spec="".join(f"    x{number}: 1\n" for number in range(100_000))), 1),
    "8,000 unknown members": (workload(template=GROUPS + group("g", *(f"m{number}" for number in range(8000)))), 1),
    "10,000 groups": (
        workload(template=GROUPS + "".join(group(f"g{number}", f"c{number}") for number in range(10_000)))
        + "".join(f"      - name: c{n}\n        spec: {CLIQUE % (f'c{n}', '')}\n" for n in range(10_000)),
        0,
    ),
    "8,000 unknown members beside as many cliques": (
        workload(template=GROUPS + group("g", *(f"m{number}" for number in range(8000))))
        + cliques(f"c{number}" for number in range(8000)),
        1,
    ),
    "250 unknown members that are like each clique": (
        workload(template=GROUPS + group("g", *similar_names(250, 60))) + cliques(similar_names(60, 0)),
        1,
    ),
    "a name of 1 MB in 500 messages": (
        workload(template=GROUPS + group("g", *(f"m{number}" for number in range(500)))).replace(
            "web", "x" * 1_000_000
        ),
        1,
    ),
    "a clique's name of 1 MB in 8,000 messages": (
        workload(template=GROUPS + group("g", *(f"m{number}" for number in range(8000)))) + cliques(["x" * 1_000_000]),
        1,
    ),
    "2,000 tasks of one name": (osmo(2000), 1),
    "16,000 ConfigMaps": (
        many("- {apiVersion: v1, kind: ConfigMap, metadata: {name: NAME}, data: {a: b}}\n", 16_000),
        0,
    ),
    "4,000 PodCliqueSets": (many(workload().replace("web", "NAME"), 4000), 0),
}


@pytest.mark.parametrize(("items", "code"), INPUTS.values(), ids=INPUTS)
def test_a_list_is_answered_within_its_processor_time(packwise: Path, items: str, code: int) -> None:
    got, stderr = limited(packwise, ["fn"], HEAD + items + CONFIG, seconds=30, mib=1024)

    assert (got, "internal error" in stderr, "more memory" in stderr) == (code, False, False), stderr[:500]


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


def test_each_unknown_section_of_a_template_is_told_in_one_walk(packwise: Path, tmp_path: Path) -> None:
    sections = "".join(f"section{number}: {{}}\n" for number in range(40_000))
    (tmp_path / "w.yaml").write_text(f"version: 2\nworkflow:\n  name: {{{{x}}}} a\n  tasks: []\n{sections}")

    got, stderr = limited(packwise, ["check", str(tmp_path)], "", seconds=20)

    assert got == 1, stderr[:500]


RACK = "topologyConstraint: {packDomain: rack}"


def replicated(name: str, replicas: int, *, labels: str = "{}", annotation: str = "", template: str = "") -> str:
    """Return a workload with this number of replicas, without constraints."""
    metadata = f"{{name: {name}, namespace: shop, labels: {labels}, annotations: {{a: '{annotation}'}}}}"
    text = workload(template=template).replace("{name: web, namespace: shop}", metadata)
    return text.replace("replicas: 1\n", f"replicas: {replicas}\n").replace(RACK, "terminationDelay: 4h")


def recorded(groups: int) -> str:
    """Return a workload with this number of groups, each with a different constraint."""
    more = f", replicas: 20, {RACK}}}\n"
    listed = "".join(group(f"g{number}", f"c{number}").replace("}\n", more) for number in range(groups))
    cliques = "".join(f"      - name: c{n}\n        spec: {CLIQUE % (f'c{n}', '')}\n" for n in range(groups))
    return workload(template=GROUPS + listed) + cliques


LONG = "x" * 200_000
COPIED = {
    "metadata that PodGangs mirror": (
        replicated("web", 20_000, labels="{kai.scheduler/queue: q}", annotation=LONG),
        "revision: upstream",
    ),
    "a name of a priority class": (
        replicated("web", 20_000, template=f"      priorityClassName: {LONG}\n"),
        "revision: grep-244-multi",
    ),
    "the record of constraints": (recorded(1500), "revision: grep-244-multi"),
    "arguments of OSMO's tasks by an alias": (osmo_pool() + osmo_aliased(5000, LONG), "emit: [Pod]"),
}
"""Large parts of a workload that are copied to many objects."""


def test_workloads_that_are_too_much_together_are_refused_before_any_is_built(packwise: Path) -> None:
    """The input of 1.5 KB would become 260 MB, and take 1.8 GB of memory."""
    many = "".join(replicated(f"w{number}", 100_000) for number in range(5))

    got, stderr = limited(packwise, ["fn"], f"{HEAD}{many}{CONFIG}    revision: grep-244-multi\n", seconds=5, mib=256)

    assert got == 1
    assert stderr.splitlines()[1:] == [
        f"error: <stdin>:{line}:15: PodCliqueSet shop/w{number} spec.replicas: the workload becomes 200000 PodGangs "
        "and entries of their podgroups in addition to 200000 of other workloads, but a run renders at most 200000. "
        "Lower the replicas, split the input, or raise limits.gangs of the TopologyRender [gang-limit]"
        for number, line in ((1, 18), (2, 28), (3, 38), (4, 48))
    ]


@pytest.mark.parametrize(("items", "setting"), COPIED.values(), ids=COPIED)
def test_what_many_objects_copy_counts_towards_the_limit(packwise: Path, items: str, setting: str) -> None:
    got, stderr = limited(packwise, ["fn"], f"{HEAD}{items}{CONFIG}    {setting}\n", seconds=20, mib=512)

    errors = [line for line in stderr.splitlines() if line.startswith("error: <stdin>")]
    assert (got, len(errors), errors[0][-12:]) == (1, 1, "[gang-limit]"), stderr[:1000]


JSON = '{"apiVersion": "config.kubernetes.io/v1", "kind": "ResourceList", "items": [%s]}'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (JSON % ",".join(["{}"] * 1_000_001), "<stdin>:1:3000077: must have at most 1000000 items; split the package"),
        (
            JSON % ('{"a": [' + ",".join(["0"] * 5_000_000) + "]}"),
            "<stdin>:1:1: must have at most 5000000 mappings, lists and scalars; split it",
        ),
        (
            HEAD + "- a:\n" + "  - 0\n" * 5_000_000,
            "<stdin>:4999995:5: must have at most 5000000 mappings, lists and scalars; split it",
        ),
    ],
    ids=["items", "nodes of JSON", "nodes"],
)
def test_a_list_beyond_its_bounds_is_refused_within_its_memory(packwise: Path, text: str, message: str) -> None:
    assert limited(packwise, ["fn"], text, seconds=60, mib=1024) == (1, f"error: {message}\n")
