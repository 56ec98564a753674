"""The native core answers what Python answers, or nothing."""

from __future__ import annotations

import subprocess
import sys
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_yamltext_edit import paths_of
from test_yamltext_lines import NAMES, Manifest, outcome
from test_yamltext_places import LINES, TEXTS, by_walking
from yamltext_documents import KEYS, OBJECTS, TEXT, VALUES, WORDS, documents

from benchmarks.workloads import resource_list
from krmfn import ResourceList
from krmfn.envelope import MAX_ITEMS
from krmfn.run import NO_MEMORY
from krmfn.yamltext import YamlError, locate, native, read, write
from krmfn.yamltext.build import read_libyaml
from krmfn.yamltext.lines import set_by_lines
from krmfn.yamltext.places import nearest
from krmfn.yamltext.writer import write_entry
from tests.places import missing

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from krmfn.fieldpath import FieldPath
    from krmfn.value import Value

HAS_CORE = native.read("a: 1\n") is not None
needs_core = pytest.mark.skipif(not HAS_CORE, reason="the native core is not installed")


def test_the_core_is_installed(request: pytest.FixtureRequest) -> None:
    options = ("--without-native", "--without-yaml-rs")
    if not HAS_CORE and not any(map(request.config.getoption, options)):
        missing("krmfn-native is not installed: `make setup` builds it where there is cargo")


def by_python(text: str) -> Value:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(native, "read", absent)
        return read(text)


def absent(*_: object) -> None:
    return None


def assert_reads_alike(text: str) -> bool:
    """Whether the core reads `text`, and as the others do then."""
    value = native.read(text)
    if value is None:
        return False
    assert repr(value) == repr(read_libyaml(text)) == repr(by_python(text))
    return True


USUAL = (
    *("a: 1", "b: two words", "c: 'q: # x'", '"d": "e"', "f: [g, 'h', 1.5, true, 2Mi, -3]", "i: {}", "j: [] # k"),
    *("l: -0", "m: -0.0", "n: 1.50", "o: 123456789012345", "p: 100m", "q: true", "r: Null", "s: FALSE", "t: /u:v"),
    *("- w", "- x: y", "- - z", "- - aa: bb", "- 5", "- null", "- ''", "- [cc]", "- {}", "dd:", "ee: # ff", "- gg:"),
    *("oo: {pp: qq, rr: [ss, {tt: 1}]} # uu", "- {'vv': ww, \"xx\": 2}", "yy: [[], [zz]]"),
    *("hh: x (ii)", "", "# jj", "kk: 'é' # ü", "yes: no", "- 'll': mm", '- "nn"'),
)
ODD = (
    *("l: 01", "m: 1e3", "n: .5", "o: 1.", "p: 0x1", "q: ~", "r: &a b", "s: *a", "t: !a b", "v: a# b"),
    *("w:  x  ", "x: a: b", "y: a:", "null: 1", "tULL: 1", "z: [a,b]", "aa: [ b ]", "bb: {c:d}", "cc: 'a''b'"),
    *('dd: "a\\n"', "ee: |", "ff: >-", "- ", "-", "-  gg", "- - - hh", "? ii", "---", "...", "%YAML 1.2", "\tjj: 1"),
    *("kk: a\tb", "ll: '\u2028'", "mm: a\r", "nn: '\x85'", "oo: é", "pp: 1234567890123456", "qq: 'a' b", "   "),
    *("ss : 1", "'tt' : 1", "uu:vv", "ww", "[xx]", "'yy'", "zz: --- a", "ab: -", "ac: - a", "a: 1", "b: 2"),
)


@st.composite
def lines(draw: st.DrawFn, choices: Sequence[str]) -> str:
    """Lines one below the other, deeper or less deep than the one before."""
    column, text = 0, ""
    for line in draw(st.lists(st.sampled_from(choices), min_size=1, max_size=8)):
        column = max(0, column + draw(st.sampled_from([0, 0, 0, 2, 2, -2, -2, -4, 1])))
        text += f"{' ' * column}{line}\n"
    return text if draw(st.integers(0, 19)) else text.removesuffix("\n")


@needs_core
@settings(max_examples=3000, deadline=None)
@given(lines(USUAL) | lines((*USUAL, *ODD)) | lines((*LINES, *USUAL)))
def test_every_text_is_read_as_by_libyaml_or_not_at_all(text: str) -> None:
    assert_reads_alike(text)


@needs_core
@settings(max_examples=500, deadline=None)
@given(documents().map(lambda document: document[0]) | VALUES.map(write) | TEXT)
def test_documents_in_any_style_are_read_as_by_libyaml_or_not_at_all(text: str) -> None:
    assert_reads_alike(text)


@needs_core
def test_real_documents_are_read_and_most_of_them_by_the_core() -> None:
    texts = [item.source.text for item in ResourceList.parse("".join(resource_list(20, findings=True))).items]
    assert all(map(assert_reads_alike, texts))
    assert sum(map(assert_reads_alike, TEXTS)) > 0.8 * len(TEXTS) > 400


@needs_core
@pytest.mark.parametrize("line", ODD[:-2])
def test_unusual_lines_are_left_to_python(line: str) -> None:
    assert native.read(f"- a\n{line}\n") is None
    assert native.read(f"a: 1\n{line}\n") is None


@needs_core
@pytest.mark.parametrize(
    "text",
    [
        *("", "\n", "# a\n", "a: 1", " \n", "a: 1\na: 2\n", "a:\n  b: 1\n c: 2\n", "a: b\n  c: d\n", "a: b\n  - c\n"),
        *("- a\nb: 1\n", "a: 1\n- b\n", "- - a\n - b\n", "a:\n- b\n c: d\n", "a: 'b\n", "a: \ud800\n", "a: 1\n\0"),
        "".join(f"{' ' * depth}a:\n" for depth in range(92)),
        "".join(f"{' ' * depth}- a:\n{' ' * (depth + 2)}- b:\n" for depth in range(0, 200, 4)),
        f"{'a' * 300}: 1\n",
    ],
)
def test_texts_that_python_has_to_read_or_refuse(text: str) -> None:
    assert native.read(text) is None


@needs_core
def test_deep_and_long_texts() -> None:
    deep = "".join(f"{' ' * depth}a:\n" for depth in range(90))
    assert repr(native.read(deep)) == repr(read_libyaml(deep))
    long = f"{'a' * 250}: {'b' * 100_000} # {'c' * 100_000}\n" + "d: 'é'\n"
    assert repr(native.read(long)) == repr(read_libyaml(long))


@needs_core
@settings(max_examples=600, deadline=None)
@given(lines(USUAL) | lines((*USUAL, *ODD)) | lines(LINES) | documents().map(lambda document: document[0]))
def test_places_are_those_of_a_walk(text: str) -> None:
    try:
        value = read(text)
    except YamlError:
        return
    for path in some_paths(value):
        for key in (False, True):
            place = native.nearest(text, path, key)
            assert place is None or place == by_walking(text, path, key=key), path
        assert_key_lines(text, path)


@needs_core
def test_places_in_real_documents() -> None:
    for text in TEXTS:
        try:
            paths = some_paths(read(text))
        except YamlError:
            continue
        for path in paths[:: 1 + len(paths) // 20]:
            place = native.nearest(text, path, True)
            assert place is None or place == by_walking(text, path, key=True), path
            assert_key_lines(text, path)


def some_paths(value: Value) -> list[FieldPath]:
    paths: list[FieldPath] = [(), *paths_of(value)] if isinstance(value, dict | list) else [()]
    return [*paths, *((*path, step) for path in paths for step in ("no such key", 0, 7))]


def assert_key_lines(text: str, path: FieldPath) -> None:
    known = native.key_lines(text, path)
    if known is not None:
        span = locate(text, path)
        assert span is not None
        assert known == (span.line, span.line + text.count("\n", span.start, span.end)), path


@needs_core
@pytest.mark.parametrize(
    ("path", "place"),
    [
        ((), (2, 3)),
        ((0,), (2, 3)),
        ((0, "a"), (3, 5)),
        ((0, "a", "b"), (3, 8)),
        ((0, "a", "b", "c"), (3, 8)),
        ((0, "d"), (4, 6)),
        ((0, "d", 1), (4, 10)),
        ((0, "d", 2), (4, 6)),
        ((0, "e"), (5, 5)),
        ((0, "e", "f"), (5, 5)),
        ((0, "g"), (7, 3)),
        ((0, "g", 1, "h"), (8, 8)),
        ((1,), (9, 3)),
        ((2,), (1, 1)),
    ],
)
def test_places_by_lines(path: FieldPath, place: tuple[int, int]) -> None:
    text = "# é\n- a:\n    b: 'é'\n  d: [x, y]\n  e:\n  g:\n  - h\n  - h: i\n- j\n"
    expected = nearest(text, path)
    assert native.nearest(text, path, False) == expected
    assert expected == place or path in ((), (0, "d", 2), (2,))


@needs_core
def test_key_lines_are_those_of_mappings_with_a_line_for_each_key() -> None:
    text = "a:\n  b: 1\n\n  # c\n  'd': 2 # e\n  f:\ng:\n- h: i\n  j: {}\nk:\n  l:\n  - m\nn: o\n"
    assert native.key_lines(text, ("a",)) == (2, 6)
    assert native.key_lines(text, ("g", 0)) == (8, 9)
    assert [native.key_lines(text, path) for path in [("k",), ("n",), ("g",), ("x",), ("a", "b")]] == [None] * 5


@needs_core
@settings(max_examples=3000, deadline=None)
@given(st.integers(0, 2**32).map(Random), TEXT | st.sampled_from(["a", "a b", "", "true", "1", "x: y", "a\nb"]))
def test_strings_are_set_as_by_python(random: Random, value: str) -> None:
    manifest = Manifest(random)
    path = manifest.path() if random.random() < 0.5 else ("metadata", "annotations", random.choice(NAMES))
    for whole in (path, (0, *path)):
        text = native.set_string(manifest.text, whole, value)
        assert text is None or text == (
            set_by_lines(manifest.text, whole, value) or outcome(manifest.text, whole, value)
        )


@needs_core
def test_an_annotation_of_the_benchmark_s_items_is_set_by_the_core() -> None:
    path = (0, "metadata", "annotations", "example.dev/owner")
    for item in ResourceList.parse("".join(resource_list(20))).items:
        text = native.set_string(item.source.text, path, '[{"type": "a"}]')
        assert text is not None
        assert text == set_by_lines(item.source.text, path, '[{"type": "a"}]')


def written(value: Any, indent: int | None = None) -> str:
    """What Python writes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(native, "write", absent)
        return write(value) if indent is None else write_entry(value, " " * indent)


@needs_core
@settings(max_examples=1500, deadline=None)
@given(OBJECTS | VALUES | st.dictionaries(TEXT | KEYS | WORDS, TEXT | KEYS | WORDS), st.integers(0, 9))
def test_values_are_written_as_by_python(value: Value, indent: int) -> None:
    text = native.write(value)
    assert text is None or text == written(value)
    if isinstance(value, dict):
        text = native.write(value, indent)
        assert text is None or text == written(value, indent)


class Word(str):
    __slots__ = ()


def nested(depth: int) -> Value:
    value: Value = {"a": 1}
    for _ in range(depth):
        value = {"a": value}
    return value


UNWRITTEN: list[Any] = [
    *({}, [], "a", None, 1),
    *({"a": 1.5}, {"a": 1 << 64}, {1: 2}, {"a": "\ud800"}, {"a": Word("b")}, {"a" * 2000: 1}, nested(200)),
]


@needs_core
@pytest.mark.parametrize("value", UNWRITTEN, ids=lambda value: repr(value)[:20])
def test_values_that_python_has_to_write_or_refuse(value: Any) -> None:
    assert native.write(value) is None


@needs_core
def test_values_with_tuples_and_lists_of_lists() -> None:
    value: dict[str, Any] = {
        "a": ((1, ("b",)), [[], {}], ()),
        "c": [{"d": [{"e": "f\ng\n"}]}],
        "h": -(1 << 63),
        "i": "j\n\nk",
    }
    assert native.write(value) == written(value)


def cuts(text: str) -> Any:
    """The pieces that a list is cut into."""
    parsed = ResourceList.parse(text)
    return [(item.source, item.value) for item in parsed.items], parsed.to_text()


HEAD = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n"


@needs_core
@settings(max_examples=1000, deadline=None)
@given(
    st.lists(st.sampled_from(["- a: 1", "  b: 2", "-", "  c: d", "", "# e", "- 'f", "- g'", "x: y", "-z", "\t", "\r"]))
)
def test_a_list_is_cut_at_the_same_lines(body: list[str]) -> None:
    for indent in ("", "  "):
        text = HEAD + "".join(f"{indent}{line}\n" for line in body)
        assert outcome_of_cut(text) == by_python_alone(text)


def outcome_of_cut(text: str) -> Any:
    try:
        return cuts(text)
    except ValueError as error:
        return str(error)


def by_python_alone(text: str) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        for name in ("entries", "read"):
            patch.setattr(native, name, absent)
        return outcome_of_cut(text)


@needs_core
def test_a_list_with_other_characters_is_cut_by_python() -> None:
    text = f"{HEAD}- a: 'é'\n- b: 1\n"
    assert native.entries(text, len(HEAD), 0) is None
    assert native.entries(text.replace("é", "e"), len(HEAD), 0) == (len(text), [len(HEAD), len(HEAD) + 9])
    assert native.entries("", 0, 0) == (0, [])
    assert native.entries("", MAX_ITEMS, 0) is None


def odd_calls() -> Iterator[tuple[Any, tuple[Any, ...]]]:
    yield native.nearest, ("a: 1\n", ("a", None), False)
    yield native.nearest, ("a: 1\n", (-1,), False)
    yield native.key_lines, ("a: 1\n", (1 << 70,))
    yield native.set_string, ("a: 1\n", ("a", 0), "b")
    yield native.set_string, ("a: 1\n", (), "b")
    yield native.set_string, ("a: 1\n", ("a",), "\udc00")
    yield native.nearest, ("", (), False)
    yield native.key_lines, ("", ())


@needs_core
@pytest.mark.parametrize(("function", "arguments"), list(odd_calls()))
def test_paths_and_values_that_the_core_does_not_know_are_left_to_python(function: Any, arguments: Any) -> None:
    assert function(*arguments) is None


LIMITED = """
import resource, sys
from krmfn.run import run
limit = int(sys.argv[1])
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
sys.exit(run(lambda rl: rl.map(lambda item: item.with_annotation("a", "b"))))
"""


@needs_core
@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not limit the memory of a process")
def test_too_little_memory_is_an_error_as_in_python() -> None:
    text = "".join(resource_list(2000))
    codes: list[int] = []
    for megabytes in range(60, 200, 10):
        command = [sys.executable, "-c", LIMITED, str(megabytes << 20)]
        done = subprocess.run(command, input=text, capture_output=True, text=True, check=False, timeout=60)
        codes.append(done.returncode)
        assert (done.returncode, done.stderr) in ((0, ""), (1, f"{NO_MEMORY}\n")), megabytes
    assert set(codes) == {0, 1}
