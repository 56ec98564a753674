"""krmfn reads each text as kyaml does, or refuses it. kyaml reads every edited text as krmfn meant it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from krmfn import FieldError, KubeObject, ResourceList, ResourceListError, Result, Value
from krmfn.yamltext import YamlError, read
from tests.kyaml import KyamlOracle, assert_read_as_kyaml_reads, typed
from tests.mutation import mutated
from tests.places import TESTDATA

SUITE = [case.read_bytes().decode() for case in sorted((TESTDATA / "yaml").glob("*.yaml"))]
LISTS = [case.read_bytes().decode() for case in sorted((TESTDATA / "odd").glob("*.yaml"))]
NUMBERS = "0123456789_+-.eExob"
NEW: dict[str, Value] = {"kind": "N", "metadata": {"name": "n"}}


@pytest.fixture(scope="module")
def oracle(kyaml_oracle: Path) -> Iterator[KyamlOracle]:
    with KyamlOracle(kyaml_oracle) as running:
        yield running


@pytest.mark.parametrize("text", SUITE)
def test_a_document_is_read_as_kyaml_reads_it(oracle: KyamlOracle, text: str) -> None:
    assert_read_as_kyaml_reads(oracle, text)


@pytest.mark.parametrize("seed", range(8))
def test_a_mutated_document_is_read_as_kyaml_reads_it_or_refused(oracle: KyamlOracle, seed: int) -> None:
    random = Random(seed)  # noqa: S311 (tests)
    for _ in range(400):
        assert_read_as_kyaml_reads(oracle, mutated(random, random.choice(SUITE + LISTS)))


@pytest.mark.parametrize("seed", range(4))
def test_a_number_is_what_it_is_to_kyaml(oracle: KyamlOracle, seed: int) -> None:
    random = Random(seed)  # noqa: S311 (tests)
    for _ in range(1000):
        digits = "".join(random.choices(NUMBERS, weights=[4] * 10 + [2] * 9, k=random.randint(1, 9)))
        assert_read_as_kyaml_reads(oracle, f"a: {digits}\n")


KEYS = (
    "1e39", "-1e300", "3.4028235e38", "3.4028236e38", "1.5", "1e-50", "123456789.5", "1e5", "1e6", "99999.96", "1e20",
    "-0.0", "1e-4", "0.00001234", "1" * 40, "0x1F", "1_0", "012", "0o17", "0o+17", "0o-17", "-0o+17", "0b+1", "0b-1",
    "+0b1", "-0o7", "0_1", "_1", "-_1",
)  # fmt: skip


@pytest.mark.parametrize("key", KEYS)
def test_a_number_as_a_key_is_the_text_that_it_is_to_kubernetes(oracle: KyamlOracle, key: str) -> None:
    for text in (f"{key}: 1\n", f"a: 1\n{key}: 1\n", f"a:\n  {key}: 1\n", f"{key}:\n- a\n", f"- {key}: 1\n"):
        assert typed(read(text)) == oracle.document(text)


@pytest.mark.parametrize("seed", range(4))
def test_a_key_that_looks_like_a_number_is_what_it_is_to_kyaml(oracle: KyamlOracle, seed: int) -> None:
    random = Random(seed)  # noqa: S311 (tests)
    for _ in range(500):
        key = "".join(random.choices(NUMBERS, weights=[4] * 10 + [2] * 9, k=random.randint(1, 6)))
        assert_read_as_kyaml_reads(oracle, f"a: 1\n{key}: 1\n")


@pytest.mark.parametrize("zeros", [30, 500, 5000])
@pytest.mark.parametrize("form", ["a: {}7\n", "a: -{}7\n", "a: 0x{}f\n", "a: 0b{}1\n", "a: 0o{}7\n", "a: 1.{}1\n",
                                  "a: 1{}\n", "a: 1{}e-5\n", "a: .{}1\n", "a: 0b-{}1\n"])  # fmt: skip
def test_a_long_number_is_what_it_is_to_kyaml(oracle: KyamlOracle, form: str, zeros: int) -> None:
    assert_read_as_kyaml_reads(oracle, form.format("0" * zeros))


def test_an_escaped_surrogate_pair_is_refused_as_kyaml_refuses_it(oracle: KyamlOracle) -> None:
    """Python's json.dump writes an emoji in this way, and kustomize refuses the file."""
    text = '{"a": "\\ud83d\\ude00"}'

    assert oracle.document(text) is None
    with pytest.raises(YamlError, match="found invalid Unicode character escape code"):
        read(text)


@pytest.mark.parametrize("text", LISTS)
def test_a_list_that_kyaml_wrote_is_read_and_edited(oracle: KyamlOracle, text: str) -> None:
    rewritten = oracle.rewritten(text)

    assert rewritten is not None
    assert_edited(oracle, rewritten, Random(0))  # noqa: S311 (tests)


ENDS = (
    "!",
    "!!null",
    "&a",
    "*a",
    "null",
    "~",
    "text",
    "{}",
    "[]",
    '""',
    "!\n\n#x",
    "? a",
    ": b",
    "%YAML 1.2",
    "@",
    "`",
)


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("items", ["items:", "items: []", "items:\n- {a: b}", "items:\n- a: b"])
def test_what_stands_behind_the_items_is_the_next_field_or_nothing(oracle: KyamlOracle, items: str, end: str) -> None:
    text = f"kind: ResourceList\n{items}\n{end}\n"
    try:
        parsed = ResourceList.parse(text)
    except ResourceListError:
        return

    assert [*(typed(item.value) for item in parsed.items), ["null"]] == oracle.items(text)


@pytest.mark.parametrize("seed", range(8))
def test_an_edit_of_odd_text_means_to_kyaml_what_it_means_here(oracle: KyamlOracle, seed: int) -> None:
    random = Random(seed)  # noqa: S311 (tests)
    edited = sum(assert_edited(oracle, mutated(random, random.choice(LISTS)), random) for _ in range(250))
    assert edited > 50


def assert_edited(oracle: KyamlOracle, text: str, random: Random) -> bool:
    """Return True if krmfn accepts text and edits. Raise AssertionError if kyaml reads another value."""
    before = oracle.items(text)
    try:
        parsed = ResourceList.parse(text)
    except ResourceListError:
        return False
    config = None if parsed.function_config is None else parsed.function_config.value
    if before is None:
        return False
    assert before == [typed(item.value) for item in parsed.items] + [typed(config)]
    try:
        items = [changed(random, item) for item in parsed.items]
    except FieldError:
        return False
    answer = parsed.with_items([*items, KubeObject.new(NEW)][: len(items) + random.randint(0, 1)])
    if random.random() < 0.5:
        answer = answer.with_results([*parsed.results, Result("hello")])
    wanted = [typed(item.value) for item in answer.items] + [typed(config)]
    assert oracle.items(answer.to_text()) == wanted
    again = ResourceList.parse(answer.to_text())
    assert [item.value for item in again.items] == [item.value for item in answer.items] or ".nan" in text.lower()
    return True


def changed(random: Random, item: KubeObject) -> KubeObject:
    form = random.randint(0, 6)
    if form == 0:
        return item
    if form == 1:
        return item.remove(("metadata", "annotations"), prune=True)
    if form == 2:
        return item.remove((random.choice(list(item.value)),)) if item.value else item
    if form == 3:
        return item.set(("metadata", "labels", "l"), "a\nb\n")
    if form == 4:
        return item.set(("status",), {"a": [1, "x\ny\n"]})
    return item.with_annotation("packwise.dev/x", "v: 1")
