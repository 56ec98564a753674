"""The syntax tree of a compiled expression, read from the bytes that the runtime writes it as.

Source: cel-spec, proto/cel/expr/checked.proto and syntax.proto. Macros are expanded: `all` and `map` are loops.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    Field = tuple[int, "int | bytes"]

__all__ = ["Call", "Comprehension", "Constant", "Ident", "ListOf", "Node", "Select", "read_tree"]


class Constant(NamedTuple):
    """A literal; its bytes are what it takes in memory beyond a scalar. `text` is what one of a text says."""

    size: int
    text: str | None = None


class Ident(NamedTuple):
    """A variable."""

    name: str


class Select(NamedTuple):
    """A field of a mapping; `is_test`: whether it is there (`has`)."""

    operand: Node
    field: str
    is_test: bool


class Call(NamedTuple):
    """A function or an operator; a method's target is the first of its arguments."""

    function: str
    arguments: tuple[Node, ...]


class ListOf(NamedTuple):
    """A literal of a list, or of a mapping with its keys and values in turn."""

    elements: tuple[Node, ...]


class Comprehension(NamedTuple):
    """A loop over `iterated` that folds into the variable `accumulator`."""

    variables: tuple[str, ...]
    iterated: Node
    accumulator: str
    start: Node
    condition: Node
    step: Node
    result: Node


Node = Constant | Ident | Select | Call | ListOf | Comprehension


def read_tree(data: bytes) -> Node:
    """The tree of an expression that is compiled. Raises ValueError where the bytes are of another form."""
    (checked,) = _parts(data, 2)
    (tree,) = _parts(checked, 4)
    return _node(tree)


def _node(data: bytes) -> Node:
    for number, content in _fields(data):
        if number in _KINDS and isinstance(content, bytes):
            return _KINDS[number](content)
    raise ValueError("an expression of no known kind")


def _constant(data: bytes) -> Node:
    texts = [content.decode() for number, content in _fields(data) if number == 6 and isinstance(content, bytes)]
    return Constant(len(data), texts[0] if texts else None)


def _ident(data: bytes) -> Node:
    return Ident(_text(data, 1))


def _select(data: bytes) -> Node:
    is_test = any(number == 3 and content == 1 for number, content in _fields(data))
    (operand,) = _parts(data, 1)
    return Select(_node(operand), _text(data, 2), is_test)


def _call(data: bytes) -> Node:
    arguments = [*_parts(data, 1), *_parts(data, 3)]
    return Call(_text(data, 2), tuple(_node(argument) for argument in arguments))


def _list(data: bytes) -> Node:
    return ListOf(tuple(_node(element) for element in _parts(data, 1)))


def _struct(data: bytes) -> Node:
    entries = [part for entry in _parts(data, 2) for part in (*_parts(entry, 3), *_parts(entry, 4))]
    return ListOf(tuple(_node(part) for part in entries))


def _comprehension(data: bytes) -> Node:
    variables = tuple(name for number in (1, 8) if (name := _text(data, number)))
    nodes = [_node(part) for number in (2, 4, 5, 6, 7) for part in _parts(data, number)]
    iterated, start, condition, step, result = nodes
    return Comprehension(variables, iterated, _text(data, 3), start, condition, step, result)


_KINDS = {3: _constant, 4: _ident, 5: _select, 6: _call, 7: _list, 8: _struct, 9: _comprehension}


def _parts(data: bytes, wanted: int) -> list[bytes]:
    return [content for number, content in _fields(data) if number == wanted and isinstance(content, bytes)]


def _text(data: bytes, wanted: int) -> str:
    return b"".join(_parts(data, wanted)).decode()


def _fields(data: bytes) -> Iterator[Field]:
    """The fields of a message, by number: integers, and the bytes of texts and messages."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        kind = key & 7
        if kind == 0:
            number, at = _varint(data, at)
            yield key >> 3, number
        elif kind == 2:
            length, at = _varint(data, at)
            if at + length > len(data):
                raise ValueError("a message that is cut off")
            yield key >> 3, data[at : at + length]
            at += length
        elif kind in (1, 5):
            at += 8 if kind == 1 else 4
        else:
            raise ValueError(f"a field of wire type {kind}")


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(data):
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
    raise ValueError("a number that is cut off")
