"""A large list that several processes render: the bytes of one render, or no parts at all."""

from __future__ import annotations

import io
import os
import signal
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.workloads import resource_list
from krmfn import outline
from krmfn.outline import Answer
from krmfn.run import run
from packwise.function import render_list
from packwise.pipeline import parts, portions
from packwise.pipeline.parts import rendered_in_parts
from packwise.processes import answers
from packwise.spool import Spool

WORKLOAD = """\
- apiVersion: grove.io/v1alpha1
  kind: PodCliqueSet
  metadata:
    name: {name}
    namespace: {namespace}
  spec:
    replicas: {replicas}
    template:
      cliqueStartupType: CliqueStartupTypeAnyOrder
{constraint}      cliques:
      - name: {clique}
        spec:
          roleName: {clique}
          replicas: 2
          podSpec:
            schedulerName: kai-scheduler
            containers: [{{name: main, image: "example.com/engine:1"}}]
"""
CONSTRAINT = "      topologyConstraint: {{packDomain: {}}}\n"
SETTINGS = """\
- apiVersion: packwise.dev/v1alpha1
  kind: TopologyRender
  metadata: {name: topology}
  spec:
    topologyAwareScheduling:
      enabled: true
      levels:
      - {domain: zone, key: topology.kubernetes.io/zone}
      - {domain: host, key: kubernetes.io/hostname}
    scheduler:
      profiles: [{name: kai-scheduler, default: true}]
"""
SERVICE = "- {apiVersion: v1, kind: Service, metadata: {name: NAME}}\n"
CONFIG_MAP = "- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: NAME\n"
EARLIER = """\
- apiVersion: scheduler.grove.io/v1alpha1
  kind: PodGang
  metadata:
    name: w-0-0
    namespace: a
    annotations: {packwise.dev/generated: "true"}
"""


@pytest.fixture(autouse=True, scope="module")
def small_portions() -> Iterator[None]:
    """Makes several portions of few workloads."""
    with patch.object(portions, "_SIZE", 2):
        yield


def workload(name: str, namespace: str = "a", domain: str = "", *, replicas: int = 1, clique: str = "engine") -> str:
    constraint = CONSTRAINT.format(domain) if domain else ""
    return WORKLOAD.format(name=name, namespace=namespace, constraint=constraint, replicas=replicas, clique=clique)


def text_of(items: list[str], config: str = "") -> bytes:
    return f"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n{''.join(items)}{config}".encode()


def answered(
    text: bytes, in_parts: Callable[[str], Answer | None] | None = None, *, validator: bool = False
) -> tuple[int, bytes, str]:
    stdout, stderr = io.BytesIO(), io.StringIO()
    code = run(
        render_list, in_parts=in_parts, validator=validator, stdin=io.BytesIO(text), stdout=stdout, stderr=stderr
    )
    return code, stdout.getvalue(), stderr.getvalue()


def one_by_one(work: Callable[[Any], Any], inputs: list[Any]) -> list[Any] | None:
    """What processes would answer, computed in this one."""
    given = [work(each) for each in inputs]
    return None if None in given else given


def in_parts(text: str, number: int) -> Answer | None:
    with patch.object(parts, "answers", one_by_one):
        return rendered_in_parts(text, number)


def is_divided(items: list[str], number: int = 2) -> bool:
    return in_parts(text_of(items).decode(), number) is not None


FEW = [workload("w", domain="host"), workload("v", "b"), workload("u", domain="zone", replicas=2)]

UNDIVIDED = {
    "nothing to divide": [SETTINGS],
    "no configuration that can be read": [*FEW, SETTINGS + "    gitops: flux\n"],
    "a workload that cannot be read": [*FEW, SETTINGS, "- kind: PodCliqueSet\n  kind: PodCliqueSet\n"],
    "a line of a text that begins like a workload's": [
        *FEW,
        SETTINGS,
        CONFIG_MAP + "  data: {a: '\n  kind: PodCliqueSet\n  '}\n",
    ],
    "a workload in another style": [*FEW, SETTINGS, "- {apiVersion: grove.io/v1alpha1, kind: PodCliqueSet}\n"],
    "a List": [*FEW, SETTINGS, "- {apiVersion: v1, kind: List, items: []}\n"],
    "results of another function": [*FEW, SETTINGS + "results: [{message: m}]\n"],
    "another function's configuration": [*FEW, SETTINGS + "functionConfig: 1\n"],
    "no line break at the end": [*FEW, SETTINGS.rstrip()],
    "two workloads that become one gang": [
        workload("w-0"),
        workload("w", "b"),
        workload("w-0", "b"),
        SETTINGS,
        workload("w-0"),
    ],
    "a workload twice": [*FEW, SETTINGS, FEW[0]],
    "no configuration": FEW,
    "an object of an earlier render": [SETTINGS, workload("w"), EARLIER],
    "a comment that ignores": [
        SETTINGS,
        FEW[0],
        FEW[1].replace("replicas: 1", "replicas: 1 # packwise: ignore[x] why", 1),
    ],
    "rules": [SETTINGS + "    rules: {ignore: [autoscaler-moves-gangs]}\n", *FEW],
    "a release with PodGangMaps": [SETTINGS + "    revision: v0.1.0-alpha.14\n", *FEW],
    "a limit that all together exceed": [SETTINGS + "    limits: {gangs: 5}\n", *FEW],
    "a live object": [
        SETTINGS,
        *FEW,
        "- {apiVersion: grove.io/v1alpha1, kind: PodGangMap, metadata: {name: w, namespace: a}}\n",
    ],
    "a flow list": ["- {apiVersion: v1, kind: Service, metadata: {name: a}}\n- &a {kind: A}\n- *a\n", SETTINGS, *FEW],
}


@pytest.mark.parametrize("reason", UNDIVIDED)
def test_what_is_about_several_workloads_is_rendered_whole(reason: str) -> None:
    assert not is_divided(UNDIVIDED[reason])


def test_a_usual_package_is_divided() -> None:
    assert is_divided([*FEW, SETTINGS])
    assert is_divided([SERVICE, *FEW, CONFIG_MAP, SETTINGS])
    assert is_divided([*FEW, SETTINGS + "    revision: v0.1.0-alpha.7\n", workload("x", domain="planet")])


PACKAGES = {
    "no findings": list(resource_list(40)),
    "warnings": list(resource_list(40, findings=True)),
}


@pytest.mark.parametrize("number", [1, 2, 3, 7, 40])
@pytest.mark.parametrize("name", PACKAGES)
def test_parts_give_the_bytes_of_one_render(name: str, number: int) -> None:
    text = "".join(PACKAGES[name])

    assert in_parts(text, number) is not None
    assert answered(text.encode(), partial(in_parts, number=number)) == answered(text.encode())


@pytest.mark.parametrize("processes", [1, 2])
def test_a_list_of_many_rounds_has_the_bytes_of_one_render(monkeypatch: pytest.MonkeyPatch, processes: int) -> None:
    monkeypatch.setattr(parts, "_ROUND", 3)
    monkeypatch.setattr(parts, "Spool", partial(Spool, 5000))
    monkeypatch.setattr(outline, "_RESULTS", 3)
    text = "".join(PACKAGES["warnings"])

    assert answered(text.encode(), partial(rendered_in_parts, processes=processes)) == answered(text.encode())


ITEMS = st.one_of(
    st.builds(
        workload,
        st.sampled_from("abcdefgh"),
        st.sampled_from(["a", "b", "a-0"]),
        st.sampled_from(["", "", "zone", "host", "planet"]),
        replicas=st.integers(0, 3),
        clique=st.sampled_from(["engine", "0", "a"]),
    ),
    st.sampled_from([SERVICE, CONFIG_MAP]).flatmap(
        lambda text: st.sampled_from("xyz").map(lambda name: text.replace("NAME", name))
    ),
)
CONFIGURATIONS = st.sampled_from([
    SETTINGS,
    SETTINGS,
    SETTINGS + "    revision: v0.1.0-alpha.7\n",
    SETTINGS + "    revision: v0.1.0-alpha.14\n",
    SETTINGS + "    apply: false\n",
    SETTINGS + "    gitops: [argocd, flux]\n",
    SETTINGS + "    emit: [PodGang, PodGroup, Topology]\n",
    SETTINGS.replace("enabled: true", "enabled: false"),
    "",
])  # fmt: skip


@settings(max_examples=150)
@given(st.lists(ITEMS, min_size=2, max_size=10), CONFIGURATIONS, st.integers(0, 10), st.integers(1, 5))
def test_any_package_has_the_same_bytes_in_parts(items: list[str], configuration: str, at: int, number: int) -> None:
    text = text_of([*items[:at], configuration, *items[at:]])

    assert answered(text, partial(in_parts, number=number)) == answered(text)


@pytest.mark.parametrize("jobs", [1, 2, 3, 8])
@pytest.mark.parametrize("validator", [False, True])
@pytest.mark.parametrize("more", ["", workload("x", "z", "planet")])
def test_processes_give_the_bytes_of_one(jobs: int, validator: bool, more: str) -> None:
    text = ("".join(PACKAGES["warnings"]) + more).encode()

    assert answered(text, partial(rendered_in_parts, processes=jobs), validator=validator) == answered(
        text, validator=validator
    )


def twice(number: int) -> int:
    return 2 * number


def test_answers_come_in_order() -> None:
    assert answers(twice, [3, 1, 2]) == [6, 2, 4]


def large(size: int) -> str:
    return "x" * size


def test_answers_may_be_larger_than_a_pipe_holds() -> None:
    assert answers(large, [1, 1 << 20, 1 << 21]) == ["x", "x" * (1 << 20), "x" * (1 << 21)]


HOST = os.getpid()


def children() -> list[str]:
    """The processes that this one has started and not waited for: other tests of this run may have some."""
    return sorted([text for path in Path("/proc/self/task").glob("*/children") for text in path.read_text().split()])


def killed(number: int) -> int:
    if os.getpid() != HOST:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def failing(number: int) -> int:
    if os.getpid() != HOST:
        raise MemoryError
    return number


def unanswered(number: int) -> int | None:
    return None if number == 2 else number


def exiting(number: int) -> int:
    if os.getpid() != HOST:
        raise SystemExit(1)
    return number


@pytest.mark.parametrize("work", [killed, failing, unanswered, exiting])
def test_without_all_answers_there_is_none(work: Callable[[int], Any]) -> None:
    before = children()

    assert answers(work, [1, 2, 3]) is None
    assert children() == before


def interrupted(number: int) -> int:
    if number == 1:
        raise KeyboardInterrupt
    signal.pause()
    return number


def test_what_ends_the_first_process_ends_all() -> None:
    before = children()

    with pytest.raises(KeyboardInterrupt):
        answers(interrupted, [1, 2, 3])
    assert children() == before


def test_a_system_without_further_processes_has_no_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> int:
        raise BlockingIOError

    monkeypatch.setattr(os, "fork", refuse)

    assert answers(twice, [1, 2]) is None
