"""Wrong usage: exit code 2, one reason on stderr, nothing on stdout."""

from __future__ import annotations

import re
import shlex
from importlib.metadata import version
from pathlib import Path

import pytest

from packwise.cli.arguments import Check, Diff, Explain, Function, Named, Render, Rules, Topologies, parse
from tests.cli.calling import CONFIG, SERVICE, Call, write

COMMANDS = {
    "render in": Render(Named(("in",))),
    "render in -o -": Render(Named(("in",))),
    "render a b -o out --config c.yaml --baseline old": Render(Named(("a", "b"), "c.yaml", "old"), "out"),
    "render --in-place in": Render(Named(("in",)), in_place=True),
    "render a -o out b": Render(Named(("a", "b")), "out"),
    "render - --output=out": Render(Named(("-",)), "out"),
    "check in": Check(Named(("in",))),
    "check in -o json": Check(Named(("in",)), "json"),
    "check in -o sarif": Check(Named(("in",)), "sarif"),
    "check -o text - --baseline old": Check(Named(("-",), None, "old")),
    "diff a b": Diff("a", "b"),
    "diff git:main b --config c.yaml --crds x --crds y": Diff("git:main", "b", "c.yaml", ("x", "y")),
    "diff -o patch --exit-code a -": Diff("a", "-", output="patch", exit_code=True),
    "explain": Explain(Named(())),
    "explain a": Explain(Named(()), "a"),
    "explain a:7 b -o json --baseline c": Explain(Named(("b",), None, "c"), "a:7", as_json=True),
    "explain Kind/a --config d b c": Explain(Named(("b", "c"), "d"), "Kind/a"),
    "topologies": Topologies(Named((".",))),
    "topologies a b -o json --config c.yaml": Topologies(Named(("a", "b"), "c.yaml"), as_json=True),
    "rules": Rules(),
    "rules -o json": Rules(as_json=True),
    "rules replicas -o text": Rules("replicas"),
    "fn": Function(),
    "fn --validate": Function(validate=True),
}


@pytest.mark.parametrize("words", COMMANDS)
def test_commands(words: str) -> None:
    assert parse(words.split()) == COMMANDS[words]


REFUSED = {
    "": "packwise: error: the following arguments are required: COMMAND",
    "render": "packwise render: error: the following arguments are required: PATH",
    "check": "packwise check: error: the following arguments are required: PATH",
    "render in --in-pl": "packwise render: error: unrecognized arguments: --in-pl",
    "render in -o out --in-place": "packwise render: error: argument --in-place: not allowed with argument -o/--output",
    "rules a b": "packwise rules: error: unrecognized arguments: b",
    "rules topology-hierachy": 'error: there is no rule "topology-hierachy"; did you mean "topology-hierarchy"?',
    "rules x": 'error: there is no rule "x"; `packwise rules` lists them',
    "diff in": "packwise diff: error: the following arguments are required: B",
    "diff a b c": "packwise diff: error: unrecognized arguments: c",
    "diff in nothing": 'error: "nothing" does not exist',
    "diff in in --config nothing": 'error: "nothing" does not exist',
    "diff - -": 'error: "-" must stand once: stdin can be read for one purpose only',
    "diff - in --config -": 'error: "-" must stand once: stdin can be read for one purpose only',
    "diff git:main -": 'error: "git:main" must name a path too, as in git:main:clusters/west',
    "diff git:main: in": 'error: "git:main:" must name a path too, as in git:main:clusters/west',
    "diff git:main in": 'error: "in" must be in a git repository to be read from a commit; git rev-parse says: '
    "fatal: not a git repository (or any of the parent directories): .git",
    "diff in in --crds empty": 'error: no YAML files in "empty"; it must hold a *.yaml, *.yml or *.json that is not '
    "hidden",
    "topologies nothing": 'error: "nothing" does not exist',
    "fn in": "packwise fn: error: unrecognized arguments: in",
    "render nothing": 'error: "nothing" does not exist',
    "render in nothing": 'error: "nothing" does not exist',
    "check in --config nothing": 'error: "nothing" does not exist',
    "check in --baseline nothing": 'error: "nothing" does not exist',
    "check in --baseline git:main": 'error: "in" must be in a git repository to be read from a commit; git '
    "rev-parse says: fatal: not a git repository (or any of the parent directories): .git",
    "check - --baseline git:main": 'error: --baseline "git:main" must go with files or folders: git does not know what '
    "stdin held",
    "check empty": 'error: no YAML files in "empty"; it must hold a *.yaml, *.yml or *.json that is not hidden',
    "check - --config -": 'error: "-" must stand once: stdin can be read for one purpose only',
    "check - --baseline -": 'error: "-" must stand once: stdin can be read for one purpose only',
    "check in --config two.yaml": 'error: --config "two.yaml" must hold one TopologyRender; got 2 objects',
    "check in --config text.yaml": 'error: --config "text.yaml" must hold one TopologyRender; got no object',
    "render in -o in/topology.yaml": 'error: -o must name a folder; got "in/topology.yaml"',
    "render in -o ''": 'error: -o must name a folder; got ""',
    "render in --in-place two.yaml": 'error: --in-place must be given with one folder; got "in" "two.yaml"',
    "render --in-place two.yaml": 'error: --in-place must be given with one folder; got "two.yaml"',
    "render --in-place -": 'error: --in-place must be given with one folder; got "-"',
    "render in/web other -o out": 'error: "in/web/service.yaml" and "other/service.yaml" would both be written to '
    '"service.yaml"; render them one by one',
}


@pytest.mark.usefixtures("package")
@pytest.mark.parametrize("words", REFUSED)
def test_wrong_usage(words: str, call: Call, tmp_path: Path) -> None:
    write(tmp_path, {"two.yaml": f"{CONFIG}---\n{CONFIG}", "text.yaml": "a: 1\n", "other/service.yaml": SERVICE})
    write(tmp_path, {"empty/.hidden.yaml": SERVICE, "empty/.git/a.yaml": SERVICE, "empty/a.txt": SERVICE})

    ran = call(*shlex.split(words))

    assert (ran.code, ran.stdout, ran.stderr.splitlines()[-1]) == (2, "", REFUSED[words])
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "words",
    [
        ["--help"],
        ["render", "--help"],
        ["check", "-h"],
        ["diff", "--help"],
        ["explain", "--help"],
        ["topologies", "--help"],
        ["rules", "--help"],
        ["fn", "--help"],
    ],
)
def test_help_shows_examples_and_exit_codes(words: list[str], call: Call) -> None:
    ran = call(*words)

    assert (ran.code, ran.stderr) == (0, "")
    command = " ".join(["packwise", *words[:-1]])
    assert ran.stdout.startswith(f"usage: {command} [-h]")
    assert f"\n  {command} " in ran.stdout or f"| {command}" in ran.stdout
    assert re.search("\nexit codes: 0 no error, (1 errors were found|2 wrong usage)", ran.stdout)


def test_help_is_as_wide_on_every_terminal(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    wide = call("render", "--help")
    monkeypatch.setenv("COLUMNS", "40")

    assert call("render", "--help") == wide


def test_version(call: Call) -> None:
    ran = call("--version")

    assert (ran.code, ran.stdout, ran.stderr) == (0, f"packwise {version('packwise')}\n", "")
