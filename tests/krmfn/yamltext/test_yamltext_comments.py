"""Comments are found at every place, and none is lost by a removal that must keep them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_yamltext_edit import paths_of, without_value
from yamltext_documents import documents

from krmfn.yamltext import YamlError, read, remove_value
from krmfn.yamltext.places import comments

if TYPE_CHECKING:
    from krmfn.fieldpath import FieldPath
    from krmfn.value import Value

TEXT = """\
# top
a: &x "b # no" # yes
c: | # head
  # content
  x # content
# after
d: [1, # one
 'a#b', # two
 {k: v#w, l: *x }]
e: plain#text # e
f: !tag # t
  foo
g:
  # within
  - # dash
    h: 'multi
      # not

      line' # end
# last"""


def test_a_comment_is_what_no_reader_sees() -> None:
    assert comments(TEXT) == [
        *("# top", "# yes", "# head", "# after", "# one", "# two", "# e", "# t", "# within", "# dash", "# end"),
        "# last",
    ]


@pytest.mark.parametrize(
    ("text", "path", "kept"),
    [
        ("a: 1\nb: 2 # x\nc: 3\n", ("b",), "a: 1\n# x\nc: 3\n"),
        ("a: 1\nb: 2 # x", ("b",), "a: 1\n# x"),
        ("a:\n  b: 1 # x\nc: 2\n", ("a", "b"), "# x\na: {}\nc: 2\n"),
        ("a:\n- b: 1 # x\n  c: 2\n", ("a", 0, "b"), "a:\n# x\n- c: 2\n"),
        ("a:\n  b: # x\n    # y\n    c: 1 # z\n  d: 1\n", ("a", "b"), "a:\n  # x\n  # y\n  # z\n  d: 1\n"),
        ("a: {b: 1, # x\n  c: 2}\n", ("a", "b"), "a: { # x\n  c: 2}\n"),
        ("a: 1\r\nb: 2 # x\r\nc: 3\r\n", ("b",), "a: 1\r\n# x\r\nc: 3\r\n"),
    ],
)
def test_a_removed_entry_leaves_its_comments(text: str, path: FieldPath, kept: str) -> None:
    assert remove_value(text, path, keep_comments=True) == kept


@given(documents(), st.data())
def test_no_comment_is_lost(document: tuple[str, dict[str, Value]], data: st.DataObject) -> None:
    text, value = document
    path = data.draw(st.sampled_from(paths_of(value)))
    try:
        kept = remove_value(text, path, keep_comments=True)
    except YamlError:
        # The removal is refused if a comment would be lost.
        assert sorted(comments(remove_value(text, path))) != sorted(comments(text))
        return
    assert read(kept) == without_value(value, path)
    assert sorted(comments(kept)) == sorted(comments(text))
