"""Untrusted templates in every command: the limits apply to all templates together, and each is filled in once."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from packwise.frontends.osmo import account, document
from packwise.frontends.osmo import confined as module
from packwise.frontends.osmo.confined import Confined, call_confined
from packwise.frontends.osmo.template import TextRead, read_as_osmo
from tests.cli.calling import CONFIG, WORKLOAD, Call, write

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="the system must hold a process to all limits"),
]

LONG = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"
LARGE = "{{ 'a' * 999999999 }}"
NODES = """\
apiVersion: v1
kind: Node
metadata: {name: n, labels: {topology.kubernetes.io/zone: z, example.com/rack: r}}
status: {allocatable: {cpu: 8, memory: 8Gi, pods: 10}}
"""

COMMANDS = {
    "check of many": "check in",
    "check of a change of many": "check in --baseline before",
    "explain of many": "explain in",
    "comment of many": "comment in --baseline before",
    "check": "check in --baseline before --nodes nodes.yaml",
    "render": "render in -o out",
    "render in place": "render --in-place in",
    "diff": "diff before in",
    "explain": "explain in",
    "topologies": "topologies in",
    "migrate": "migrate in --to v0.1.0-alpha.13",
    "place": "place in --nodes nodes.yaml",
    "report": "report in -o report.html --nodes nodes.yaml --baseline before",
    "comment": "comment in --baseline before --nodes nodes.yaml",
}
"""Commands with one configuration, and with one configuration for each folder."""

PACKAGES = 4


def embedded(body: str, number: int) -> str:
    """Return a ConfigMap with a workflow that has `body` as its name."""
    lines = f"version: 2\nworkflow:\n  name: {body}\n  # {number}\n".splitlines()
    head = (
        f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: flow-{number}, labels: {{packwise.dev/osmo: workflow}}}}\n"
    )
    return head + "data:\n  spec.yaml: |\n" + "".join([f"    {line}\n" for line in lines])


def packages(body: str, top: str, replicas: int = 1, *, many: bool) -> dict[str, str]:
    """Return folders with a workload, and each with a different template.

    There are `many` configurations, or one for all.
    """
    configured = [f"{top}/{number}" for number in range(PACKAGES)] if many else [top]
    files = {f"{folder}/topology.yaml": CONFIG for folder in configured}
    for number in range(PACKAGES):
        web = WORKLOAD.replace("name: web", f"name: web-{number}").replace("replicas: 1", f"replicas: {replicas}")
        files |= {f"{top}/{number}/web.yaml": web, f"{top}/{number}/flow.yaml": embedded(body, number)}
    return files


@pytest.fixture
def fills(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Record the processor time of each template that is filled in. Together they may use a second."""
    taken: list[float] = []

    def noted(function: Callable[[], bytes]) -> Confined:
        done = call_confined(function)
        taken.append(done.seconds)
        return done

    monkeypatch.setattr(module, "call_confined", noted)
    monkeypatch.setattr(module, "MAX_SECONDS", 1)
    monkeypatch.setattr(account, "MAX_SECONDS_TOGETHER", 1)
    return taken


@pytest.mark.parametrize("command", COMMANDS)
def test_many_long_templates_take_no_longer_than_two(
    command: str, call: Call, tmp_path: Path, fills: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernel ends the copies only for `check`.

    For other commands, each template counts as one second from the start.
    """
    many = "many" in command

    def ended(_: Callable[[], bytes]) -> Confined:
        fills.append(1.0)
        return Confined(None, 1.0)

    if command != "check":
        monkeypatch.setattr(module, "call_confined", ended)
    write(tmp_path, packages(LONG, "in", many=many) | packages(LONG, "before", many=many) | {"nodes.yaml": NODES})

    ran = call(*COMMANDS[command].split())

    assert ran.code in (0, 1)
    assert len(fills) <= 2
    assert "internal error" not in ran.stderr
    said = ran.stdout + ran.stderr
    assert command == "topologies" or "it needs more than 1 seconds of processor time" in said
    assert command == "topologies" or "The templates before it need" in said


@pytest.mark.parametrize("command", COMMANDS)
def test_a_template_is_filled_in_once_by_a_command(
    command: str, call: Call, tmp_path: Path, fills: list[float]
) -> None:
    many = "many" in command
    write(tmp_path, packages(LARGE, "in", many=many) | packages(LARGE, "before", many=many) | {"nodes.yaml": NODES})

    ran = call(*COMMANDS[command].split())

    assert ran.code in (0, 1)
    assert len(fills) == PACKAGES
    assert command == "topologies" or "or 128 MiB of memory, is nested too deep" in ran.stdout + ran.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_what_a_template_becomes_is_read_once_by_a_command(
    command: str, call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """This holds even if the text is unreadable. Reading takes longer than filling in."""
    many, texts = "many" in command, list[str]()

    def noted(text: str) -> TextRead:
        texts.append(text)
        return read_as_osmo(text)

    for body in ("a{{ 1 }}", "a{{ ': : [' }}"):
        write(
            tmp_path, packages(body, "in", many=many) | packages(body, "before", 2, many=many) | {"nodes.yaml": NODES}
        )
        monkeypatch.setattr(document, "read_as_osmo", noted)
        texts.clear()

        ran = call(*COMMANDS[command].split())

        assert ran.code in (0, 1)
        assert len(texts) == len(set(texts)) == PACKAGES


@pytest.mark.parametrize("verb", ["check", "render -o out", "diff --baseline before", "place --nodes nodes"])
def test_each_package_of_a_fleet_has_the_limits_for_itself(
    verb: str, call: Call, tmp_path: Path, fills: list[float]
) -> None:
    """The answer about a package depends on no other package, because a cache keeps it."""
    write(tmp_path, packages(LONG, "in", 2, many=True) | packages(LONG, "before", many=True))
    write(tmp_path, {f"nodes/{number}.yaml": NODES for number in range(PACKAGES)})
    (tmp_path / ".git").mkdir()
    name, *options = verb.split()

    ran = call("fleet", name, "in", "--no-cache", *options, "-v")

    assert ran.code == 1
    assert ran.stdout.startswith(f"{PACKAGES} packages: {PACKAGES} failing\n")
    assert PACKAGES <= len(fills) <= 2 * PACKAGES
    assert "it needs more than 1 seconds of processor time" in ran.stdout
    assert "did not fill in this template" not in ran.stdout
