"""Docstrings, messages and pages are plain sentences. `make prose` prints the sentences that break a rule."""

from __future__ import annotations

import pytest

from tests.prose import (
    PARTS,
    RULES,
    Sentence,
    breaches_in,
    breaches_of,
    sentences_of_code,
    sentences_of_explanation,
    sentences_of_messages,
    sentences_of_page,
)

CEILINGS = {
    "messages": {"length": 8},
    "reference": {"length": 1},
    "spec": {"length": 2},
}
"""The number of sentences that may still break a rule, by part. Never raise a number. Lower it when you rewrite
sentences.
"""


@pytest.mark.parametrize("part", PARTS)
def test_no_more_sentences_break_a_rule(part: str) -> None:
    found = breaches_in(part)
    for rule in RULES:
        most = CEILINGS.get(part, {}).get(rule.name, 0)
        broken = [breach for breach in found if breach.rule is rule]
        if len(broken) > most:
            listed = "\n".join(map(str, broken))
            pytest.fail(
                f"{len(broken)} sentences of {part} break the rule {rule.name}, at most {most} may. "
                f"Rewrite the new one among these:\n{listed}",
                pytrace=False,
            )


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        ("If the file has no release, packwise assumes the newest one.", []),
        ("Where the file has no release, the newest one is assumed.", ["beginning"]),
        ("Of two rows with one name the first counts.", ["beginning"]),
        ("Return the level of the constraint, or None.", []),
        ('Return the level of the constraint; "" where it has none.', ["where"]),
        ("Remove findings on files that predate the change.", []),
        ("The results but for those on files that were there before.", ["pronoun"]),
        ("Unknown fields are not validated further.", []),
        ("A field that nobody knows is not validated further.", ["nobody"]),
        ("The levels stand in a binding, which stands for the cluster.", ["stands"]),
        ("The caller is told the reason for the refusal.", ["told"]),
        ("Files are mended and a slip of the pen is left out.", ["mend", "slip", "left out"]),
        ("The line is taken out, and null is as good as none.", ["taken out", "as good as"]),
        ("The copy is put in the place of the folder.", ["in the place of"]),
        ("Quoted `those` and `nobody` are code, and so are not prose.", []),
        (" ".join(["word"] * 25) + ".", []),
        (" ".join(["word"] * 26) + ".", ["length"]),
    ],
)
def test_a_rule_finds_its_words(text: str, rules: list[str]) -> None:
    (sentence,) = sentences_of_page("page.md", text)

    assert [breach.rule.name for breach in breaches_of(sentence)] == rules


def test_the_sentences_of_a_page_have_their_lines() -> None:
    page = """# A title is no sentence of the page

The first sentence goes on
over two lines. The second one
ends here. packwise begins the third one.

```sh
this is code and no sentence
```

| a table | is no sentence either |

- An item of a [list](page.md) is a sentence.
- Its number is at least 2. The number belongs to the first sentence.
"""
    assert list(sentences_of_page("page.md", page)) == [
        Sentence("page.md", 3, "The first sentence goes on over two lines."),
        Sentence("page.md", 4, "The second one ends here."),
        Sentence("page.md", 5, "packwise begins the third one."),
        Sentence("page.md", 13, "An item of a list is a sentence."),
        Sentence("page.md", 14, "Its number is at least 2."),
        Sentence("page.md", 14, "The number belongs to the first sentence."),
    ]


def test_the_sentences_of_a_module_are_its_docstrings_and_its_messages() -> None:
    module = '''"""The module has a docstring with `code`.

Source: a page is a source and no sentence.
"""

def refuse(name):
    """Return a message about a name."""
    return f"must be one of {name} and its short forms"
'''
    assert list(sentences_of_code("module.py", module)) == [
        Sentence("module.py", 1, "The module has a docstring with code."),
        Sentence("module.py", 7, "Return a message about a name."),
    ]
    assert list(sentences_of_messages("module.py", module)) == [
        Sentence("module.py", 8, "must be one of code and its short forms"),
    ]


def test_the_sentences_of_an_explanation_are_its_reason_and_its_fix() -> None:
    explanation = """why: >-
  The API server refuses the object
  in its schema. No pod starts.
fix: Correct the field, or remove it.
failing: |
  # This comment is code and no sentence.
  kind: PodCliqueSet
"""
    assert list(sentences_of_explanation("rule.yaml", explanation)) == [
        Sentence("rule.yaml", 2, "The API server refuses the object in its schema."),
        Sentence("rule.yaml", 4, "Correct the field, or remove it."),
    ]


def test_a_breach_names_the_place_the_rule_and_what_to_write() -> None:
    (breach,) = breaches_of(Sentence("docs/page.md", 7, "A reader whom nobody helps reads this twice."))

    assert str(breach).splitlines() == [
        'docs/page.md:7: nobody: "A reader whom nobody helps reads this twice."',
        "  Write users, you, or the name of the component.",
    ]
