"""An unexpected exception causes a separate exit code and one line, without a traceback."""

from __future__ import annotations

import pytest

from tests.cli.calling import Call


def fail(*_: object) -> None:
    raise IndexError("##[stop-commands]x")


@pytest.mark.usefixtures("package")
@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("check in", "packwise.check.run.read_groups"),
        ("render in", "packwise.render.run.read_inputs"),
        ("topologies in", "packwise.topologies.run.read_used_inputs"),
        ("comment in", "packwise.comment.run.read_groups"),
    ],
)
def test_it_has_an_exit_code_of_its_own(words: str, name: str, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(name, fail)

    ran = call(*words.split())

    line = fail.__code__.co_firstlineno + 1
    assert (ran.code, ran.stderr) == (
        70,
        f"error: internal error: IndexError: \\x23#[stop-commands]x at test_cli_internal_error.py:{line} in fail; "
        "this is a bug, please report it\n",
    )


@pytest.mark.usefixtures("package")
def test_a_comment_says_so(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("packwise.comment.run.check_groups", fail)

    ran = call("comment", "in")

    assert ran.stdout.startswith("<!-- packwise comment in -->\n### packwise failed\n")
