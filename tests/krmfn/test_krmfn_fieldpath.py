from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from krmfn.fieldpath import FieldPath, format_path, parse_path

PATHS: list[tuple[FieldPath, str]] = [
    ((), ""),
    (("spec",), "spec"),
    (("spec", "cliques", 2, "name"), "spec.cliques[2].name"),
    (("metadata", "annotations", "grove.io/x"), "metadata.annotations[grove.io/x]"),
    (("items", 0, 1), "items[0][1]"),
    ((0, "a"), "[0].a"),
    (("a.b", "c"), "[a.b].c"),
]


@pytest.mark.parametrize(("path", "text"), PATHS)
def test_a_path_and_its_text(path: FieldPath, text: str) -> None:
    assert format_path(path) == text
    assert parse_path(text) == path


@pytest.mark.parametrize("text", [".", "a..b", "a.", ".a", "a[", "a]b", "a[0]b", "a.[0]", "[0"])
def test_no_path(text: str) -> None:
    with pytest.raises(ValueError, match="must be a field path"):
        parse_path(text)


KEYS = st.text(alphabet=st.sampled_from("abz09./-_$ é"), min_size=1).filter(lambda key: not key.isdigit())


@given(st.lists(st.one_of(KEYS, st.integers(0, 999))).map(tuple))
def test_text_gives_the_path_back(path: FieldPath) -> None:
    assert parse_path(format_path(path)) == path
