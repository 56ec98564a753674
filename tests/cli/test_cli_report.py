"""Findings as text and as JSON."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import pytest

from krmfn.result import ResourceRef, Result, ResultField, ResultFile, Severity
from packwise.check.formats import as_json
from packwise.check.options import FORMATS
from packwise.output.findings_text import Checked, as_lines, as_text, count
from packwise.pipeline.rules import rule_table
from packwise.rules.run import RULES_BY_NAME
from tests.cli.calling import CHOSEN, CONFIG, WORKLOAD, Call, Ran, write

Expect = Callable[[str, str], None]

BROKEN = WORKLOAD.replace("rack", "block").replace("minAvailable: 2", "minAvailable: 3")


GOLDENS = {
    "text": "check.txt",
    "json": "check.json",
    "github": "check.github",
    "gitlab": "check.gitlab.json",
    "sarif": "check.sarif",
    "junit": "check.junit.xml",
    "markdown": "check.md",
}


NOTE = "note: without --baseline (as in --baseline git:main) the rules for updates are not checked\n"


@pytest.mark.parametrize("name", GOLDENS)
def test_check(name: str, call: Call, package: Path, assert_expected: Expect) -> None:
    write(package, {"web/workload.yaml": BROKEN})

    ran = call("check", "in", "-o", name)

    assert (ran.code, ran.messages) == (1, "")
    assert_expected(
        f"cli/{GOLDENS[name]}", ran.stdout.replace(f'"version": "{version("packwise")}"', '"version": "VERSION"')
    )


def test_text_is_what_a_check_prints_unless_another_format_is_asked_for(call: Call, package: Path) -> None:
    write(package, {"web/workload.yaml": BROKEN})

    assert call("check", "in") == call("check", "in", "-o", "text")


def test_every_format_has_its_expected_output() -> None:
    assert tuple(GOLDENS) == FORMATS


def test_check_writes_nothing_and_says_so(call: Call, package: Path) -> None:
    ran = call("check", "in")

    last = f"no findings in 3 files{CHOSEN}\n"
    assert (ran.code, ran.stdout, ran.stderr) == (0, "", last)
    assert call("check", "in", "-v").stderr == NOTE + last
    assert call("check", "in", "-q") == Ran(0, "", "")
    assert call("check", "in", "-o", "json").stdout == "[]\n"
    assert list(package.parent.iterdir()) == [package]


def test_where_nothing_is_checked_nothing_asks_for_a_configuration(call: Call) -> None:
    service = "apiVersion: v1\nkind: Service\nmetadata: {name: a}\n"

    ran = call("check", "-", stdin=service)
    listed = call("check", "-", "-o", "json", stdin=service)

    assert ran == Ran(0, "", "1 info (-v lists it) in 1 file; no workload checked\n")
    assert (len(listed.findings), listed.stderr) == (1, "1 info in 1 file; no workload checked\n")


def test_check_against_a_baseline(call: Call, package: Path) -> None:
    write(package.parent, {"old/w.yaml": WORKLOAD.replace("name: router\n      spec", "name: other\n      spec")})

    ran = call("check", "in", "--baseline", "old", "-o", "json")

    assert [f["operatorMessage"] for f in ran.findings] != []
    assert ran.code == 1
    assert call("check", "in", "--baseline", "in", "-o", "json").findings == []


def test_render_and_check_find_the_same(call: Call, package: Path) -> None:
    write(package, {"web/workload.yaml": BROKEN})

    told = call("render", "in").stderr.splitlines()[:-1]

    assert [line for line in call("check", "in").stdout.splitlines() if line and not line.startswith(" ")] == told


FULL = Result(
    'must not; got "\ud800\x1b[31m"',
    Severity.WARNING,
    ResourceRef("v1", "Service", "shop", "wéb"),
    ResultField("spec.a", proposed="x\u200b"),
    ResultFile("a\n.yaml"),
    {"rule": "readable", "line": "3", "column": "4", "operatorMessage": "one\ntwo", "stage": "webhook", "order": "2"},
)
BARE = Result("all of it")
BOTH = Checked((FULL, BARE), 1, {"a\n.yaml": "spec:\r\n\r\na: b\r\n", None: "not this"}.get)


def test_text_shows_the_place_the_operators_text_and_a_proposal() -> None:
    assert as_text(BOTH) == (
        'warning: a .yaml:3:4: Service shop/wéb spec.a: must not; got "\\ud800\\x1b[31m" [readable]\n'
        "  3 | a: b\n"
        "    |    ^\n"
        "  Grove: one\\ntwo\n"
        '  help: set it to "x\\u200b"\n'
        "\n"
        "error: all of it\n"
    )
    assert BOTH.last_line == "1 error, 1 warning in 1 file; no workload checked"


def test_text_without_the_file_shows_no_excerpt() -> None:
    """A client read the file in another place."""
    told = as_text(Checked((FULL,), 1, dict[str | None, str]().get)).splitlines()

    assert [line.split(":")[0] for line in told] == ["warning", "  Grove", "  help", ""]


PLACES = {
    "stdin": (["-"], "a: [", "error: <stdin>:1:5: "),
    "a list": (["list.yaml"], "", "error: list.yaml:9:5: TopologyRender topology spec.typo: "),
    "the configuration": (
        ["in/web", "--config", "typo.yaml"],
        "",
        "error: typo.yaml:6:3: TopologyRender topology spec",
    ),
}


@pytest.mark.parametrize("case", PLACES)
def test_text_shows_whatever_was_read(case: str, call: Call, package: Path) -> None:
    words, stdin, start = PLACES[case]
    typo = CONFIG.replace("spec:\n", "spec:\n  typo: 1\n")
    items = "".join(f"{'- ' if at == 0 else '  '}{line}\n" for at, line in enumerate(typo.splitlines()))
    head = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n"
    write(package.parent, {"typo.yaml": typo, "list.yaml": head + items})

    told = call("check", *words, stdin=stdin).stdout.splitlines()

    assert told[0].startswith(start)
    number, column = (int(part) for part in told[0].split(":")[2:4])
    assert any(re.match(rf"  {number} \| ", line) for line in told)
    assert f"{' ' * (len(str(number)) + 2)} | {' ' * (column - 1)}^" in [line.rstrip("~") for line in told]


def test_colours_are_for_the_severity_alone() -> None:
    assert as_lines([BARE, Result("a", Severity.INFO)], coloured=True) == [
        "\x1b[31merror\x1b[0m: all of it",
        "\x1b[36minfo\x1b[0m: a",
    ]


@pytest.mark.parametrize(
    ("terminal", "no_color", "coloured"),
    [(True, None, True), (True, "", True), (True, "1", False), (False, None, False)],
)
def test_colours_are_for_terminals(
    terminal: bool, no_color: str | None, coloured: bool, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    monkeypatch.delenv("NO_COLOR", raising=False)
    if no_color is not None:
        monkeypatch.setenv("NO_COLOR", no_color)

    assert call("render", "-", stdin="a: [").stderr.startswith("\x1b[31merror\x1b[0m: <stdin>:") == coloured
    # Output into a pipe has no colours, even if stderr is a terminal.
    assert call("check", "-", stdin="a: [").stdout.startswith("error: <stdin>:")


def test_a_check_is_coloured_where_stdout_is_a_terminal(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.delenv("NO_COLOR", raising=False)

    assert call("check", "-", stdin="a: [").stdout.splitlines()[1:3] == [
        "\x1b[2m  1 |\x1b[0m a: [",
        "\x1b[2m    |\x1b[0m     \x1b[31m^\x1b[0m",
    ]
    assert "\x1b" not in call("check", "-", "-o", "github", stdin="a: [").stdout


def test_json_of_much_and_of_little() -> None:
    assert as_json(BOTH) == (
        """\
[
  {
    "rule": "readable",
    "severity": "warning",
    "message": "must not; got \\"\\ud800\\u001b[31m\\"",
    "operatorMessage": "one\\ntwo",
    "stage": "webhook",
    "order": 2,
    "path": "spec.a",
    "resource": {
      "apiVersion": "v1",
      "kind": "Service",
      "namespace": "shop",
      "name": "wéb"
    },
    "file": "a\\n.yaml",
    "line": 3,
    "column": 4,
    "help": "HELP"
  },
  {
    "rule": "",
    "severity": "error",
    "message": "all of it",
    "path": "",
    "resource": {
      "apiVersion": "",
      "kind": "",
      "namespace": "",
      "name": ""
    },
    "file": null,
    "line": null,
    "column": null,
    "help": ""
  }
]
""".replace("HELP", RULES_BY_NAME["readable"].summary)
    )


@pytest.mark.parametrize(
    ("severities", "text"),
    [
        ([], ""),
        ([Severity.INFO], "1 info"),
        ([Severity.WARNING, Severity.ERROR, Severity.WARNING], "1 error, 2 warnings"),
        ([Severity.ERROR] * 2 + [Severity.INFO] * 2, "2 errors, 2 infos"),
    ],
)
def test_count(severities: list[Severity], text: str) -> None:
    assert count([Result("", severity) for severity in severities]) == text


def test_half_a_surrogate_pair_is_printed_as_an_escape(call: Call) -> None:
    """YAML cannot contain one, but JSON can."""
    config = '"functionConfig":{"apiVersion":"packwise.dev/v1alpha1","kind":"TopologyRender","spec":{"a\\ud800":1}}'
    text = f'{{"apiVersion":"config.kubernetes.io/v1","kind":"ResourceList",{config},"items":[]}}'

    checked, rendered = call("check", "-", "-o", "json", stdin=text), call("render", "-", stdin=text)

    assert (checked.code, rendered.code) == (1, 1)
    assert "a\\ud800" in checked.findings[0]["message"].encode("unicode_escape").decode()
    assert "a\\ud800" in rendered.stderr


def test_every_rule_has_a_name_of_its_own_and_a_summary() -> None:
    names = [rule.name for rule in rule_table()]

    assert sorted(names) == sorted(set(names))
    assert {"outside-link", "output-path"}.isdisjoint(names)
    wrong = [rule.name for rule in RULES_BY_NAME.values() if not rule.summary.endswith(".") or "\n" in rule.summary]
    assert wrong == []


PLAIN = WORKLOAD.replace("    topologyConstraint: {packDomain: rack}\n", "")


@pytest.mark.parametrize(
    ("workload", "severity"),
    [
        (PLAIN, None),
        (PLAIN.replace("roleName:", "label: topologyConstraint\n        roleName:"), None),
        (WORKLOAD, "error"),
        # The workload is refused for another reason, so its constraint is not checked.
        (WORKLOAD.replace("replicas: 1", "replicas: many"), "warning"),
        (PLAIN.replace("- name: router\n", "- name: router\n      topologyConstraint: {packDomain: 1}\n"), "warning"),
    ],
)
def test_a_configuration_is_missed_where_a_workload_has_a_constraint(
    workload: str, severity: str | None, call: Call
) -> None:
    findings = call("check", "-", "-o", "json", stdin=workload).findings

    said = [each["severity"] for each in findings if each["rule"] == "configuration-absent"]
    assert said == ([] if severity is None else [severity])


def test_another_place_in_stdin_is_named_by_its_object(call: Call) -> None:
    second = CONFIG.replace("name: topology\n", "name: more\n")
    stdins = {
        f"{WORKLOAD}---\n{WORKLOAD}": "the other one is <stdin>:2:1 PodCliqueSet shop/web. ",
        f"{CONFIG}---\n{second}---\n{WORKLOAD}": "the other one is <stdin>:1:1 TopologyRender topology. ",
    }
    for stdin, expected in stdins.items():
        messages = [each["message"] for each in call("check", "-", "-o", "json", stdin=stdin).findings]
        assert any(expected in message for message in messages), messages


def test_a_variable_of_flux_is_a_text_and_no_number(call: Call) -> None:
    text = PLAIN.replace('router:1"', 'router:${TAG}", args: ["--model=${MODEL}"]')

    assert [each for each in call("check", "-", "-o", "json", stdin=text).findings if each["severity"] == "error"] == []
    for old, new in (("replicas: 1", "replicas: ${NUMBER}"), ("namespace: shop", "namespace: ${TEAM}")):
        findings = call("check", "-", "-o", "json", stdin=text.replace(old, new)).findings
        warning = next(each for each in findings if each["rule"] == "placeholder")
        value = new.partition(": ")[2]
        assert warning["message"] == f'"{value}" contains a placeholder; replace it first, then check the result'
        assert "error" not in {each["severity"] for each in findings}
