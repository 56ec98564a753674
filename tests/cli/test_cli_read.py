"""Unreadable input: every error has its place, and nothing else is reported."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO, cast

import pytest

from tests.cli.calling import CHOSEN, CONFIG, SERVICE, WORKLOAD, Call, write

UNREADABLE = {
    "no UTF-8": (b"a: 1\nb: \xff\n", ["a.yaml:2:4: must be UTF-8; got byte 0xff at offset 8"]),
    "UTF-16": ("a: 1\n".encode("utf-16"), ["a.yaml:1:1: must be UTF-8; got byte 0xff at offset 0"]),
    "no YAML, twice": (
        b"ok: 1\n---\na: [\n---\n- b\n---\nc: {}}\n",
        [
            "a.yaml:4:1: did not find expected node content (while parsing a flow node)",
            "a.yaml:7:6: did not find expected key (while parsing a block mapping)",
        ],
    ),
    "a template": (
        b"a: {{ .Values.a }}\n",
        ["a.yaml:1:5: a key must be a string, a number or a boolean; got a mapping or a list"],
    ),
    "a duplicate key": (b"kind: A\nkind: B\n", ['a.yaml:2:1: duplicate key "kind"']),
    "deep": (b"[" * 100_000, ["a.yaml:1:501: nested deeper than 500 levels"]),
    "NUL": (b"a: \0\n", ["a.yaml:1:4: must contain only printable characters; control characters are not allowed"]),
    "a list of no version": (
        b"kind: ResourceList\nitems: []\n",
        [
            'a.yaml:1:1: apiVersion must be one of "config.kubernetes.io/v1", "config.kubernetes.io/v1beta1", '
            '"config.kubernetes.io/v1alpha1"; it is not set'
        ],
    ),
    "a list of texts": (
        b"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: [a]\n",
        ['a.yaml:3:9: items[0] must be a mapping; got "a"'],
    ),
}


@pytest.mark.parametrize("case", UNREADABLE)
@pytest.mark.parametrize("words", ["render a.yaml", "render in -o out --baseline a.yaml", "render in --config a.yaml"])
def test_unreadable(case: str, words: str, call: Call, package: Path) -> None:
    content, reasons = UNREADABLE[case]
    (package.parent / "a.yaml").write_bytes(content)

    ran = call(*words.split())

    number = "1 error" if len(reasons) == 1 else f"{len(reasons)} errors"
    lines = [*(f"error: {reason} [readable]" for reason in reasons), f"{number}: nothing was written"]
    assert (ran.code, ran.stdout, ran.messages.splitlines()) == (1, "", lines)
    assert not (package.parent / "out").exists()


def test_a_file_that_cannot_be_opened(call: Call, package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(name: str, mode: str, buffering: int) -> BinaryIO:
        if name.endswith("a.yaml"):
            raise PermissionError(13, "Permission denied")
        return cast("BinaryIO", open(name, mode, buffering))  # noqa: PTH123

    write(package, {"a.yaml": SERVICE})
    monkeypatch.setattr("packwise.inputs.reader.open", refuse, raising=False)

    ran = call("render", "in")

    reason = "error: in/a.yaml:1:1: cannot read the file: Permission denied [readable]"
    assert (ran.code, ran.stdout, ran.stderr) == (1, "", f"{reason}\n1 error: nothing was written{CHOSEN}\n")


def test_findings_point_into_the_file(call: Call, tmp_path: Path) -> None:
    """The place counts documents, comments and line ends, in the file that the user named."""
    wrong = WORKLOAD.replace("rack", "block")
    write(tmp_path, {"in/topology.yaml": CONFIG, "in/all.yaml": f"# head\n---\n{SERVICE}---\n\n{wrong}"})
    other = wrong.replace("name: web #", "name: other #")
    write(tmp_path, {"crlf.yaml": f"---\n{other}".replace("\n", "\r\n")})

    ran = call("check", "./in/", "crlf.yaml", "-o", "json")

    assert [(f["file"], f["line"], f["column"], f["path"]) for f in ran.findings] == [
        ("crlf.yaml", 11, 38, "spec.template.topologyConstraint.packDomain"),
        ("in/all.yaml", 18, 38, "spec.template.topologyConstraint.packDomain"),
    ]


def test_a_file_that_is_named_twice_is_read_once(call: Call, package: Path) -> None:
    (package.parent / "link").symlink_to("in")

    assert call("render", "in", "in/web/../topology.yaml", "link") == call("render", "in")
