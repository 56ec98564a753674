"""Constructs that krmfn's readers might read differently from kyaml: anchors, merges, tags, brackets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from yamltext_documents import ANCHORS, LINES, documents, lines

from tests.kyaml import KyamlOracle, assert_read_as_kyaml_reads

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="module")
def oracle(kyaml_oracle: Path) -> Iterator[KyamlOracle]:
    with KyamlOracle(kyaml_oracle) as running:
        yield running


TEXTS = (
    # The last node with an anchor has it, from the start of the node.
    "a: &a {x: &a 1}\nb: *a\n", "a: &a [&a 1, *a]\nb: *a\n", "a: &a {x: *a}\n", "&a a: 1\nb: &a {*a : 2}\nc: *a\n",
    "- &a <<: {x: 1}\n- *a\n", "- {&a <<: {x: 1}, *a : 2}\n",
    # The tag `!` counts as no tag. A key `<<` in a merged mapping counts as no key.
    "- &a {x: 1}\n- {! <<: *a}\n", "- {! '<<': {x: 1}}\n", "- {!!merge '<<': {x: 1}}\n", "- {!!str <<: {x: 1}}\n",
    "- {<<: {'<<': 1, x: 2}}\n", "- {<<: {x: 1}, '<<': 2}\n", "- {! <<: 1}\n", "- &a [{x: 1}]\n- {<<: *a}\n",
    # A question mark within brackets marks a key.
    "a: {b?: c}\n", "a: [b?]\n", "a: [b ?]\n", "a: {b: c?d}\n", "a: [?b, ? c]\n", "a: ['b?', \"c?\"]\n", "a: b?\n",
    "%YAML 1.2\n---\na: 1\n", "%YAML 1.1\n---\na: 1\n", "a: !<tag:yaml.org,2002:str> \n", "[!, 1]\n",
    "a: !!binary aG k=\n", "a: !!binary |\n  aG\n  k=\n", "a: !!binary 9007199254740993\n",
    "a: !!float 18446744073709551615\n",
)  # fmt: skip


@pytest.mark.parametrize("text", TEXTS)
def test_what_readers_take_differently_is_read_as_kyaml_reads_it_or_refused(oracle: KyamlOracle, text: str) -> None:
    assert_read_as_kyaml_reads(oracle, text)


@given(ANCHORS | lines(LINES) | documents().map(lambda document: document[0]))
def test_any_text_is_read_as_kyaml_reads_it_or_refused(oracle: KyamlOracle, text: str) -> None:
    assert_read_as_kyaml_reads(oracle, text)
