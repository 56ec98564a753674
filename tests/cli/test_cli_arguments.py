"""Wrong arguments cause exit code 2, one reason on stderr, and nothing on stdout."""

from __future__ import annotations

import platform
import re
import shlex
from importlib.metadata import version
from pathlib import Path

import pytest

from packwise.check.options import CheckOptions, FindingChoice, Fix, Output
from packwise.cli.command_line import COMMANDS as ENTRIES
from packwise.cli.command_line import parse
from packwise.commands.fn import Function
from packwise.commands.version import Version
from packwise.diff.options import Diff
from packwise.doctor.options import Doctor
from packwise.explain.options import Explain
from packwise.init.options import Init
from packwise.inputs.request import Named, Verbosity
from packwise.render.options import Render
from packwise.revisions.grove import NEWEST
from packwise.rules.options import Rules
from packwise.schema.options import SchemaOptions
from packwise.topologies.options import Topologies
from tests.cli.calling import CONFIG, SERVICE, Call, write
from tests.places import ROOT

COMMANDS = {
    "render in": Render(Named(("in",))),
    "render in -o -": Render(Named(("in",))),
    "render a b -o out --config c.yaml --baseline old": Render(Named(("a", "b"), "c.yaml", "old"), "out"),
    "render --in-place in": Render(Named(("in",)), in_place=True),
    "render a -o out b": Render(Named(("a", "b")), "out"),
    "render - --output=out": Render(Named(("-",)), "out"),
    "check in": CheckOptions(Named(("in",))),
    "check in -o json": CheckOptions(Named(("in",)), (Output("json"),)),
    "check in -o sarif": CheckOptions(Named(("in",)), (Output("sarif"),)),
    "check in -o junit=- -o sarif=a=b.sarif": CheckOptions(
        Named(("in",)), (Output("junit"), Output("sarif", "a=b.sarif"))
    ),
    "check in --fix --unsafe-fixes --diff -q": CheckOptions(
        Named(("in",)), fix=Fix(unsafe=True, show=True), verbosity=Verbosity.QUIET
    ),
    "check --ignore a,b --ignore c --select d in --known k --max-warnings 0 -v": CheckOptions(
        Named(("in",)), choice=FindingChoice(("a", "b", "c"), ("d",), "k", None, 0), verbosity=Verbosity.VERBOSE
    ),
    "check -o text - --baseline old": CheckOptions(Named(("-",), None, "old")),
    "check in --force-exclude": CheckOptions(Named(("in",), force_exclude=True)),
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
    "init": Init("."),
    "init west --for kpt --for github --from a --from - --level rack=a/b --revision upstream --apply": Init(
        "west", ("kpt", "github"), ("a", "-"), (("rack", "a/b"),), "upstream", apply=True
    ),
    "init --no-apply": Init(".", apply=False),
    "doctor": Doctor(Named((".",))),
    "doctor a b -o json --config c.yaml": Doctor(Named(("a", "b"), "c.yaml"), as_json=True),
    "schema": SchemaOptions(),
    "schema PodCliqueSet --revision v0.1.0-alpha.7": SchemaOptions("PodCliqueSet", "v0.1.0-alpha.7"),
    "version": Version(),
    "version -v": Version(libraries=True),
    "fn": Function(),
    "fn --validate": Function(validate=True),
}


@pytest.mark.parametrize("words", COMMANDS)
def test_commands(words: str) -> None:
    assert parse(words.split()).arguments == COMMANDS[words]


REFUSED = {
    **{
        f"{command} --jobs{number}": f"packwise {command.partition(' ')[0]}: error: unrecognized arguments: "
        f"--jobs{number}; remove it: only packwise fleet has --jobs, and one process handles a package"
        for command in ("fn", "check in", "render in -o out", "diff a b")
        for number in ("", " 2", "=2")
    },
    "render": "packwise render: error: the following arguments are required: PATH",
    "render in --in-pl": 'packwise render: error: unrecognized arguments: --in-pl; did you mean "--in-place"?',
    "render in -o out --in-place": "packwise render: error: argument --in-place: not allowed with argument -o/--output",
    "check in -o yaml": "packwise check: error: argument -o/--output: must be one of text, json, github, gitlab, "
    'sarif, junit, markdown, or one with a file (sarif=packwise.sarif); got "yaml"',
    "check in -o json=": 'packwise check: error: argument -o/--output: "json=" must name a file after the equals sign',
    "check in -o json -o text": "packwise check: error: -o names stdout more than once; name a different file for "
    "each format (sarif=packwise.sarif)",
    "check in -o json=a -o sarif=a": 'packwise check: error: -o names "a" more than once; name a different file for '
    "each format (sarif=packwise.sarif)",
    "check in --known k --write-findings w": "packwise check: error: --write-findings conflicts with --known: it "
    "writes all findings",
    "check in --diff": "packwise check: error: --diff needs --fix",
    "check in --unsafe-fixes": "packwise check: error: --unsafe-fixes needs --fix",
    "check in --max-warnings -1": "packwise check: error: argument --max-warnings: must be a number from 0 on; "
    'got "-1"',
    "check in --max-warnings x": 'packwise check: error: argument --max-warnings: must be a number from 0 on; got "x"',
    "check in --select queue-mising": 'error: there is no rule "queue-mising"; did you mean "queue-missing"?',
    "check in --ignore x": 'error: there is no rule "x"; `packwise rules` lists them',
    "check in --ignore cliques": 'error: --ignore accepts only rules of warnings and infos, but "cliques" reports '
    "errors, which the cluster refuses. Ignore one at its line: `# packwise: ignore[cliques] reason`",
    "rules a b": "packwise rules: error: unrecognized arguments: b",
    "rules topology-hierachy": 'error: there is no rule "topology-hierachy"; did you mean "topology-hierarchy"?',
    "rules x": 'error: there is no rule "x"; `packwise rules` lists them',
    "diff in": "packwise diff: error: pass either B (the state after) or --cluster",
    "diff a b c": "packwise diff: error: unrecognized arguments: c",
    "diff in nothing": 'error: "nothing" does not exist',
    "diff in in --config nothing": 'error: "nothing" does not exist',
    "diff - -": 'error: "-" is given twice, but packwise can read stdin only once',
    "diff - in --config -": 'error: "-" is given twice, but packwise can read stdin only once',
    "diff git:main -": 'error: "git:main" needs a path too, as in git:main:clusters/west',
    "diff git:main: in": 'error: "git:main:" needs a path too, as in git:main:clusters/west',
    "diff git:main in": 'error: cannot read "in" from a commit, because it is not in a git repository; git rev-parse '
    "reports: fatal: not a git repository (or any of the parent directories): .git",
    "diff in in --crds empty": 'error: "empty" has no YAML files; packwise reads *.yaml, *.yml and *.json files that '
    "are not hidden",
    "topologies nothing": 'error: "nothing" does not exist',
    "schema Topologyrender": 'error: there is no schema "Topologyrender", known: "TopologyRender", "PodCliqueSet"; '
    'did you mean "TopologyRender"?',
    "schema --revision upstream": "error: --revision needs a kind: packwise schema PodCliqueSet --revision …",
    "schema TopologyRender --revision upstream": "error: --revision needs PodCliqueSet: TopologyRender is the same for "
    "all releases",
    "fn --validat": 'packwise fn: error: unrecognized arguments: --validat; did you mean "--validate"?',
    "doctor nothing": 'error: "nothing" does not exist',
    "fn in": "packwise fn: error: unrecognized arguments: in",
    "render nothing": 'error: "nothing" does not exist',
    "check https://example.com/a.yaml": 'error: "https://example.com/a.yaml" does not exist; packwise does not open '
    "URLs: pass the file on stdin, curl -fsSL https://example.com/a.yaml | "
    "packwise COMMAND -",
    "render empty/*.yaml": 'error: "empty/*.yaml" does not exist; no file matches this glob: pass the folder, "empty"',
    "check *.yml": 'error: "*.yml" does not exist; no file matches this glob: pass the folder, "."',
    "check nothing/[a-z].yaml": 'error: "nothing/[a-z].yaml" does not exist',
    "render in nothing": 'error: "nothing" does not exist',
    "check in --config nothing": 'error: "nothing" does not exist',
    "check in --baseline nothing": 'error: "nothing" does not exist',
    "check in --baseline git:main": 'error: cannot read "in" from a commit, because it is not in a git repository; '
    "git rev-parse reports: fatal: not a git repository (or any of the parent "
    "directories): .git",
    "check - --baseline git:main": 'error: --baseline "git:main" needs files or folders, because git has no earlier '
    "version of stdin",
    "check empty": (
        'error: "empty" has no YAML files; packwise reads *.yaml, *.yml and *.json files that are not hidden'
    ),
    "check - --config -": 'error: "-" is given twice, but packwise can read stdin only once',
    "check - --baseline -": 'error: "-" is given twice, but packwise can read stdin only once',
    "check in --config two.yaml": 'error: --config "two.yaml" must contain one TopologyRender or '
    "OperatorConfiguration; got 2 objects",
    "check in --config text.yaml": 'error: --config "text.yaml" must contain one TopologyRender or '
    "OperatorConfiguration; got no object",
    "render in -o in/topology.yaml": 'error: -o needs a folder; got "in/topology.yaml"',
    "render in -o ''": 'error: -o needs a folder; got ""',
    "render in --in-place two.yaml": 'error: --in-place needs one folder; got "in" "two.yaml"',
    "render --in-place two.yaml": 'error: --in-place needs one folder; got "two.yaml"',
    "render --in-place -": 'error: --in-place needs one folder; got "-"',
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
        ["init", "--help"],
        ["doctor", "--help"],
        ["schema", "--help"],
        ["version", "--help"],
        ["fn", "--help"],
    ],
)
def test_help_shows_examples_and_exit_codes(words: list[str], call: Call) -> None:
    ran = call(*words)

    assert (ran.code, ran.stderr) == (0, "")
    command = " ".join(["packwise", *words[:-1]])
    assert ran.stdout.startswith(f"usage: {command} [-h]")
    assert f"\n  {command} " in ran.stdout or f"| {command}" in ran.stdout
    assert re.search("\nexit codes: 0 no error, (1 errors were found|2 wrong usage|1 the output could not)", ran.stdout)


@pytest.mark.parametrize("name", ENTRIES)
def test_help_is_as_wide_as_the_terminal(call: Call, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    wide = call(name, "--help").stdout
    monkeypatch.setenv("COLUMNS", "60")
    narrow = call(name, "--help").stdout

    assert max(map(len, wide.splitlines())) <= 120
    # An option with its choices has no place at which its line could be wrapped.
    assert [line for line in narrow.splitlines() if len(line) > 60 and line.strip()[0] not in "[-"] == []


@pytest.mark.parametrize("name", ENTRIES)
def test_a_command_in_the_help_can_be_copied_at_any_width(
    call: Call, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    lines = call(name, "--help").stdout.splitlines()

    assert [line for line in lines if line.endswith("\\") and " # " in line] == []


def test_the_comment_of_a_wide_command_comes_before_it(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")

    assert (
        """
  # pods that a change moves
  packwise place clusters/west --nodes nodes.json --baseline git:origin/main
"""
        in call("place", "--help").stdout
    )


def test_without_a_command_the_help_is_shown(call: Call) -> None:
    assert call() == call("--help")


def test_version(call: Call) -> None:
    ran = call("--version")

    assert (ran.code, ran.stdout, ran.stderr) == (0, f"packwise {version('packwise')}\n", "")


@pytest.mark.parametrize("name", ["-q.yaml", "--config=x.yaml", "-o.yaml", "--.yaml", "--help", "-v"])
@pytest.mark.parametrize(
    "words", ["check -q --", "check --", "check -o json -- a.yaml", "check a.yaml --", "render --"]
)
def test_what_follows_two_dashes_is_no_option(name: str, words: str, call: Call, tmp_path: Path) -> None:
    write(tmp_path, {name: "a: [\n", "a.yaml": "a: 1\n"})

    ran = call(*words.split(), name)

    assert ran.code == 1
    assert f"{name}:" in ran.stdout + ran.stderr or f'"file": "{name}"' in ran.stdout


def test_one_dash_is_stdin_after_two(call: Call) -> None:
    assert call("check", "--", "-", stdin="a: [\n").stdout.startswith("error: <stdin>")


@pytest.mark.parametrize(
    ("words", "near"), [("chek in", "check"), ("render in -o x --in-plce", "--in-place"), ("inti", "init")]
)
def test_the_near_name_is_suggested(words: str, near: str, call: Call) -> None:
    ran = call(*words.split())

    assert (ran.code, ran.stdout) == (2, "")
    assert ran.stderr.endswith(f'; did you mean "{near}"?\n')


@pytest.mark.parametrize(
    ("words", "same"), [("help", "--help"), ("help check", "check --help"), ("help fn", "fn --help")]
)
def test_help_of_a_command(words: str, same: str, call: Call) -> None:
    assert call(*words.split()) == call(*same.split())


def test_help_of_no_command(call: Call) -> None:
    ran = call("help", "chekc")

    assert (ran.code, ran.stdout) == (2, "")
    assert ran.stderr.endswith('; did you mean "check"?\n')


def test_version_is_a_command_too(call: Call) -> None:
    assert call("version") == call("--version")


def test_version_of_the_libraries(call: Call) -> None:
    ran = call("version", "-v")

    lines = dict(line.split(" ", 1) for line in ran.stdout.splitlines())
    assert (ran.code, lines["packwise"], lines["pyyaml"]) == (0, version("packwise"), version("pyyaml"))
    assert lines[platform.python_implementation()] == platform.python_version()
    assert {"cel-expr-python", "jsonpatch", "pydantic", "shtab"} <= set(lines)


def test_schemas_are_listed(call: Call) -> None:
    ran = call("schema")

    assert (ran.code, ran.stderr) == (0, "")
    assert "\n  # yaml-language-server: $schema=topologyrender.schema.json\n" in ran.stdout


def test_the_schema_of_the_configuration_is_the_documented_one(call: Call) -> None:
    page = ROOT / "docs" / "reference" / "topologyrender.schema.json"

    assert call("schema", "TopologyRender").stdout == page.read_text(encoding="utf-8")


def test_the_schema_of_a_workload_is_of_the_newest_release_by_default(call: Call) -> None:
    newest = call("schema", "PodCliqueSet")

    assert newest == call("schema", "PodCliqueSet", "--revision", NEWEST.name)
    assert newest != call("schema", "PodCliqueSet", "--revision", "v0.1.0-alpha.13")


def test_a_link_to_nothing_names_its_target(call: Call, tmp_path: Path) -> None:
    (tmp_path / "web.yaml").symlink_to("gone.yaml")

    ran = call("check", "web.yaml")

    assert (ran.code, ran.stderr) == (2, 'error: "web.yaml" does not exist; it is a link to "gone.yaml"\n')
