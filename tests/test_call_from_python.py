"""The programs of docs/how-to/call-from-python.md run, one after the other."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.places import ROOT

PAGE = (ROOT / "docs" / "how-to" / "call-from-python.md").read_text(encoding="utf-8")
PROGRAMS = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def test_the_programs_of_the_page_run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(Path(ROOT))
    names: dict[str, Any] = {}

    for program in PROGRAMS:
        exec(program, names)  # noqa: S102 (the page is ours)

    assert len(PROGRAMS) == 2
    assert capsys.readouterr() == ("", "")
