"""Documents for property tests: a value in one of the many spellings that YAML permits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from krmfn.yamltext import resolve
from krmfn.yamltext.writer import double_quote, literal_lines

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

    from krmfn.value import Scalar, Value

TEXT = st.text(
    st.one_of(
        st.sampled_from("ab01 -:#'\"\\{}[],&*!|>%@`?=~_.yn\n\té日\U0001f600\u0085\u2028\ufeff\u00a0"),
        st.characters(exclude_categories=("Cs",)),
    ),
    max_size=12,
)
KEYS = st.one_of(
    st.sampled_from(
        ["a", "b", "metadata", "grove.io/x", "y", "on", "012", "1", "null", "<<", "=", "a b", "é", "", "-", "a: b"]
    ),
    TEXT,
)
WORDS = st.sampled_from(
    [
        "a",
        "b",
        "y",
        "n",
        "yes",
        "NO",
        "on",
        "off",
        "True",
        "null",
        "~",
        "012",
        "0o14",
        "1_000",
        "0755",
        "089",
        "0_x1F",
        "--a=$(B_C)",
        ".5",
        "1e3",
        "1:30",
        "2001-01-01",
        "<<",
        "=",
        "-",
        "--",
        "0x1F",
        ".inf",
        "NaN",
        "inf",
        "1.2.3",
        "8Gi",
        "_1",
        "+1",
        "0",
    ]
)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    WORDS,
    TEXT,
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(KEYS, inner, max_size=4)),
    max_leaves=12,
)
OBJECTS = st.dictionaries(KEYS, VALUES, min_size=1, max_size=4)


class Speller:
    """A writer of values as text. A random source makes every choice."""

    def __init__(self, random: Random) -> None:
        self.random = random

    def document(self, value: dict[str, Value]) -> str:
        """Return a document with comments, any mix of styles, LF or CRLF, with or without a last line end."""
        lines = ["# head"] if self.chance() else []
        lines += self.block(value, 0)
        if self.chance():
            lines.append("# end")
        end = self.random.choice(["\n", "\n", "\r\n"])
        return end.join(lines) + (end if self.chance(0.8) else "")

    def chance(self, odds: float = 0.3) -> bool:
        return self.random.random() < odds

    def comment(self) -> str:
        return " # note: {x}" if self.chance() else ""

    def block(self, value: Value, indent: int) -> list[str]:
        """Return the lines of a mapping or list that is not empty."""
        space = " " * indent
        out: list[str] = []
        if isinstance(value, dict):
            step = self.random.choice([2, 2, 2, 1, 4])
            for name, item in value.items():
                if self.chance(0.15):
                    out += ["", f"{space}# about the next"]
                out += self.entry(space + self.scalar(name, key=True) + ":", item, indent, step)
        elif isinstance(value, (list, tuple)):
            for item in value:
                if isinstance(item, (dict, list)) and item and self.chance(0.7):
                    first, *rest = self.block(item, indent + 2)
                    while not first.strip() or first.lstrip().startswith("#"):
                        first, *rest = rest
                    out += [f"{space}- {first[indent + 2 :]}", *rest]
                else:
                    out += self.entry(space + "-", item, indent, 2)
        return out

    def entry(self, head: str, item: Value, indent: int, step: int) -> list[str]:
        if isinstance(item, str) and self.chance() and (lines := literal_lines(item)) is not None:
            mark = "|" if item.endswith("\n") else "|-"
            return [f"{head} {mark}{self.comment()}", *(" " * (indent + step) + line if line else "" for line in lines)]
        if isinstance(item, (dict, list)) and item and self.chance(0.75):
            deeper = indent + step
            if isinstance(item, list) and not head.endswith("-") and self.chance(0.5):
                deeper = indent
            return [head + self.comment(), *self.block(item, deeper)]
        if item is None and self.chance():
            return [head + self.comment()]
        return [f"{head} {self.flow(item)}{self.comment()}"]

    def flow(self, value: Value) -> str:
        if isinstance(value, dict):
            return "{" + ", ".join(f"{self.scalar(k, key=True)}: {self.flow(v)}" for k, v in value.items()) + "}"
        if isinstance(value, (list, tuple)):
            return "[" + ", ".join(self.flow(v) for v in value) + "]"
        return self.scalar(value)  # pyright: ignore[reportArgumentType]

    def scalar(self, value: Scalar, *, key: bool = False) -> str:
        if isinstance(value, str):
            if value.isascii() and value.isalnum() and resolve(value) == value and self.chance(0.7):
                return value
            if value.isascii() and value.isprintable() and value and self.chance(0.5):
                return "'" + value.replace("'", "''") + "'"
            return double_quote(value)
        if value is None:
            return self.random.choice(["null", "~"])
        if isinstance(value, bool):
            return str(value).lower() if key or self.chance(0.7) else str(value)
        return repr(value)


@st.composite
def documents(draw: st.DrawFn) -> tuple[str, Any]:
    value: Any = draw(OBJECTS)
    random = draw(st.randoms(use_true_random=False))
    return Speller(random).document(value), value


# Texts with anchors, aliases, merges, tags and brackets, which readers read differently. Most of them are refused.
_MARKS = st.sampled_from(
    ["", "", "", "", "&a ", "&b ", "! ", "!!str ", "!!map ", "!!seq ", "!!int ", "!!merge ", "!t ", "&a ! ", "! &b "]
)
_LEAVES = st.sampled_from(
    ["1", "x", "x y", "''", '"q"', "", "~", "1.5", "<<", "'<<'", "=", "-", "a:b", "x?", "?y", "a?b", "http://a?b=c"]
)
_NAMES = st.sampled_from(["k", "l", "m", "n", "o", "x", "y", "'z'", "1", "1.5", "p?", "?q", "? r", "? "])
_MERGES = st.sampled_from(["<<", "<<", "<<", "! <<", "&a <<", "&b ! <<", "!!merge <<", "'<<'", "!!str <<", "? <<"])
_ALIASES = st.sampled_from(["*a", "*b"])
_KEYS = st.one_of(st.tuples(_MARKS, _NAMES).map("".join), _MERGES, _ALIASES.map("{} ".format))


def _in_brackets(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    pairs = st.tuples(_KEYS, st.sampled_from([": ", ": ", ":", " : ", ""]), inner).map("".join)
    mapping = st.lists(pairs, max_size=3).map(lambda pairs: f"{{{', '.join(pairs)}}}")
    items = st.lists(inner | pairs, max_size=3).map(lambda items: f"[{', '.join(items)}]")
    return st.tuples(_MARKS, mapping | items).map("".join)


_NODES = st.recursive(st.tuples(_MARKS, _LEAVES).map("".join) | _ALIASES, _in_brackets, max_leaves=6)


def _in_lines(inner: st.SearchStrategy[list[str]]) -> st.SearchStrategy[list[str]]:
    def deeper(lines: list[str]) -> list[str]:
        return [f"  {line}" for line in lines]

    pair = st.tuples(_KEYS, _NODES).map(lambda pair: [f"{pair[0]}: {pair[1]}"])
    fields = st.tuples(_KEYS, _MARKS, inner).map(lambda entry: [f"{entry[0]}: {entry[1]}", *deeper(entry[2])])
    items = inner.map(lambda lines: [f"- {lines[0]}", *deeper(lines[1:])])
    joined = (st.lists(pair | fields, min_size=1, max_size=4), st.lists(items, min_size=1, max_size=3))
    return st.one_of(*joined).map(lambda entries: [line for entry in entries for line in entry])


_ANCHORED = st.sampled_from(
    ["", "A: &a {x: 1, y: 2}\nB: &b {y: 3, z: 4}\n", "A: &a {x: 1}\nB: &b [*a, {q: 1}]\n", "A: &a x\nB: &b {r: &a 1}\n"]
)
ANCHORS = st.tuples(
    _ANCHORED, st.recursive(_NODES.map(lambda node: [node]), _in_lines, max_leaves=6).map("\n".join)
).map("".join)
"""Texts with anchors, nested and repeated."""

LINES = (
    *("a: 1", "b: two words", "c: 'q: # x'", '"d": "e"', "f: [g, 'h', 1.5, true, 2Mi, -3]", "i: {}", "j: [] # k"),
    *("l: -0", "m: -0.0", "n: 1.50", "o: 123456789012345678", "p: 100m", "q: true", "r: Null", "s: FALSE", "t: /u:v"),
    *("- w", "- x: y", "- - z", "- - aa: bb", "- 5", "- null", "- ''", "- [cc]", "- {}", "dd:", "ee: # ff", "- gg:"),
    *("l: 01", "m: 1e3", "n: .5", "o: 1.", "p: 0x1", "q: ~", "r: &a b", "s: *a", "t: !a b", "v: a# b", "<<: *a"),
    *(
        "w:  x  ",
        "x: a: b",
        "y: a:",
        "null: 1",
        "tULL: 1",
        "z: [a,b]",
        "aa: [ b ]",
        "bb: {c:d}",
        "cc: 'a''b'",
        "[a: b]",
    ),
    *('dd: "a\\n"', "ee: |", "ff: >-", "gg: |2+", "- ", "-", "-  gg", "- - - hh", "? ii", ": x", "---", "...", "{: x}"),
    *(
        "%YAML 1.2",
        "\tjj: 1",
        "kk: a\tb",
        "ll: '\u2028'",
        "mm: a\r",
        "nn: '\x85'",
        "oo: é",
        "qq: 'a' b",
        "   ",
        "\ufeff",
    ),
    *("ss : 1", "'tt' : 1", "uu:vv", "ww", "[xx]", "'yy'", "ab: -", "<<: {c: d}", "<<: [{a: b}]", "&k key: 1", "? [x]"),
    *("1: a", "true: b", "1.5: c", "- --model", "- $(MODEL)", "v: 4h0m0s", "w: 1.4.2", "- {name: a, path: /b}", "# c"),
    *("!!int x: 1", "y: !!int 1", "z: !!str 1", "zz: !!binary aGk=", "a: ! x", "b: !!float 1", "c: [!t, a]", "d: !t"),
)


@st.composite
def lines(draw: st.DrawFn, choices: Sequence[str]) -> str:
    """Draw lines, each deeper or less deep than the one before."""
    column, text = 0, ""
    for line in draw(st.lists(st.sampled_from(choices), min_size=1, max_size=8)):
        column = max(0, column + draw(st.sampled_from([0, 0, 0, 2, 2, -2, -2, -4, 1])))
        text += f"{' ' * column}{line}\n"
    return text if draw(st.integers(0, 19)) else text.removesuffix("\n")
