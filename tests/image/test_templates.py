"""A separate process fills in the templates of OSMO's workflows. A container with limits must be able to start it."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tests.image.containers import CONFINED, LIMITED, Ran, call, podman
from tests.places import TESTDATA

pytestmark = pytest.mark.image

CASE = TESTDATA / "osmo" / "a-template-is-filled-in-with-its-default-values"
USERS = ("65532:65532", "nobody")

GREEDY = "{% set n = namespace(x=[1]) %}{% for i in range(99) %}{% set n.x = n.x + n.x %}{% endfor %}"
"""A template that exceeds the limits of the process that fills it in, before the container reaches its own limits."""

REFUSED = (
    "error: <stdin>:28:20: ConfigMap workflow data[workflow.yaml]: packwise cannot fill in the template in a "
    "process with limits: the system cannot start a process (Resource temporarily unavailable); raise its limits "
    "of processes and open files [osmo-template]\n"
)


def resource_list(greedy: str = "") -> bytes:
    """Return the pool and the workflow of a case as kustomize and kpt pass them: in ConfigMaps."""
    pool, workflow = [(CASE / name).read_text(encoding="utf-8") for name in ("pool.yaml", "train.yaml")]
    texts = {"pool": pool, "workflow": workflow.replace("{{ run }}", greedy + "{{ run }}")}
    items = [
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": kind, "labels": {"packwise.dev/osmo": kind}},
            "data": {f"{kind}.yaml": text},
        }
        for kind, text in texts.items()
    ]
    configuration = {"apiVersion": "packwise.dev/v1alpha1", "kind": "TopologyRender", "metadata": {"name": "west"}}
    value = {"apiVersion": "config.kubernetes.io/v1", "kind": "ResourceList", "items": items}
    return yaml.safe_dump({**value, "functionConfig": configuration}).encode()


@pytest.mark.parametrize("user", USERS)
def test_a_template_is_filled_in_within_limits(function: str, packwise: Path, user: str) -> None:
    inside = podman(*CONFINED, *LIMITED, f"--user={user}", function, stdin=resource_list())

    assert inside == call([packwise, "fn"], resource_list())
    assert inside.code == 0
    assert b"name: train-one-worker-1\n" in inside.stdout


def test_a_template_that_takes_too_much_ends_in_the_same_error(function: str, packwise: Path) -> None:
    stdin = resource_list(GREEDY)

    inside = podman(*CONFINED, *LIMITED, function, stdin=stdin)

    assert inside == call([packwise, "fn"], stdin)
    assert "seconds of processor time or 128 MiB of memory" in inside.stderr
    assert inside.code == 1


def test_where_no_process_may_be_started_the_template_is_refused_in_plain_words(function: str) -> None:
    script = "ulimit -u 1 && exec /opt/packwise/bin/packwise fn"
    options = ("--user=54321", "--entrypoint=/bin/bash")

    inside = podman(*CONFINED, *LIMITED, *options, function, "-c", script, stdin=resource_list())

    assert inside == Ran(1, inside.stdout, REFUSED)
    assert b"PodGroup" not in inside.stdout
