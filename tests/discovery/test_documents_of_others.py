"""packwise recognizes documents of other tools without building their values. The results are the same."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from krmfn.fieldpath import FieldError
from krmfn.yamltext.reader import CORE
from packwise.frontends.osmo.recognition import KEYS, is_document
from packwise.inputs import reader
from packwise.inputs.paths import InputPath
from tests.mutation import mutated
from tests.places import NO_CORE, ROOT, TESTDATA
from tests.readers import texts_in

if TYPE_CHECKING:
    from krmfn.value import Value

needs_core = pytest.mark.skipif(CORE is None, reason=NO_CORE)

FILES = sorted(path for folder in (ROOT / "examples", TESTDATA) for path in folder.rglob("*.yaml"))
TEXTS = [path.read_bytes() for path in FILES if path.stat().st_size < 100_000]

DOCUMENTS = {
    "values of a chart": ("a: 1\nb: {c: [2, 3]}\n", "nothing"),
    "an escaped key": ('{"\\u0061piVersion": "grove.io/v1alpha1", "kind": "PodCliqueSet"}', "an object"),
    "no kind": ("apiVersion: grove.io/v1alpha1\nspec: {}\n", "an object"),
    "no API version": ("kind: PodCliqueSet\nspec: {}\n", "an object"),
    "a tagged key": ("!!str kind: PodCliqueSet\n", "an object"),
    "a key of an anchor": ("&a kind: PodCliqueSet\n", "an object"),
    "a merged kind": ("x: &a {kind: PodCliqueSet}\n<<: *a\n", "an object"),
    "a key twice": ("a: 1\na: 2\n", "an object"),
    "a workflow": ("workflow: {name: a}\n", "a document"),
    "pools within": ("backend: {services: {configs: {pools: {p: {backend: b}}}}}\n", "a document"),
    "templates of pods": ("services: {configs: {podTemplates: {p: {spec: {}}}}}\n", "a document"),
}


def decoded(data: bytes) -> object:
    try:
        return reader.decode(data, InputPath("a.yaml", "a.yaml", is_named=False))
    except FieldError as error:
        return str(error)


@needs_core
@pytest.mark.parametrize("seed", range(4))
def test_a_file_is_what_it_would_be_by_all_its_values(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    random = Random(seed)  # noqa: S311 (tests)
    texts = [mutated(random, random.choice(TEXTS).decode("utf-8", "replace")).encode() for _ in range(150)]
    texts += TEXTS[seed::4]
    found = [decoded(data) for data in texts]

    def tell_nothing(_text: str, _wanted: tuple[str, ...]) -> None:
        return None

    monkeypatch.setattr(reader, "words_in", tell_nothing)
    assert found == [decoded(data) for data in texts]


@pytest.mark.parametrize("case", DOCUMENTS)
def test_near_misses_are_found(case: str) -> None:
    text, kind = DOCUMENTS[case]
    file = reader.decode(text.encode(), InputPath("a.yaml", is_named=True))

    assert kind == ("an object" if file.items else "a document" if file.foreign_documents else "nothing")


PARTS = st.sampled_from([*KEYS, "name", "services", "configs", "configuration", "spec", "a"])
VALUES: st.SearchStrategy[Value] = st.recursive(
    st.sampled_from(["a", 1, None]), lambda inner: st.dictionaries(PARTS, inner, max_size=4), max_leaves=20
)


@given(VALUES)
def test_each_document_of_osmo_has_one_of_its_keys(value: Value) -> None:
    assert not is_document(value) or not set(KEYS).isdisjoint(texts_in(value))
