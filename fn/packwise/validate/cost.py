"""The highest cost of an evaluation, computed beforehand from the syntax tree and the values of the variables.

The runtime limits iterations but not memory. It keeps each list and text until the end, and copies a list for each
entry that `map` adds. The cost is the number of bytes that are kept or read, so that a limit also limits the time.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING, Record, cast
from packwise.validate.structure import match_cost

if TYPE_CHECKING:
    from collections.abc import Mapping

    from krmfn.value import Value

# The syntax tree of a compiled expression is read from the bytes that the runtime serializes. Its macros are expanded:
# `all` and `map` are loops. Source: cel-spec, proto/cel/expr/checked.proto and syntax.proto.

if TYPE_CHECKING:
    from collections.abc import Iterator

    Field = tuple[int, "int | bytes"]


class Constant(Record):
    """A literal. `size` is the number of bytes beyond a scalar. `text` is the content of a string, or None."""

    size: int
    text: str | None = None


class Ident(Record):
    """A variable."""

    name: str


class Select(Record):
    """A field of a mapping. If `is_test`, the result is the presence of the field (`has`) and not its value."""

    operand: Node
    field: str
    is_test: bool


class CelCall(Record):
    """A call of a function, an operator or a method. The target of a method is its first argument."""

    function: str
    arguments: tuple[Node, ...]


class ListOf(Record):
    """A literal of a list or of a mapping. The elements of a mapping are its keys, each followed by its value."""

    elements: tuple[Node, ...]


class Comprehension(Record):
    """A loop over `iterated` that folds into the variable `accumulator`."""

    variables: tuple[str, ...]
    iterated: Node
    accumulator: str
    start: Node
    condition: Node
    step: Node
    result: Node


Node = Constant | Ident | Select | CelCall | ListOf | Comprehension


def read_tree(data: bytes) -> Node:
    """Return the syntax tree of a compiled expression. Raise ValueError if `data` has another format."""
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
    return CelCall(_text(data, 2), tuple(_node(argument) for argument in arguments))


def _list(data: bytes) -> Node:
    return ListOf(tuple(_node(element) for element in _parts(data, 1)))


def _struct(data: bytes) -> Node:
    entries = [part for entry in _parts(data, 2) for part in (*_parts(entry, 3), *_parts(entry, 4))]
    return ListOf(tuple(_node(part) for part in entries))


def _comprehension(data: bytes) -> Node:
    variables = tuple(name for number in (1, 8) if (name := _text(data, number)))
    nodes = [_node(part) for number in (2, 4, 5, 6, 7) for part in _parts(data, number)]
    iterated, start, condition, step, result = nodes
    return Comprehension(
        variables=variables,
        iterated=iterated,
        accumulator=_text(data, 3),
        start=start,
        condition=condition,
        step=step,
        result=result,
    )


_KINDS = {3: _constant, 4: _ident, 5: _select, 6: _call, 7: _list, 8: _struct, 9: _comprehension}


def _parts(data: bytes, wanted: int) -> list[bytes]:
    return [content for number, content in _fields(data) if number == wanted and isinstance(content, bytes)]


def _text(data: bytes, wanted: int) -> str:
    return b"".join(_parts(data, wanted)).decode()


def _fields(data: bytes) -> Iterator[Field]:
    """Yield the number and the content of each field: an integer, or the bytes of a text or a message."""
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


MAX_COST = 128 * 1024 * 1024
"""The largest number of bytes that one evaluation of a rule may store or read."""

MAX_COST_OF_OBJECT = 1 << 30
"""The largest number of bytes that all rules together may store or read for one object. API servers have a similar
limit for a request.
"""

MIN_COST = 8 << 10
"""The smallest cost of an evaluation. Even an empty evaluation takes as long as reading this number of bytes."""

MAX_ITERATIONS = 10_000
"""The runtime's own limit of the iterations of all loops in an evaluation."""

_SCALAR = 32
"""The bytes of a value, without the characters of a text. An entry of a list needs as many in the runtime."""

_PLAIN = frozenset({
    "!_", "-_", "_!=_", "_%_", "_&&_", "_*_", "_-_", "_/_", "_<=_", "_<_", "_==_", "_>=_", "_>_", "_||_", "@in", "in",
    "@not_strictly_false", "__not_strictly_false__", "bool", "contains", "double", "duration", "endsWith", "getDate",
    "getDayOfMonth", "getDayOfWeek", "getDayOfYear", "getFullYear", "getHours", "getMilliseconds", "getMinutes",
    "getMonth", "getSeconds", "hasValue", "indexOf", "int", "lastIndexOf", "matches", "optional.none", "size",
    "startsWith", "timestamp", "type", "uint",
})  # fmt: skip
"""Functions that return a scalar of fixed size."""

_SEARCHES = frozenset({"contains", "indexOf", "lastIndexOf", "matches", "split"})
"""Functions that may read the second argument again at each position of the first."""
_BYTES_PER_STEP = 64
"""The number of bytes of two texts that the runtime compares in the time of one step. For `contains`, Kubernetes
assumes 100.
"""

_TEXTS = frozenset({
    "bytes", "charAt", "lowerAscii", "reverse", "string", "strings.quote", "substring", "trim", "upperAscii",
})  # fmt: skip
"""Functions that return a text at most a few times as long as the first argument."""
_LONGER = 8

_PARTS = frozenset({"_[_]", "_?._", "_[?_]"})
_SAME = frozenset({"dyn", "optional.of", "optional.ofNonZeroValue", "value"})
_ANY_OF = frozenset({"or", "orValue"})


class _Weight(Record):
    """The largest weight, in bytes, of a value and of an entry in it. `value` is None if it is unknown."""

    weight: int
    entry: int
    value: Value = None

    @property
    def text(self) -> str | None:
        """Return the text if it is known, or None."""
        return self.value if isinstance(self.value, str) else None

    @property
    def length(self) -> int:
        """Return the largest possible number of entries of the value."""
        if isinstance(self.value, (list, dict)):
            return len(self.value)
        return max(self.weight // _SCALAR - 1, 0)


_FLAT = _Weight(_SCALAR, 0)


class _UnboundedError(Exception):
    """Raised if the cost of a part of the tree has no known limit."""


def cost_of(tree: Node, variables: Mapping[str, Value]) -> int | None:
    """Return an upper limit of an evaluation's cost in bytes. Return None if a function has no known limit."""
    bounding = _Bounding()
    try:
        bound = bounding.of(tree, {name: bounding.weigh(value) for name, value in variables.items()}, 1)
    except _UnboundedError:
        return None
    return bounding.total + bound.weight


def weight_of(value: Value) -> int:
    """Return the number of bytes of a value that is passed to an evaluation."""
    return _Bounding().weigh(value).weight


class _Bounding:
    """One walk through a syntax tree. `total` adds up the costs of the nodes, each times its number of evaluations."""

    __slots__ = ("_weights", "total")

    def __init__(self) -> None:
        self.total = 0
        self._weights: dict[int, int] = {}

    def weigh(self, value: Value) -> _Weight:
        """Return the weight of a known value."""
        weight = self._weight(value)
        entries: list[Value] = []
        if isinstance(value, list):
            entries = value
        elif isinstance(value, dict):
            entries = [*value, *value.values()]
        return _Weight(weight, max([self._weight(entry) for entry in entries], default=0), value)

    def of(self, node: Node, names: Mapping[str, _Weight], times: int) -> _Weight:
        """Return the largest weight of the result of `node` and add the cost of its `times` evaluations."""
        if isinstance(node, Constant):
            return _Weight(_SCALAR + node.size, 0, node.text)
        if isinstance(node, Ident):
            # A name that is not a variable is the name of a type.
            return names.get(node.name, _FLAT)
        if isinstance(node, Select):
            part = self._part(self.of(node.operand, names, times), node.field)
            self._add(_SCALAR if node.is_test or isinstance(part.value, (dict, list)) else part.weight, times)
            return _FLAT if node.is_test else part
        if isinstance(node, ListOf):
            entries = [self.of(element, names, times) for element in node.elements]
            self._add(_SCALAR * (1 + len(entries)), times)
            weights = [entry.weight for entry in entries]
            return _Weight(_SCALAR + sum(weights), max(weights, default=0))
        if isinstance(node, Comprehension):
            return self._comprehension(node, names, times)
        return self._call(node, names, times)

    def _call(self, node: CelCall, names: Mapping[str, _Weight], times: int) -> _Weight:
        function = node.function
        arguments = [self.of(argument, names, times) for argument in node.arguments]
        first = arguments[0] if arguments else _FLAT
        weight = sum([argument.weight for argument in arguments])
        if function in _SEARCHES:
            self._add(_search_cost(function, arguments), times)
        if function in _PLAIN:
            is_looked_at = len(arguments) > 1 or not isinstance(first.value, (dict, list))
            self._add(weight if is_looked_at else _SCALAR, times)
            return _FLAT
        if function == "_?_:_":
            return _largest_weight(arguments[1:])
        if function in _ANY_OF:
            return _largest_weight(arguments)
        if function in _SAME:
            return first
        if function in _PARTS:
            part = self._part(first)
            self._add(part.weight, times)
            return part
        if function == "_+_":
            bound = _Weight(weight, max([argument.entry for argument in arguments]))
        elif function == "split":
            bound = _Weight(_SCALAR * (first.weight + 2) + first.weight, first.weight)
        elif function in _TEXTS:
            bound = _Weight(_SCALAR + _LONGER * first.weight, 0)
        else:
            raise _UnboundedError
        self._add(bound.weight, times)
        return bound

    def _comprehension(self, node: Comprehension, names: Mapping[str, _Weight], times: int) -> _Weight:
        iterated, start = self.of(node.iterated, names, times), self.of(node.start, names, times)
        length = min(iterated.length, MAX_ITERATIONS)
        if isinstance(node.iterated, ListOf) and not node.iterated.elements:
            # The loop over an empty list comes from a macro that only binds a name to a value.
            return self.of(node.result, {**names, node.accumulator: start}, times)
        entry = _Weight(iterated.entry, iterated.entry)
        inner = {**names, **dict.fromkeys(node.variables, entry)}
        repeated = min(times * length, MAX_ITERATIONS)
        added = self._step(node.step, node.accumulator, {**inner, node.accumulator: _FLAT}, repeated)
        folded = start
        if added is not None:
            folded = _Weight(start.weight + length * added.weight, max(start.entry, added.entry))
            # The runtime copies the list for each added entry.
            self._add(_SCALAR * length // 2, repeated)
        self.of(node.condition, {**inner, node.accumulator: folded}, repeated)
        return self.of(node.result, {**names, node.accumulator: folded}, times)

    def _step(self, step: Node, accumulator: str, names: Mapping[str, _Weight], times: int) -> _Weight | None:
        """Return the largest weight of an entry that a step adds to a list. Return None if the step folds scalars.

        The expanded macros have no other steps. Raise _UnboundedError for any other step.
        """
        if step == Ident(accumulator):
            return None
        if isinstance(step, CelCall) and step.function == "_?_:_":
            condition, *branches = step.arguments
            self.of(condition, names, times)
            added = [each for branch in branches if (each := self._step(branch, accumulator, names, times)) is not None]
            return _largest_weight(added) if added else None
        if (
            isinstance(step, CelCall)
            and step.function in ("_&&_", "_||_", "_+_")
            and Ident(accumulator) in step.arguments
        ):
            bounds = [self.of(each, names, times) for each in step.arguments if each != Ident(accumulator)]
            self._add(_SCALAR, times)
            is_list = step.function == "_+_" and any(isinstance(each, ListOf) for each in step.arguments)
            return _largest_weight(bounds) if is_list else None
        raise _UnboundedError

    def _part(self, whole: _Weight, field: str = "") -> _Weight:
        """Return the weight of a field or an entry of `whole`."""
        if field and isinstance(whole.value, dict):
            return self.weigh(whole.value[field]) if field in whole.value else _FLAT
        return _Weight(whole.entry, whole.entry)

    def _add(self, weight: int, times: int) -> None:
        self.total += weight * times

    def _weight(self, value: Value) -> int:
        if isinstance(value, str):
            return _SCALAR + len(value.encode())
        if not isinstance(value, (dict, list)):
            return _SCALAR
        known = self._weights.get(id(value))
        if known is None:
            parts: list[Value] = (
                value if isinstance(value, list) else [*value, *cast("Mapping[str, Value]", value).values()]
            )
            known = self._weights[id(value)] = _SCALAR + sum([self._weight(part) for part in parts])
        return known


def _search_cost(function: str, arguments: list[_Weight]) -> int:
    """Return the cost of a search, without the cost to read each argument once."""
    if len(arguments) < 2:
        return 0
    text, wanted = arguments[:2]
    if function == "matches":
        return match_cost(wanted.text, wanted.weight, text.weight)
    return text.weight * wanted.weight // _BYTES_PER_STEP


def _largest_weight(bounds: list[_Weight]) -> _Weight:
    weights, entries = [bound.weight for bound in bounds], [bound.entry for bound in bounds]
    return _Weight(max(weights, default=0), max(entries, default=0))
