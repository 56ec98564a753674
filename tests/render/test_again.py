"""Output as input: the answer of a failed run, and other objects with packwise's mark."""

from __future__ import annotations

import pytest

from krmfn.testing import case_input
from tests.places import TESTDATA
from tests.render.calling import render

HEAD = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n"
CONFIG = """\
functionConfig:
  apiVersion: packwise.dev/v1alpha1
  kind: TopologyRender
  metadata: {name: topology}
  spec: {topologyAwareScheduling: {enabled: true, levels: [{domain: rak, key: example.com/rack}]}}
"""


def test_the_answer_to_a_failed_run_fails_again_with_the_same_bytes() -> None:
    failed = render(HEAD + "- {apiVersion: v1, kind: Service, metadata: {name: a}}\n" + CONFIG)

    again = render(failed.stdout)

    assert failed.code == 1
    assert again == failed


@pytest.mark.parametrize("case", [
    "podgangs-are-built-from-the-podgangmap-of-their-replica",
    "without-a-podgangmap-epochs-are-those-of-running-podgangs",
    "without-either-the-epochs-are-placeholders-and-a-note-tells-so",
    "replicas-that-an-autoscaler-added-scale-out",
    "an-earlier-gang-of-another-epoch-is-the-same-object",
    "podgroups-of-volcano-are-those-that-the-operator-makes",
    "each-cluster-of-a-list-is-rendered-by-its-own-configuration",
    "what-a-list-holds-is-rendered-and-the-list-keeps-its-bytes",
])  # fmt: skip
def test_what_is_rendered_again_is_itself(case: str) -> None:
    first = render(case_input(TESTDATA / "render" / case))

    assert first.code == 0, first.stderr
    assert render(first.stdout) == first


@pytest.mark.parametrize("kind", ["apiVersion: v1\n  kind: ConfigMap", "apiVersion: grove.io/v1alpha1\n  kind: Other"])
def test_an_object_of_a_kind_that_is_never_rendered_stays_whatever_its_annotations_say(kind: str) -> None:
    item = f"- {kind}\n  metadata:\n    name: a\n    annotations: {{packwise.dev/rendered-from: x}}\n"

    answer = render(HEAD + item + CONFIG.replace("rak", "rack"))

    assert answer.code == 0, answer.stderr
    assert item in answer.stdout


def test_control_characters_do_not_reach_the_terminal() -> None:
    answer = render(
        HEAD + "- {apiVersion: v1, kind: Service, metadata: {name: a}}\n" + CONFIG.replace("rak", '"\\e[31m"')
    )

    assert answer.code == 1
    assert answer.stderr == (
        "error: <stdin>:9:69: TopologyRender topology spec.topologyAwareScheduling.levels[0].domain: must be one of "
        '"region", "zone", "datacenter", "block", "rack", "host", "numa"; got "\\x1b[31m" [configuration-domain]\n'
    )
