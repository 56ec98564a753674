from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from krmfn.yamltext import read, split_documents


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", []),
        ("a: 1\n", [("a: 1\n", 1)]),
        ("---\na: 1\n---\nb: 2\n", [("a: 1\n", 2), ("b: 2\n", 4)]),
        ("# license\n---\n# about a\na: 1\n", [("# about a\na: 1\n", 3)]),
        ("a: 1\n# about b\n---\nb: 2", [("a: 1\n# about b\n", 1), ("b: 2", 4)]),
        ("a: |\n  ---\n---\r\nb: 2\r\n", [("a: |\n  ---\n", 1), ("b: 2\r\n", 4)]),
        ("a: 1\n...\n---\nb: 2\n...\n", [("a: 1\n", 1), ("b: 2\n", 4), ("", 6)]),
        ("--- {a: 1}\n--- # two\nb: 2\n", [("--- {a: 1}\n", 1), ("b: 2\n", 3)]),
        ("%YAML 1.1\n---\na: 1\n", [("%YAML 1.1\n---\na: 1\n", 1)]),
        ("a: 1\n---\n---\n# end\n", [("a: 1\n", 1), ("# end\n", 4)]),
        ("a: 1\n----\n--- x", [("a: 1\n----\n", 1), ("--- x", 3)]),
    ],
)
def test_a_stream_is_cut_at_its_markers(text: str, parts: list[tuple[str, int]]) -> None:
    assert [(d.text, d.line) for d in split_documents(text)] == parts
    assert "".join(d.separator + d.text for d in split_documents(text)) == text


@given(
    st.lists(st.sampled_from(["---", "...", "--- a", "# c", "a: 1", "", "%YAML 1.1", " ---", "---x", "b: |", "  x"])),
    st.booleans(),
)
def test_joining_the_documents_gives_the_stream(lines: list[str], last: bool) -> None:
    text = "\n".join(lines) + ("\n" if last else "")
    documents = split_documents(text)
    assert "".join(d.separator + d.text for d in documents) == text
    for document in documents:
        at = text.index(document.text)
        once = at == text.rindex(document.text)
        assert not once or text[:at].count("\n") + 1 == document.line


def test_each_document_reads_alone() -> None:
    text = "# x\n---\na: 1\n--- {b: 2}\n---\nc: |\n  d\n...\n"
    assert [read(d.text) for d in split_documents(text)] == [{"a": 1}, {"b": 2}, {"c": "d\n"}, None]
