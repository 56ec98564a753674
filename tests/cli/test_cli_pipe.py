"""Stdin in a pipe: a failed command before packwise is an error, and the message about joined files names
the reason.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cli.calling import CONFIG, WORKLOAD, Call

if TYPE_CHECKING:
    from pathlib import Path

EMPTY = (
    "error: stdin has no Kubernetes object; run the previous command of the pipe alone to see if it failed [readable]"
)
JOINED = 'if a second object begins here, separate the objects with a line "---": cat joins files without one'


@pytest.mark.parametrize("stdin", ["", "\n", "hello\n", "# a comment\n---\n", '{"a": 1}\n', "- a\n"])
@pytest.mark.parametrize("command", ["check", "render", "explain", "doctor", "topologies"])
def test_stdin_without_an_object_is_an_error(call: Call, command: str, stdin: str) -> None:
    ran = call(command, "-", stdin=stdin)

    assert ran.code == 1
    assert EMPTY in ran.stdout + ran.stderr
    assert "hello" not in ran.stdout.splitlines()


@pytest.mark.parametrize(
    "stdin",
    [
        "apiVersion: v1\nkind: Service\nmetadata: {name: a}\n",
        "apiVersion: v1\nkind: List\nitems: []\n",
        "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n",
        "pools: {}\n---\napiVersion: v1\nkind: Service\nmetadata: {name: a}\n",
    ],
)
def test_an_object_that_is_no_workload_is_enough(call: Call, stdin: str) -> None:
    assert call("check", "-", stdin=stdin).code == 0


def test_files_that_cat_joined_are_explained(call: Call) -> None:
    ran = call("check", "-", stdin=CONFIG + WORKLOAD)

    assert ran.code == 1
    assert JOINED in ran.stdout


def test_a_repeated_key_within_an_object_is_not_two_files(call: Call) -> None:
    ran = call("check", "-", stdin="apiVersion: v1\nkind: Pod\nmetadata: {name: a, name: b}\n")

    assert ran.code == 1
    assert JOINED not in ran.stdout


def test_a_baseline_on_stdin_may_be_empty(call: Call, package: Path) -> None:
    assert call("check", package.name, "--baseline", "-", stdin="").code == 0
