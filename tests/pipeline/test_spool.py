"""Texts that wait for their turn, in memory or in a temporary file."""

from __future__ import annotations

import os
import tempfile
from typing import NoReturn

import pytest
from hypothesis import given
from hypothesis import strategies as st

from packwise.spool import Spool


@given(st.lists(st.tuples(st.text(max_size=5), st.integers())), st.integers(0, 30))
def test_texts_come_in_any_order(texts: list[tuple[str, int]], most: int) -> None:
    spool = Spool(most)
    entries = [(spool.put(text), text, order) for text, order in texts]
    entries.sort(key=lambda each: each[2])

    assert b"".join(spool.read([entry for entry, _, _ in entries])).decode() == "".join(
        [text for _, text, _ in entries]
    )


def refuse(*_: object) -> NoReturn:
    raise OSError


@pytest.mark.parametrize(("module", "name"), [(tempfile, "TemporaryFile"), (os, "pwrite")])
def test_without_room_for_a_file_texts_stay_in_memory(
    module: object, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, name, refuse)
    spool = Spool(3)
    entries = [spool.put(text) for text in ("first", "second", "third")]

    assert b"".join(spool.read(reversed(entries))) == b"thirdsecondfirst"
