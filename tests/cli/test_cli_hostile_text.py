"""Text that would control a terminal or fill a log is escaped and shortened for people, but complete for programs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from packwise.check.options import FORMATS
from packwise.diff.options import DIFF_FORMATS
from tests.cli.calling import CONFIG, WORKLOAD, Call, write

ESCAPES = "\x1b[31m\x07\x7f\x85\x9b\u2028\u2029\u202e\u200b\ufeff::error::"
IN_YAML = ESCAPES.encode("unicode_escape").decode()
BROKEN = (
    WORKLOAD.replace("name: web # short", f'name: "{IN_YAML}"')
    .replace("packDomain: rack", f'packDomain: "{IN_YAML}"')
    .replace("name: router, image", f'"{IN_YAML}": 1, name: router, image')
)
WORDS = [
    *[f"check in -o {name}" for name in FORMATS],
    *[f"diff before in -o {name}" for name in DIFF_FORMATS],
    "render in",
    "render in -o out",
    "topologies in",
    "topologies in -o json",
    "diff in before",
    "migrate in --to upstream",
]


def unprintable(text: str) -> set[str]:
    return {letter for letter in text if not letter.isprintable() and letter != "\n"}


@pytest.mark.parametrize("words", WORDS)
def test_nothing_acts_on_a_terminal(words: str, call: Call, tmp_path: Path) -> None:
    write(tmp_path, {"in/topology.yaml": CONFIG, "in/w.yaml": BROKEN})
    write(tmp_path, {"before/topology.yaml": CONFIG, "before/w.yaml": WORKLOAD})

    ran = call(*words.split())

    assert (unprintable(ran.stdout), unprintable(ran.stderr)) == (set(), set())


@pytest.mark.parametrize(
    "words",
    [
        *[f"check {{name}} -o {output}" for output in FORMATS],
        "check {name} --fix",
        "check {name}/nothing",
        "check . --baseline git:{name}",
        "check in --baseline git:main",
        "render in -o {name}",
        "render in -o {name} --check",
        "render --in-place {name}",
        *[f"diff {{name}} in -o {output}" for output in DIFF_FORMATS],
        "diff git:x:{name} in",
        "topologies {name} -o json",
        "migrate {name} --to upstream",
    ],
)
def test_names_of_files_do_not_either(words: str, call: Call, tmp_path: Path) -> None:
    name = ESCAPES.replace("/", "")
    write(tmp_path, {f"{name}/t.yaml": CONFIG, f"{name}/w{name}.yaml": BROKEN.replace("name: router", "labels: yes")})
    write(tmp_path, {"in/topology.yaml": CONFIG, "in/w.yaml": WORKLOAD})

    ran = call(*[word.format(name=name) for word in words.split()])

    assert (unprintable(ran.stdout), unprintable(ran.stderr)) == (set(), set())


def test_programs_read_the_same_names(call: Call, tmp_path: Path) -> None:
    write(tmp_path, {"in/topology.yaml": CONFIG, "in/w.yaml": BROKEN})

    found = json.loads(call("check", "in", "-o", "json").stdout)

    assert ESCAPES in {finding["resource"]["name"] for finding in found}


@pytest.mark.parametrize("words", [words for words in WORDS if words != "topologies in -o json"])
def test_a_name_of_a_megabyte_is_reported_shortly(words: str, call: Call, tmp_path: Path) -> None:
    long = "x" * 1_000_000
    broken = BROKEN.replace(f'"{IN_YAML}": 1, ', "").replace(IN_YAML, long)
    write(tmp_path, {"in/topology.yaml": CONFIG, "in/w.yaml": broken})
    write(tmp_path, {"before/topology.yaml": CONFIG, "before/w.yaml": WORKLOAD})

    ran = call(*words.split())

    assert len(ran.stderr) < 50_000
    assert len(ran.stdout) < 100_000


def test_the_function_tells_it_shortly_too(call: Call) -> None:
    name = "x" * 1_000_000
    workload = "\n  ".join(WORKLOAD.replace("name: web # short", f"name: {name}").splitlines())
    listed = f"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n- {workload}\n"

    ran = call("fn", stdin=listed)

    assert ran.code == 1
    assert len(ran.stderr) < 20_000
    # The items themselves are passed on unchanged.
    assert len(ran.stdout) < len(listed) + 50_000


def test_a_path_of_a_megabyte_is_reported_shortly(call: Call) -> None:
    path = "x/" * 500_000
    annotations = f"{{config.kubernetes.io/path: {path}}}"
    item = f"{{apiVersion: v1, kind: ConfigMap, metadata: {{name: a, annotations: {annotations}}}}}"

    ran = call("render", "-", "-o", "out", stdin=item)

    assert ran.code == 1
    assert len(ran.stderr) < 10_000
