from __future__ import annotations

import re
import subprocess
from typing import TYPE_CHECKING

import pytest

from krmfn import ResourceList, Result
from krmfn.testing import case_input, collect_cases, run_case

if TYPE_CHECKING:
    from pathlib import Path


def annotate(rl: ResourceList) -> ResourceList:
    return rl.with_items(item.with_annotation("a", "b") for item in rl.items)


def refuse(rl: ResourceList) -> ResourceList:
    return rl.with_results([Result("no")])


@pytest.fixture
def case(tmp_path: Path) -> Path:
    folder = tmp_path / "cases" / "one"
    (folder / "sub").mkdir(parents=True)
    (folder / "b.yaml").write_text("# b\nkind: B # b\n---\nkind: C\n---\n# nothing\n")
    (folder / "sub" / "a.yaml").write_text("kind: A\n")
    (folder / "_fnconfig.yaml").write_text("kind: F\n")
    (folder / "_expected.yaml").write_text("")
    return folder


def test_the_input_is_what_kpt_would_make(case: Path) -> None:
    def notes(path: str, index: int) -> str:
        return (
            f'  metadata:\n    annotations:\n      config.kubernetes.io/index: "{index}"\n'
            f"      config.kubernetes.io/path: {path}\n"
        )

    assert case_input(case).decode() == (
        "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n- # b\n  kind: B # b\n"
        + notes("b.yaml", 0)
        + "- kind: C\n"
        + notes("b.yaml", 1)
        + "- kind: A\n"
        + notes("sub/a.yaml", 0)
        + "functionConfig:\n  kind: F\n"
    )


PACKAGE = {
    "a.yaml": (
        "# parted\n\n# head\n# of two lines\napiVersion: v1\nkind: A\nmetadata:\n  name: a\n  annotations:\n"
        "    x: y # kept\nspec:\n  # within\n  list:\n  - 1\n---\n"
        "# second\napiVersion: v1\nkind: B\nmetadata:\n  name: b\n---\n# nothing\n"
    ),
    "sub/flow.yaml": "apiVersion: v1 # first\nkind: C\nmetadata: {name: c, annotations: {a: b}} # flow\n",
}


@pytest.mark.client
def test_kpt_makes_the_same_of_it(kpt: Path, tmp_path: Path) -> None:
    """kpt's list differs only in kpt's annotations and in quotes."""
    for name, text in PACKAGE.items():
        (tmp_path / "package" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "package" / name).write_text(text)

    source = subprocess.run(
        [kpt, "fn", "source", "package"], cwd=tmp_path, capture_output=True, text=True, check=True
    ).stdout

    own = r"(?m)^ *internal\.config\.kubernetes\.io/.*\n|, internal\.config\.kubernetes\.io/\w+: '[^']*'"
    assert re.sub(r"['\"]", "", case_input(tmp_path / "package").decode()) == re.sub("'", "", re.sub(own, "", source))


def test_a_case_fails_is_updated_and_passes(case: Path) -> None:
    assert collect_cases(case.parent) == (case,)
    with pytest.raises(AssertionError, match=r"\+- kind: A"):
        run_case(case, annotate)
    run_case(case, annotate, update=True)
    run_case(case, annotate)
    assert not (case / "_stderr.txt").exists()
    with pytest.raises(AssertionError, match=r"\+error: no"):
        run_case(case, refuse)
    run_case(case, refuse, update=True)
    assert (case / "_stderr.txt").read_text() == "error: no\n"
    run_case(case, refuse)


def test_a_list_as_input(case: Path) -> None:
    text = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n"
    (case / "input.yaml").write_text(text)
    assert case_input(case) == text.encode()


def test_no_case_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="has no case folder"):
        collect_cases(tmp_path)
