"""A scalar is put in quotes, or a key is renamed. The rest of the text stays, and the value equals the text's."""

from __future__ import annotations

import pytest

from krmfn import FieldError, KubeObject

TEXT = """\
a: 4 # four
b: {c: yes, "d": 0.50}
l:
- on
- "off"
anchored: &x 1
folded: >-
  a
  b
"""


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        ("a", "a: 4 # four", 'a: "4" # four'),
        ("b.c", "{c: yes,", '{c: "yes",'),
        ("b.d", "0.50}", '"0.50"}'),
        (("l", 0), "- on", '- "on"'),
    ],
)
def test_a_plain_scalar_is_put_in_quotes(path: str, old: str, new: str) -> None:
    quoted = KubeObject.parse(TEXT).quote(path)

    assert quoted.text == TEXT.replace(old, new)
    assert quoted.value == KubeObject.parse(quoted.text).value
    assert isinstance(quoted.get(path), str)


def test_what_is_quoted_already_stays_the_same_object() -> None:
    item = KubeObject.parse(TEXT)

    assert item.quote(("l", 1)).text == TEXT


@pytest.mark.parametrize("path", ["b", "l", "anchored", "folded", "nothing"])
def test_what_is_no_plain_scalar_is_refused(path: str) -> None:
    with pytest.raises(FieldError, match="only a plain scalar on one line can be put in quotes"):
        KubeObject.parse(TEXT).quote(path)


@pytest.mark.parametrize(
    ("path", "name", "old", "new"),
    [
        ("a", "other", "a: 4", "other: 4"),
        ("a", "yes", "a: 4", '"yes": 4'),
        ("b.c", "e", "{c: yes", "{e: yes"),
        ("b.d", "e", '"d": 0.50', '"e": 0.50'),
    ],
)
def test_a_key_is_renamed_at_its_place(path: str, name: str, old: str, new: str) -> None:
    renamed = KubeObject.parse(TEXT).rename(path, name)

    assert renamed.text == TEXT.replace(old, new, 1)
    assert renamed.value == KubeObject.parse(renamed.text).value
    assert list(renamed.value) == list(KubeObject.parse(renamed.text).value)


def test_a_name_that_stands_beside_it_is_refused() -> None:
    with pytest.raises(FieldError, match='cannot be renamed to "b", because the mapping already has this key'):
        KubeObject.parse(TEXT).rename("a", "b")
    with pytest.raises(FieldError, match="there is no key to rename"):
        KubeObject.parse(TEXT).rename("nothing", "b")


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        ("a", "a: 4 # four", "outer:\n  a: 4 # four"),
        ("b.c", "{c: yes,", "{outer: {c: yes},"),
        ("b.d", '"d": 0.50}', '"outer": {"d": 0.50}}'),
        ("deep[0].x", "- x: 1", "- outer:\n    x: 1"),
    ],
)
def test_an_entry_moves_into_a_mapping_at_its_place(path: str, old: str, new: str) -> None:
    text = TEXT + "deep:\n- x: 1\n  y: 2\n"
    nested = KubeObject.parse(text).nest(path, "outer")

    assert nested.text == text.replace(old, new, 1)
    assert nested.value == KubeObject.parse(nested.text).value


@pytest.mark.parametrize(
    ("path", "outer", "message"),
    [
        ("a", "b", 'cannot be moved into "b", because the mapping already has this key'),
        ("l", "outer", "an entry on several lines cannot be moved into a mapping"),
        ("nothing", "outer", "there is no entry to move"),
    ],
)
def test_what_cannot_move_into_a_mapping_is_refused(path: str, outer: str, message: str) -> None:
    with pytest.raises(FieldError, match=message):
        KubeObject.parse(TEXT).nest(path, outer)
