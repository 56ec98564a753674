"""Odd settings: every command that reads them gives an answer, and writes no file if it reports an error.

Each setting is tested in a file of the package, in a list as the function's configuration, in a file of `--config`, and
in a ConfigMap.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.cli.calling import CONFIG, SERVICE, WORKLOAD, AssertEach, Call, write

HEAD = "apiVersion: packwise.dev/v1alpha1\nkind: TopologyRender\nmetadata: {name: topology}\n"
LEVELS = "[{domain: zone, key: topology.kubernetes.io/zone}, {domain: rack, key: example.com/rack}]"
SECTION = f"topologyAwareScheduling: {{enabled: true, levels: {LEVELS}}}"
DEEP = "[" * 450 + "]" * 450


def named(metadata: str) -> str:
    return HEAD.replace("{name: topology}", metadata) + f"spec: {{{SECTION}}}\n"


def levels(text: str) -> str:
    return f"{HEAD}spec: {{topologyAwareScheduling: {{enabled: true, levels: {text}}}}}\n"


def spec(text: str) -> str:
    return f"{HEAD}spec:\n  {SECTION}\n  {text}\n"


ODD: dict[str, str | bytes] = {
    "a kind that is true": HEAD.replace("TopologyRender", "true"),
    "a kind that is a list": HEAD.replace("TopologyRender", "[TopologyRender]"),
    "no kind": "apiVersion: packwise.dev/v1alpha1\nkind:\n",
    "a group without a version": HEAD.replace("/v1alpha1", "/"),
    "a version that is a number": HEAD.replace("packwise.dev/v1alpha1", "1"),
    "another version": HEAD.replace("v1alpha1", "v9"),
    "a name that is a number": named("{name: 1}"),
    "a name that is a mapping": named("{name: {a: b}, namespace: [b]}"),
    "metadata that are a list": named("[a]"),
    "annotations that are none": named("{name: a, labels: text, annotations: [a]}"),
    "places that are none": named(
        "{name: a, annotations: {config.kubernetes.io/path: 1, config.kubernetes.io/index: x, 1: 2}}"
    ),
    "no spec": HEAD,
    "a spec of nothing": f"{HEAD}spec:\n",
    "a spec that is a list": f"{HEAD}spec: [a]\n",
    "a spec that is endless": f"{HEAD}spec: .inf\n",
    "a spec that is a date": f"{HEAD}spec: 2026-01-01T00:00:00Z\n",
    "a spec that is bytes": f"{HEAD}spec: !!binary aGVsbG8=\n",
    "a spec that is a set": f"{HEAD}spec: !!set {{a, b}}\n",
    "a tag of Python's": f"{HEAD}spec: !!python/object/apply:os.system [touch ran]\n",
    "a key twice": f"{HEAD}spec: {{}}\nspec: {{}}\n",
    "keys that are no strings": f"{HEAD}spec: {{1: 2, true: 3, null: 4, 1.5: 5, 2026-01-01: 6, [a]: 7, {{b: c}}: 8}}\n",
    "keys of the object that are no strings": f"{HEAD}spec: {{}}\n1: 2\ntrue: x\n",
    "a merge of a list": f"{HEAD}spec: {{<<: {{{SECTION}}}, <<: [a]}}\n",
    "an alias of itself": f"{HEAD}spec: &a {{topologyAwareScheduling: *a}}\n",
    "aliases of aliases": "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}' if n else 'x'] * 9)}]\n" for n in range(8))
    + f"{HEAD}spec: *a7\n",
    "depth": f"{HEAD}spec: {{topologyAwareScheduling: {DEEP}}}\n",
    "more depth": f"{HEAD}spec: {{x: {'[' * 5000}{']' * 5000}}}\n",
    "empty documents": f"---\n---\n{spec('annotate: true')}---\n...\n---\n",
    "two": f"{spec('annotate: true')}---\n{spec('annotate: false')}",
    "nothing": "",
    "a scalar": "text\n",
    "a list of anything": "apiVersion: v1\nkind: List\nitems: [1, null, [a], {kind: TopologyRender}]\n",
    "a section that is a list": f"{HEAD}spec: {{topologyAwareScheduling: [enabled], topology: text}}\n",
    "levels that are a mapping": levels("{domain: rack, key: example.com/rack}"),
    "levels of anything": levels("[rack, 1, null, [a], {}, {domain: 1, key: true}, {domain: [a], key: {a: b}}]"),
    "levels by aliases": levels("[&a {domain: rack, key: a/b}, *a, *a]"),
    "a revision that is a list": spec("revision: [v0.1.0-alpha.8]"),
    "a revision of signs": spec('revision: "v0\\0\\x1b[31m\\u202e\\r\\n\\ud800"'),
    "numbers without end": spec(f"podGangEpoch: {'9' * 5000}\n  limits: {{gangs: .inf}}"),
    "numbers below zero": spec("podGangEpoch: -1\n  limits: {gangs: -0x5}"),
    "lists that are none": spec("emit: {PodGang: true}\n  gitops: argocd\n  exclude: '*'"),
    "lists of anything": spec("emit: [[PodGang], {a: b}, null]\n  gitops: [1]\n  exclude: [1, null, {a: b}]"),
    "globs": spec(f"exclude: ['{'*a' * 500}b', '[', '\\', '**', '/', '', '../../..', /etc/passwd]"),
    "rules of anything": spec("rules: {ignore: text, warn: {a: b}, error: [1, [a], {rule: [a], paths: {}}]}"),
    "schedulers of anything": spec(
        "scheduler: {profiles: [1, null, {name: 1}, {name: kai-scheduler, config: [x]}]}\n  network: [a]"
    ),
    "values of a template": spec(f"osmo: {{values: {{1: 2, a: 2026-01-01, b: !!binary aGk=, c: .nan, d: {DEEP}}}}}"),
    "other sections of anything": spec("kai: [v0.12]\n  kueue: {flavors: {name: a}}\n  dynamo: {release: 1.4}"),
    "names that lead out": spec("emit: [KueueTopology]\n  kueue: {flavors: [{name: ../../x, nodeLabels: {../a: b}}]}"),
    "flags of anything": spec("annotate: 1\n  apply: null\n  finalizers: []\n  topologyNameAnnotation: {}"),
    "Grove's of anything": (
        "apiVersion: operator.config.grove.io/v1alpha1\nkind: OperatorConfiguration\nmetadata: 1\n"
        "topologyAwareScheduling: {enabled: [], levels: {a: b}}\nscheduler: {profiles: [[a]]}\nnetwork: .nan\n"
    ),
    "data that are a list": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: [a]\n",
    "data of anything": "apiVersion: v1\nkind: ConfigMap\nmetadata: 1\ndata: {revision: [a], 1: 2, emit: '['}\n",
    "JSON": '{"apiVersion":"packwise.dev/v1alpha1","kind":"TopologyRender","metadata":{"name":1},"spec":null}',
    "no UTF-8": HEAD.encode() + b"spec: {revision: \xe9}\n",
    "a NUL": f"{HEAD}spec: {{revision: a\0}}\n",
    "UTF-16": spec("annotate: true").encode("utf-16"),
    "half of it": spec("annotate: true").encode()[:-90],
}

NODES = """\
apiVersion: v1
kind: Node
metadata: {name: n1, labels: {topology.kubernetes.io/zone: z, example.com/rack: r}}
status: {allocatable: {cpu: "8", memory: 8Gi, pods: "10"}}
"""

IN_A_FILE = (
    "check in -v",
    "check in -o sarif --baseline before",
    "check in --fix --unsafe-fixes",
    "check . --nodes nodes.yaml",
    "render in -o out",
    "render in --in-place",
    "migrate in --to upstream",
    "doctor in",
    "diff in before",
    "explain in",
    "topologies in",
    "place in --nodes nodes.yaml",
    "report in -o report.html",
    "comment in --baseline before --nodes nodes.yaml",
    "fleet render . -o fleet --no-cache",
    "init new --from in/topology.yaml --for kustomize",
    "init in",
    "topology import in/topology.yaml",
)
AS_CONFIG = ("check before --config in/topology.yaml", "render before -o out --config in/topology.yaml")
IN_A_LIST = ("fn", "check in", "render in/topology.yaml", "doctor in", "explain in", "migrate in --to upstream")
QUICK = ("check in -v", "render in -o out", "migrate in --to upstream")
QUICK_IN_A_LIST = ("fn",)
QUICK_IN_A_CONFIG_MAP = ("doctor in",)
"""Commands that also run in quick tests. The others run in slow tests, because all commands read these places alike."""

WRITTEN = {
    "check in --fix --unsafe-fixes": "in",
    "render in -o out": "out",
    "render in --in-place": "in",
    "migrate in --to upstream": "in",
    "fleet render . -o fleet --no-cache": "fleet",
    "init new --from in/topology.yaml --for kustomize": "new",
    "init in": "in",
    "report in -o report.html": "report.html",
    "render before -o out --config in/topology.yaml": "out",
}
"""The folder that a command may change. A command that is not listed must change nothing."""
ALSO_WITH_ERRORS = ("check in --fix --unsafe-fixes", "report in -o report.html", "fleet render . -o fleet --no-cache")
"""Commands that write the correct part even if they report an error."""


def cases(commands: Sequence[str], quick: Sequence[str]) -> list[Any]:
    return [pytest.param(command, marks=() if command in quick else pytest.mark.slow) for command in commands]


Answers = Callable[[str, Callable[[bytes], bytes]], None]


@pytest.fixture
def assert_answers(call: Call, assert_each_alone: AssertEach) -> Answers:
    """Return a function that runs a command on each of the settings, at the place where the command reads them."""

    def one(command: str, place: Callable[[bytes], bytes]) -> None:
        def check(content: str | bytes, folder: Path) -> None:
            text = content if isinstance(content, bytes) else content.encode()
            assert_answered(command, place(text), call, folder)

        assert_each_alone(ODD, check)

    return one


@pytest.mark.parametrize("command", cases(IN_A_FILE, QUICK))
def test_in_a_file(command: str, assert_answers: Answers) -> None:
    assert_answers(command, bytes)


@pytest.mark.parametrize("command", cases(AS_CONFIG, ()))
def test_as_the_configuration_that_is_named(command: str, assert_answers: Answers) -> None:
    assert_answers(command, bytes)


@pytest.mark.parametrize("command", cases(IN_A_LIST, QUICK_IN_A_LIST))
def test_as_the_configuration_of_a_function(command: str, assert_answers: Answers) -> None:
    item = indented(WORKLOAD.encode(), 2).replace(b"  #", b"- #", 1)
    head = b"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n" + item + b"functionConfig:\n"
    assert_answers(command, lambda content: head + indented(content, 2))


@pytest.mark.parametrize("command", cases((*IN_A_LIST[1:], *AS_CONFIG), QUICK_IN_A_CONFIG_MAP))
def test_in_a_config_map(command: str, assert_answers: Answers) -> None:
    head = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: held}\ndata:\n  settings.yaml: |\n"
    assert_answers(command, lambda content: head + indented(content, 4))


def indented(text: bytes, by: int) -> bytes:
    return b"".join(b" " * by + line + b"\n" for line in text.split(b"\n"))


def assert_answered(command: str, content: bytes, call: Call, folder: Path) -> None:
    """Assert that the exit code is documented, and that only permitted places change, and only without an error."""
    files = {"in/web.yaml": WORKLOAD, "in/service.yaml": SERVICE, "before/web.yaml": WORKLOAD, "nodes.yaml": NODES}
    write(folder, {**files, "before/topology.yaml": CONFIG, ".git/HEAD": ""})
    (folder / "in" / "topology.yaml").write_bytes(content)
    before = state(folder)

    ran = call(*command.split(), stdin=content.decode("utf-8", "replace") if command == "fn" else "")

    assert ran.code in (0, 1, 2)
    assert "internal error" not in ran.stdout + ran.stderr
    assert "Traceback" not in ran.stderr
    after = state(folder)
    changed = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
    if ran.code and command not in ALSO_WITH_ERRORS:
        assert not changed
    assert {path.partition("/")[0] for path in changed} <= {WRITTEN.get(command)}


def state(folder: Path) -> dict[str, bytes]:
    """Return every file of a folder and of its parent, with its content."""
    paths = [path for path in folder.rglob("*") if path.is_file()]
    beside = [path for path in folder.parent.iterdir() if path.is_file()]
    return {os.path.relpath(path, folder): path.read_bytes() for path in (*paths, *beside)}
