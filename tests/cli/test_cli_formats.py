"""Findings in the formats of GitHub, GitLab and SARIF, for cases that testdata/cli/ does not have."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import xmlschema

from krmfn.result import ResourceRef, Result, ResultField, ResultFile, Severity
from packwise.check.formats import as_github, as_gitlab, as_junit, as_sarif
from packwise.output.findings_text import Checked
from packwise.output.known_findings import fingerprints
from packwise.rules.run import RULES_BY_NAME
from tests.cli.calling import CONFIG, WORKLOAD, Call, write
from tests.places import ROOT, TESTDATA, TOOLS, missing

FULL = Result(
    "must be {1}; got 50%\r\n",
    Severity.WARNING,
    ResourceRef("v1", "Service", "shop", "web"),
    ResultField("spec.a"),
    ResultFile("my files/a:b,c.yaml"),
    {
        "rule": "readable",
        "line": "3",
        "column": "4",
        "operatorMessage": "a: {…}\n100%",
        "stage": "webhook",
        "order": "0",
    },
)
BARE = Result("all of it", Severity.INFO)
STDIN = FULL.replace(file=None, resource_ref=None, field=None, tags={"rule": "readable", "line": "3", "column": "4"})


def checked(*results: Result) -> Checked:
    return Checked(results, 1, dict[str | None, str]().get)


def sarif(*results: Result) -> dict[str, Any]:
    return json.loads(as_sarif(checked(*results)))["runs"][0]


COMMANDS = {
    "properties escape more than the message": (
        FULL,
        "::warning file=my files/a%3Ab%2Cc.yaml,line=3,col=4,title=packwise (readable)::"
        "my files/a:b,c.yaml:3:4: Service shop/web spec.a: must be {1}; got 50%25%0D  [readable]"
        "%0AGrove: a: {…}%0A100%25\n",
    ),
    "an info is a notice": (BARE, "::notice title=packwise::all of it\n"),
    "stdin has no file to show": (
        STDIN,
        "::warning title=packwise (readable)::<stdin>:3:4: must be {1}; got 50%25%0D  [readable]\n",
    ),
}


@pytest.mark.parametrize("case", COMMANDS)
def test_github(case: str) -> None:
    result, command = COMMANDS[case]

    assert as_github(checked(result)) == command


def test_gitlab_wants_a_path_and_a_line_of_everything() -> None:
    found = json.loads(as_gitlab(checked(FULL, STDIN, BARE)))

    assert [(one["severity"], one["location"]) for one in found] == [
        ("minor", {"path": "my files/a:b,c.yaml", "lines": {"begin": 3}}),
        ("minor", {"path": ".", "lines": {"begin": 3}}),
        ("info", {"path": ".", "lines": {"begin": 1}}),
    ]
    assert found[0]["description"] == "Service shop/web spec.a: must be {1}; got 50%\r\n (Grove: a: {…}\n100%)"


def test_nothing_found() -> None:
    assert as_github(checked()) == ""
    assert as_gitlab(checked()) == "[]\n"
    assert (sarif()["results"], sarif()["tool"]["driver"]["rules"]) == ([], [])


def test_sarif_of_much_and_of_little() -> None:
    full, bare = sarif(FULL, BARE)["results"]

    assert full["message"] == {"text": "Service shop/web spec.a: must be {{1}}; got 50%\r\n. Grove: a: {{…}}\n100%"}
    assert full["properties"] == {"operatorMessage": "a: {…}\n100%", "stage": "webhook"}
    assert bare == {
        "level": "note",
        "message": {"text": "all of it."},
        "partialFingerprints": bare["partialFingerprints"],
    }


ADDRESSES = {
    "a/b.yaml": {"uri": "a/b.yaml", "uriBaseId": "%SRCROOT%"},
    "my files/é#%.yaml": {"uri": "my%20files/%C3%A9%23%25.yaml", "uriBaseId": "%SRCROOT%"},
    "a:b.yaml": {"uri": "a%3Ab.yaml", "uriBaseId": "%SRCROOT%"},
    "../a.yaml": {"uri": "../a.yaml", "uriBaseId": "%SRCROOT%"},
    "/builds/a b.yaml": {"uri": "file:///builds/a%20b.yaml"},
}


@pytest.mark.parametrize("path", ADDRESSES)
def test_sarif_addresses(path: str) -> None:
    found = sarif(FULL.replace(file=ResultFile(path)))["results"][0]["locations"][0]["physicalLocation"]

    assert found == {"artifactLocation": ADDRESSES[path], "region": {"startLine": 3, "startColumn": 4}}


def test_sarif_of_stdin_has_no_address() -> None:
    assert "locations" not in sarif(STDIN)["results"][0]


def test_sarif_rules_are_those_that_occur_once_and_in_order() -> None:
    def of(name: str) -> Result:
        return FULL.replace(tags={"rule": name})

    run = sarif(of("replicas"), of("cliques"), of("replicas"), of("a rule of another function"))

    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["cliques", "replicas"]
    assert [result.get("ruleIndex") for result in run["results"]] == [1, 0, 1, None]


def test_fingerprints_stay_when_lines_move_and_texts_change() -> None:
    moved = FULL.replace(message="reworded", tags={**FULL.tags, "line": "30", "operatorMessage": "reworded"})

    assert fingerprints([moved]) == fingerprints([FULL])


def test_fingerprints_tell_findings_apart() -> None:
    others = [
        FULL.replace(tags={**FULL.tags, "rule": "replicas"}),
        FULL.replace(resource_ref=ResourceRef("v1", "Service", "shop", "other")),
        FULL.replace(field=ResultField("spec.b")),
        FULL.replace(file=ResultFile("b.yaml")),
        FULL.replace(message="a second one of the same field"),
    ]

    assert len(set(fingerprints([FULL, *others, BARE, STDIN]))) == 8


def test_sarif_keeps_the_schema_of_its_standard() -> None:
    path = TOOLS / "sarif-2.1.0-rtm.4.json"
    if not path.exists():
        missing(f"the schema of SARIF 2.1.0 is not there: `make tools` puts it at {path.relative_to(ROOT)}")
    schema = json.loads(path.read_text(encoding="utf-8"))
    results = [FULL, BARE, STDIN, *(FULL.replace(tags={**FULL.tags, "rule": name}) for name in RULES_BY_NAME)]

    validator: Any = jsonschema.Draft4Validator(schema, format_checker=jsonschema.Draft4Validator.FORMAT_CHECKER)

    assert list(validator.iter_errors(json.loads(as_sarif(checked(*results))))) == []


@pytest.mark.parametrize(("reason", "more"), [("", {}), ("its {cluster}", {"justification": "its {cluster}"})])
def test_sarif_says_what_a_comment_ignores(reason: str, more: dict[str, str]) -> None:
    ignored = FULL.replace(severity=Severity.INFO, tags={**FULL.tags, "ignored": reason})

    (result,) = sarif(ignored)["results"]
    assert (result["level"], result["suppressions"]) == ("note", [{"kind": "inSource", **more}])


JUNIT = """\
<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="packwise">
  <testsuite name="packwise" tests="1" failures="0" errors="0" skipped="0" time="0">
    <testcase classname="packwise" name="finding" time="0">
      <system-out>info: packwise: all of it</system-out>
    </testcase>
  </testsuite>
  <testsuite name="my files/a:b,c.yaml" tests="2" failures="1" errors="0" skipped="0" time="0">
    <testcase classname="my files/a:b,c.yaml" name="readable Service shop/web spec.a" time="0">
      <failure type="readable" message="\\x00&lt;a&gt; &amp; &quot;b&quot;\\ud800">error: my files/a:b,c.yaml:3: \
Service shop/web spec.a: \\x00&lt;a&gt; &amp; "b"\\ud800
Grove: a: {…}\\n100%</failure>
    </testcase>
    <testcase classname="my files/a:b,c.yaml" name="readable Service shop/web spec.a (2)" time="0">
      <system-out>warning: my files/a:b,c.yaml:3: Service shop/web spec.a: must be {1}; got 50%\\r\\n
Grove: a: {…}\\n100%</system-out>
    </testcase>
  </testsuite>
</testsuites>
"""


def test_junit_has_a_suite_for_each_file_and_no_character_that_xml_refuses() -> None:
    failing = FULL.replace(severity=Severity.ERROR, message='\x00<a> & "b"\ud800')

    assert as_junit(checked(BARE, failing, FULL)) == JUNIT


OF_EVERY_RULE = tuple([
    FULL.replace(tags={**FULL.tags, "rule": name}, severity=severity)
    for name in RULES_BY_NAME
    for severity in Severity
])  # fmt: skip


@pytest.mark.parametrize("results", [(), (FULL, BARE), (STDIN, BARE, BARE), OF_EVERY_RULE], ids=len)
def test_junit_is_what_its_schema_says(results: tuple[Result, ...]) -> None:
    schema: Any = xmlschema.XMLSchema(TESTDATA / "junit" / "junit.xsd")

    # This raises an error if the text is invalid.
    suites = schema.to_dict(as_junit(checked(*results)))["testsuite"]

    assert [(suite["@tests"], suite["@failures"]) for suite in suites] == [
        (len(suite["testcase"]), sum("failure" in case for case in suite["testcase"])) for suite in suites
    ]


def test_junit_without_findings_has_a_case_that_passes() -> None:
    assert as_junit(checked()).splitlines()[2:4] == [
        '  <testsuite name="packwise" tests="1" failures="0" errors="0" skipped="0" time="0">',
        '    <testcase classname="packwise" name="no findings" time="0" />',
    ]


@pytest.mark.parametrize("words", ["check -o sarif", "check -o json", "comment", "report -o page.html"])
def test_a_name_that_is_not_utf8_is_no_traceback(words: str, call: Call, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / os.fsdecode(b"w\xff.yaml")).write_text(WORKLOAD.replace("rack", "block"), encoding="utf-8")
    write(tmp_path, {"in/c.yaml": CONFIG})

    ran = call(*words.split(), "in")

    assert ran.code == 1
    assert "Traceback" not in ran.stderr
    if "sarif" in words:
        assert "in/w%FF.yaml" in ran.stdout
