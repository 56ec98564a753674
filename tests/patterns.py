"""The regular expressions of the code, and texts that would keep one of them busy.

The expressions come from the syntax trees of the modules, not from a list. The search finds growth with the square of
a text or faster if one or two repeats cause it: repeats of the same characters, a repeat within another, a search that
starts again after each character. It does not find growth that only a text of several parts would show.
"""

from __future__ import annotations

import ast
import builtins
import importlib
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, cast

from krmfn.hints import as_dict
from tests.places import ROOT

__all__ = ["LENGTH", "Use", "attacks", "patterns_that_are_data", "uses", "uses_of_data"]

FN = ROOT / "fn"
# The library has no types.
_parser: Any = importlib.import_module("re._parser")
LENGTH = 80_000
"""The length of an attack. With quadratic growth it takes seconds, and with linear growth a millisecond."""

_NAMED = re.compile(r"\bre\b|pattern")
"""Words in a module that has a regular expression, or passes one on."""

_ONCE = ("match", "fullmatch")
_ANYWHERE = ("search", "finditer", "findall", "split", "sub", "subn")
_FLAGS_AT = {"compile": 1, "split": 3, "sub": 4, "subn": 4}


@dataclass(frozen=True, slots=True)
class Use:
    """An expression of the code, its use (`match`, `fullmatch` or `finditer`), and its file."""

    pattern: str | bytes
    flags: int
    method: str
    file: str

    def run(self, text: str) -> None:
        """Use the expression on a text."""
        compiled: re.Pattern[Any] = re.compile(self.pattern, self.flags)
        found = getattr(compiled, self.method)(text.encode() if isinstance(self.pattern, bytes) else text)
        if self.method == "finditer":
            for _ in found:
                pass


def uses(folder: Path = FN) -> set[Use]:
    """Return every use of `re` in the code.

    If a name is known only at run time, such as a parameter, a letter replaces it.
    """
    return {use for module in _modules(folder) for use in module.uses()}


def uses_of_data(folder: Path = FN) -> set[tuple[str, str]]:
    """Yield the uses of expressions from parameters or fields: the file, and the expression as written there."""
    return {use for module in _modules(folder) for use in module.uses_of_data()}


def patterns_that_are_data(folder: Path = FN) -> set[Use]:
    """Return the expressions that are passed to other code by the name `pattern`, or that are compiled in a list."""
    return {use for module in _modules(folder) for use in module.given()}


@cache
def _modules(folder: Path) -> list[_Module]:
    texts = {path: path.read_text(encoding="utf-8") for path in sorted(folder.rglob("*.py"))}
    return [_Module(path, ast.parse(text), folder) for path, text in texts.items() if _NAMED.search(text)]


class _Module:
    def __init__(self, path: Path, tree: ast.Module, folder: Path) -> None:
        self._tree, self._file = tree, path.relative_to(folder)
        self._parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}

    def uses(self) -> Iterator[Use]:
        for node in ast.walk(self._tree):
            if isinstance(node, ast.ImportFrom):
                assert node.module != "re", f"{self._file}:{node.lineno}: must be `import re`, so that uses are found"
            called = node.func if isinstance(node, ast.Call) else None
            if not isinstance(node, ast.Call) or not isinstance(called, ast.Attribute) or _name(called.value) != "re":
                continue
            method = called.attr
            if method in ("compile", *_ONCE, *_ANYWHERE):
                at = _FLAGS_AT.get(method, 2)
                given = [keyword.value for keyword in node.keywords if keyword.arg == "flags"] or node.args[at : at + 1]
                flags = int(self._value(given[0])) if given else 0
                methods = {method} if method != "compile" else self._methods(node)
                for each in sorted({"finditer" if method in _ANYWHERE else method for method in methods}):
                    yield Use(self._value(node.args[0]), flags, each, self._file.as_posix())

    def uses_of_data(self) -> Iterator[tuple[str, str]]:
        for node in ast.walk(self._tree):
            called = node.func if isinstance(node, ast.Call) else None
            if not isinstance(node, ast.Call) or not isinstance(called, ast.Attribute) or _name(called.value) != "re":
                continue
            if called.attr in ("compile", *_ONCE, *_ANYWHERE) and self._is_data(node.args[0]):
                yield self._file.as_posix(), ast.unparse(node.args[0])

    def _is_data(self, expression: ast.expr) -> bool:
        known = {*self._names(), *vars(builtins)}
        if any(isinstance(node, ast.JoinedStr | ast.ListComp) for node in ast.walk(expression)):
            # A letter replaces a word within an expression.
            return False
        return any(isinstance(node, ast.Name) and node.id not in known for node in ast.walk(expression))

    def given(self) -> Iterator[Use]:
        file = self._file.as_posix()
        for node in ast.walk(self._tree):
            if isinstance(node, ast.keyword) and node.arg == "pattern" and not self._is_data(node.value):
                value = self._value(node.value)
                if isinstance(value, str):
                    yield Use(value, 0, "fullmatch", file)
        lists: list[Any] = [value for value in self._names().values() if type(value) in (list, tuple)]
        for entry in itertools.chain.from_iterable(lists):
            # No loop goes over the fields of a record.
            kind = cast("type[Any]", type(entry))
            is_record = hasattr(kind, "__match_args__") and issubclass(kind, tuple)
            values: Any = as_dict(entry).values() if is_record else entry
            parts = cast("Iterable[Any]", values if issubclass(kind, tuple) else (entry,))
            for part in parts:
                if isinstance(part, re.Pattern):
                    compiled = cast("re.Pattern[Any]", part)
                    yield Use(compiled.pattern, compiled.flags & ~re.UNICODE, "fullmatch", file)

    def _methods(self, node: ast.Call) -> set[str]:
        """Return the methods that are called on a compiled expression, or `search` if they are not obvious."""
        above = self._parents[node]
        if isinstance(above, ast.Attribute):
            return {above.attr}
        names = {_name(target) for target in above.targets} if isinstance(above, ast.Assign) else set[str]()
        found = [
            each for each in ast.walk(self._tree) if isinstance(each, ast.Attribute) and _name(each.value) in names
        ]
        return {each.attr for each in found} & {*_ONCE, *_ANYWHERE} or {"search"}

    def _names(self) -> dict[str, Any]:
        parts = [part for part in self._file.with_suffix("").parts if part != "__init__"]
        return vars(importlib.import_module(".".join(parts)))

    def _value(self, expression: ast.expr) -> Any:
        names = self._names()
        return eval(compile(ast.Expression(expression), str(self._file), "eval"), names, _Scope(names))  # noqa: S307


class _Scope(dict[str, Any]):
    """The names of a module, and Python's built-in names."""

    def __init__(self, names: Mapping[str, Any]) -> None:
        super().__init__({**vars(builtins), **names})

    def __missing__(self, name: str) -> str:
        return "a"


def _name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else ""


# ---- Texts that could keep an expression busy ----

Node = tuple[Any, Any]
_ENDS = ("", "\n\0")
_USUAL = 'a0 \n\t!"-_.,:/=]~é'
_SINGLE = frozenset({"LITERAL", "NOT_LITERAL", "ANY", "IN"})


def attacks(use: Use) -> Iterator[str]:
    """Yield texts that nearly match, from the structure of the expression.

    Each is a start (the text before a repeat), something repeated, and an end that fits nowhere, or no end. The middle
    matches the repeat, the repeat with its start, or characters that the expression tells apart.
    """
    tree = _parser.parse(use.pattern, use.flags)
    samples = _Samples(list(tree), tree.state.flags)
    letters = samples.letters
    found: dict[tuple[str, str], None] = {}
    for before, body in _repeats(list(tree), []):
        start = samples.of(before)[0]
        for word in samples.of(body):
            found |= dict.fromkeys([(start, word), ("", start + word), (start, word + word[:1])])
        found |= dict.fromkeys([(start, letter) for letter in letters])
    found |= dict.fromkeys([("", "".join(pair)) for pair in itertools.permutations(letters[:3], 2)])
    for (start, pump), end in itertools.product(found, _ENDS):
        if pump:
            yield start + pump * (LENGTH // len(pump)) + end


def _inner(node: Node) -> list[list[Node]]:
    """Return the sequences within a node."""
    name, value = str(node[0]), node[1]
    if name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
        return [list(value[2])]
    if name == "SUBPATTERN":
        return [list(value[3])]
    if name == "BRANCH":
        return [list(branch) for branch in value[1]]
    if name in ("ASSERT", "ASSERT_NOT"):
        return [list(value[1])]
    return [list(value)] if name == "ATOMIC_GROUP" else []


def _repeats(tree: list[Node], before: list[Node]) -> Iterator[tuple[list[Node], list[Node]]]:
    """Yield the text before each repeat, and the repeated part."""
    for index, node in enumerate(tree):
        here = [*before, *tree[:index]]
        for inner in _inner(node):
            if str(node[0]).endswith("_REPEAT"):
                yield here, inner
            yield from _repeats(inner, here)


class _Samples:
    """A few words that match the nodes of an expression.

    `letters` has a letter for each set of nodes that it matches.
    """

    def __init__(self, tree: Sequence[Node], flags: int) -> None:
        self._flags = flags
        singles = list(_singles(tree))
        named = [chr(code) for node in singles for code in _codes(node)]
        known = {tuple(self._takes(node, char) for node in singles): char for char in (*named[::-1], *_USUAL[::-1])}
        self._all = [char for takes, char in known.items() if any(takes)]
        self.letters = self._all[-8:]

    def of(self, nodes: Sequence[Node]) -> list[str]:
        words = [""]
        for node in nodes:
            words = [word + more for more in self._node(node) or [""] for word in words][:3]
        return words

    def _node(self, node: Node) -> list[str]:
        name, value = str(node[0]), node[1]
        if name in _SINGLE:
            return [char for char in self._all if self._takes(node, char)][-2:]
        if name.endswith("_REPEAT"):
            return [word * max(min(value[0], 50), 1) for word in self.of(list(value[2]))]
        if name in ("ASSERT", "ASSERT_NOT", "AT", "GROUPREF"):
            return []
        return [self.of(inner)[0] for inner in _inner(node)][:3]

    def _takes(self, node: Node, char: str) -> bool:
        """Return True if a node for one character matches this character."""
        name, value = str(node[0]), node[1]
        if name in ("LITERAL", "NOT_LITERAL"):
            return (chr(value) == char) == (name == "LITERAL")
        if name == "ANY":
            return char != "\n" or bool(self._flags & re.DOTALL)
        items = list(value)
        is_negated = str(items[0][0]) == "NEGATE"
        return any(_holds(item, char) for item in items) != is_negated


_CATEGORIES = {"DIGIT": r"\d", "SPACE": r"\s", "WORD": r"\w", "NOT_DIGIT": r"\D", "NOT_SPACE": r"\S", "NOT_WORD": r"\W"}


def _holds(item: Node, char: str) -> bool:
    name, value = str(item[0]), item[1]
    if name == "RANGE":
        return value[0] <= ord(char) <= value[1]
    if name == "CATEGORY":
        category = _CATEGORIES[str(value).removeprefix("CATEGORY_").removeprefix("UNI_")]
        return re.match(category, char) is not None
    return name == "LITERAL" and chr(value) == char


def _singles(tree: Sequence[Node]) -> Iterator[Node]:
    for node in tree:
        if str(node[0]) in _SINGLE:
            yield node
        for inner in _inner(node):
            yield from _singles(inner)


def _codes(node: Node) -> Iterator[int]:
    name, value = str(node[0]), node[1]
    if name in ("LITERAL", "NOT_LITERAL"):
        yield value
    elif name == "RANGE":
        yield from value
    elif name == "IN":
        for item in value:
            yield from _codes(item)
