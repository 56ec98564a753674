from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from krmfn.fieldpath import FieldPath
from krmfn.value import Value
from krmfn.yamltext.reader import Row

VERSION: int

def write(value: Value | Mapping[str, Value] | Sequence[Value], indent: int | None = None, /) -> str | None: ...
def has_text(value: Value | Mapping[str, Value] | Sequence[Value], texts: frozenset[str], /) -> bool | None: ...

Type: TypeAlias = (
    type[str]
    | type[bool]
    | int
    | frozenset[str]
    | Shape
    | tuple[Type | None]
    | tuple[Type | None, Value, Mapping[str, str | None]]
    | Callable[[Value], bool]
)
Types: TypeAlias = tuple[
    Mapping[str, Type | None],
    Sequence[str],
    Sequence[str],
    Mapping[str, Value],
    Sequence[Callable[[Mapping[str, Value]], bool]],
]

class Shape:
    def __new__(cls, find: Callable[[], Types]) -> Shape: ...
    def fits(self, value: Value | Mapping[str, Value]) -> bool: ...

class Tree:
    def __new__(cls, text: str, most: int, too_many: str) -> Tree: ...
    def value(self) -> Value: ...
    def words(self, wanted: tuple[str, ...]) -> list[str] | None: ...
    def find(self, path: FieldPath, rest: bool) -> list[Row]: ...
    def entries(self, node: int) -> list[tuple[int, int, int]]: ...
    def part(self, text: str, entry: int, start: int, dash: int) -> Tree: ...
    def scalars(self) -> list[tuple[int, int, str]]: ...
    def shared_anchors(self) -> list[tuple[int, str]]: ...
