"""The value of a text and the places of its nodes, from the native core if installed, else from libyaml.

A place is an offset: a number of characters of the text, from 0.
"""

from __future__ import annotations

import re
from functools import cache

from krmfn.hints import TYPE_CHECKING, FieldPath, Protocol, Record

if TYPE_CHECKING:
    from typing import Any, TypeAlias

    from krmfn.value import Value


VERSION = 14
"""The version of the interface between the native core and krmfn. It changes with the arguments or the result of a
function.
"""


def _native_core():
    """Return the native core. Return None if it is absent or has another version than `VERSION`."""
    # This function states no return type. A type checker then infers the type of the module, with the types of its
    # functions.
    try:
        import krmfn_native
    except ImportError:
        return None
    return krmfn_native if krmfn_native.VERSION == VERSION else None


CORE = _native_core()
"""The native core, or None: the distribution krmfn-native, built from `fn/krmfn-native`.

Its results equal the results of the Python code, in less time. Without it, the Python code reads, writes and checks.
"""

READER = "libyaml, through PyYAML" if CORE is None else "krmfn-native"
"""The name of the reader for users."""


class TextError(ValueError):
    """An error at a place of a text.

    `line` and `column` are 1-based and count in the given text. Only LF ends a line, as in editors.
    """

    def __init__(self, message: str, line: int = 1, column: int = 1) -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.column = column

    def __str__(self) -> str:
        return f"{self.line}:{self.column}: {self.message}"

    def __reduce__(self) -> tuple[type[TextError], tuple[str, int, int]]:
        return type(self), (self.message, self.line, self.column)


class YamlError(TextError):
    """Raised if a text is not YAML or does not permit an edit."""


def line_and_column(text: str, offset: int) -> tuple[int, int]:
    """Return the 1-based line and column of the character at `offset`."""
    # libyaml also counts NEL, LS and PS as line ends. No editor does.
    return text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)


def error_at(text: str, offset: int, message: str) -> YamlError:
    """Return a YamlError with `message` that points at the character at `offset`."""
    return YamlError(message, *line_and_column(text, offset))


def error_at_byte(text: str, offset: int, message: str) -> YamlError:
    """Return the error with `message` about the byte at `offset` of `text`. A byte order mark is not counted."""
    whole = text.removeprefix("\ufeff")
    before = whole.encode("utf-8", "replace")[:offset].decode("utf-8", "ignore")
    return error_at(whole, len(before), message)


# Line breaks: LF and CRLF, and in YAML 1.1 also CR, NEL, LS and PS. libyaml and kyaml end a line at each of them.
# Editors, and therefore places in error messages, end a line only at LF.

BREAKS = ("\n", "\r", "\x85", "\u2028", "\u2029")
"""The characters that end a line. CR LF is one end."""


# The byte order mark is a separate alternative. A character class with it takes three times as long to compile.
_GAP = re.compile(r"(?:[ \t\r\n]|\ufeff|#[^\n]*)*")


def skip_gap(text: str, offset: int) -> int:
    """Return the offset of the first character from `offset` that is neither white space nor in a comment."""
    match = _GAP.match(text, offset)
    return match.end() if match else offset


def has_odd_breaks(text: str) -> bool:
    """Return True if a line of `text` ends with another character than LF or CRLF."""
    if "\r" in text and text.count("\r") != text.count("\r\n"):
        return True
    return not text.isascii() and any(mark in text for mark in BREAKS[2:])


def unify_breaks(text: str) -> str:
    """Return `text` with LF for each unusual line break. The length is the same, so offsets apply to both."""
    return _odd_break_pattern().sub("\n", text) if has_odd_breaks(text) else text


def restore_breaks(text: str, lined: str, edited: str) -> str:
    """Return `text` with the change from `lined` to `edited`. `lined` is the result of `unify_breaks` for `text`.

    Unusual line breaks outside the change are kept.
    """
    if lined is text:
        return edited
    if edited == lined:
        return text
    start = _common_prefix(lined, edited)
    back = _common_prefix(lined[start:][::-1], edited[start:][::-1])
    return text[:start] + edited[start : len(edited) - back] + text[len(text) - back :]


def _common_prefix(first: str, other: str) -> int:
    """Return the length of the common prefix."""
    low, high = 0, min(len(first), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if first[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


@cache
def _odd_break_pattern() -> re.Pattern[str]:
    return re.compile("\r(?!\n)|[\x85\u2028\u2029]")


MAX_NODES = 5_000_000
"""The largest number of mappings, lists and scalars in a text, including keys. They need about 1 GiB."""

MAX_DEPTH = 500
"""The largest depth of mappings and lists in a document. A deeper document is an error."""

_LEAST = 1
"""The least number of characters of a node, including the mark before it."""
_SPACE = r"[ \t\r\n]+"
_QUOTED = r'"(?:[^"\\]|\\.)*+"?'


def check_nodes(text: str) -> None:
    """Raise YamlError if `text` has more than MAX_NODES nodes, or is unreadable before that many.

    Aliases are not expanded here. `read` limits the nodes of expanded aliases.
    """
    if len(text) <= _LEAST * MAX_NODES or most_nodes(text) <= MAX_NODES:
        return
    if text.lstrip("\ufeff \t\r\n").startswith("{"):
        # JSON is not always YAML. Its nodes can be counted without a reader.
        if _count_json_nodes(text) > MAX_NODES:
            raise YamlError(too_many_nodes())
        return
    if CORE is None:
        # The native core counts while it reads. Without it, nodes in Python would need gigabytes, so count them first.
        from krmfn.yamltext.pyyaml import count_nodes

        count_nodes(text)


def most_nodes(text: str) -> int:
    """Return an upper limit for the number of nodes of `text`. Each node follows a mark, or starts the text."""
    return 1 + sum([text.count(mark) for mark in (",", "[", "{", ":", "\n", "- ", "? ")])


def _count_json_nodes(text: str) -> int:
    bare = re.sub(_SPACE, "", re.sub(_QUOTED, '"', text, flags=re.DOTALL))
    filled = bare.count("{") + bare.count("[") - bare.count("{}") - bare.count("[]")
    return 1 + filled + bare.count(",") + bare.count(":")


def too_many_nodes() -> str:
    """Return the message about a text with more than MAX_NODES nodes."""
    return f"must have at most {MAX_NODES} mappings, lists and scalars; split it"


Row: TypeAlias = "tuple[Any, ...]"
"""The fields of a YamlNode."""


class Tree(Protocol):
    """The nodes of the first document of a text, as far as it can be read."""

    def value(self) -> Value:
        """Return the value of the one document. Return None if empty. Raise YamlError if it is invalid."""
        ...

    def words(self, wanted: tuple[str, ...]) -> list[str] | None:
        """Return the words of `wanted` that are the text of a scalar in the document.

        Return None if only `value` can find them, if `value` would raise an error, or if the document is neither a
        mapping nor a list.
        """
        ...

    def find(self, path: FieldPath, rest: bool) -> list[Row]:
        """Return the existing nodes along `path`, the root first, or none for an empty document.

        With `rest`, the text after the last of them must be readable too. Raise YamlError if it is not.
        """
        ...

    def entries(self, node: int) -> list[tuple[int, int, int]]:
        """Return the number, start and end of each entry of a list. `node` is the `YamlNode.number` of the list."""
        ...

    def part(self, text: str, entry: int, start: int, dash: int) -> Tree:
        """Return the nodes of `text`, the lines of an entry of a block list, as if read alone.

        `entry` is the number of the entry's node. In the whole text, its lines begin at `start` and its dash is at
        `dash`.
        """
        ...

    def scalars(self) -> list[tuple[int, int, str]]:
        """Return start, end and style of each scalar with its anchor and tag.

        Raise YamlError if the text is invalid.
        """
        ...

    def shared_anchors(self) -> list[tuple[int, str]]:
        """Return the place and name of each anchor that an alias repeats. Raise YamlError if the text is invalid."""
        ...


class YamlNode(Record):
    """A node on a path, and the data about its entries before the next step of the path.

    If the whole path exists, its last node has no such data.
    """

    number: int
    """Index among all nodes, in the order of the text."""
    kind: str
    """One of mapping, list, scalar and alias."""
    style: str
    """The mark of a scalar (`"`, `'`, `|`, `>`, or "" for none), or block or flow for a mapping or list."""
    value: str
    """The text of a scalar, or the name of an alias."""
    anchor: str | None
    tag: str | None
    start: int
    """Start offset, including an anchor or tag."""
    end: int
    """Offset after the last character, without the following break. It is -1 if the text ends within the node."""
    mark_end: int
    """For a scalar, the end that the parser reports. For a mapping or list, the start of its closing token."""
    in_flow: int
    """1 within a flow collection, otherwise 0."""
    key_start: int
    key_end: int
    """End offset of the key that holds the node, or -1."""
    first: int
    """Start offset of the node's first key or item, or -1."""
    previous_end: int
    """End offset of the entry before the next step of the path, or -1. If that step does not exist, it is the end of
    the last entry.
    """
    last_key: str | None
    """The style of the key of that entry, or None for a list or if there is no such entry."""
    merges: int
    """1 if an entry up to the next step of the path has the key `<<`, otherwise 0."""
    count: int  # pyright: ignore[reportIncompatibleMethodOverride]
    """The number of entries before the next step of the path. If that step does not exist, it is the number of all
    entries.
    """
    next_start: int
    """Start offset of the next key or item in the node's parent, or -1."""

    @property
    def is_flow(self) -> bool:
        """Return True for a mapping or list in brackets."""
        return self.style == "flow"


def tree_of(text: str) -> Tree:
    """Return the nodes of `text`, from a cache if possible. Raise YamlError if it is not Unicode.

    A text is read for its value. Later, after all other texts, it may be searched for places.
    """
    kept = _short if len(text) <= SHORT else _long
    tree = kept.pop(text, None)
    if tree is None:
        tree = new_tree(text)
    return _keep(kept, text, tree)


def keep_tree(text: str, tree: Tree) -> None:
    """Put the nodes of `text`, which was read already, into the cache of `tree_of`."""
    _keep(_short if len(text) <= SHORT else _long, text, tree)


def _keep(kept: dict[str, Tree], text: str, tree: Tree) -> Tree:
    """Return `tree` after putting it into the cache `kept` as the most recent one.

    A full cache drops its oldest one.
    """
    kept[text] = tree
    if len(kept) > (MAX_KEPT if kept is _short else _MAX_LONG):
        for first in kept:
            del kept[first]
            break
    return tree


def new_tree(text: str) -> Tree:
    """Return the nodes of `text` without a cache. Raise YamlError if it is not Unicode."""
    try:
        if CORE is not None:
            tree = CORE.Tree(text, MAX_NODES, too_many_nodes())
            if not _may_be_cut_short(text, tree):
                return tree
        from krmfn.yamltext.pyyaml import EventTree

        return EventTree(text)
    except UnicodeEncodeError as error:
        raise error_at(text, error.start, "must be Unicode text; got half of a surrogate pair") from None


def _may_be_cut_short(text: str, tree: Tree) -> bool:
    """Return True if the native core refuses the text, possibly because of a key that libyaml reads.

    The colon of a key must be within 1,024 characters. The core counts bytes instead, up to four per character.
    """
    if text.isascii():
        return False
    try:
        tree.shared_anchors()
    except YamlError:
        return any(len(line) > 1024 // 4 for line in text.splitlines())
    return False


SHORT = 1 << 14
"""The largest number of characters of a short text. The cache of `tree_of` holds many short texts and few long ones.
The nodes of a text need about five times as many bytes as it has characters.
"""
# A list is written after all of its items were checked. Items beyond this number are then read again, which takes a
# fifth of the time of 10,000 workloads. The nodes of an item take 12 KiB in the native core, and 100 KiB as Python
# objects.
MAX_KEPT = 1024 if CORE is None else 16384
_MAX_LONG = 4
_short: dict[str, Tree] = {}
_long: dict[str, Tree] = {}


def find(text: str, path: FieldPath, *, rest: bool = False) -> list[YamlNode]:
    """Return the existing nodes along `path` (`len(nodes) - 1` steps), or none for an empty document.

    With `rest`, the text after the last of them must be readable too. Raise YamlError if it is not.
    """
    return [YamlNode(*row) for row in tree_of(text).find(path, rest)]


_BEFORE_MARK = (*BREAKS, "\ufeff")


def read(text: str, *, is_kept: bool = True) -> Value:
    """Return the value of the one YAML document in `text`. Return None if it is empty.

    With `is_kept`, the nodes of the text are kept in a cache for searches of places.

    Scalars, aliases and `<<` have kyaml's meaning. Keys that are not strings become the strings of Go's JSON
    conversion. Raise YamlError if the text is not YAML, has a duplicate key or more than one document. Also raise it
    above 500 levels, five million nodes, or a million nodes from aliases.
    """
    _refuse_disputed(text)
    return (tree_of if is_kept else new_tree)(text).value()


def words_in(text: str, wanted: tuple[str, ...]) -> list[str] | None:
    """Return the words of `wanted` that are keys or other scalars of the one YAML document in `text`, after reading
    escapes.

    Return None if only `read` can find them: if the document is unreadable, or neither a mapping nor a list. Also
    return None for anchors, tags and keys that are not strings, and without the native core.
    """
    try:
        _refuse_disputed(text)
        return tree_of(text).words(wanted)
    except YamlError:
        return None


def unkept_tree(text: str) -> Tree | None:
    """Return the nodes of `text` without keeping them in a cache. Return None if it is unreadable."""
    try:
        _refuse_disputed(text)
        return new_tree(text)
    except YamlError:
        return None


def read_tree(text: str) -> tuple[Value, Tree]:
    """Return the value of the one YAML document in `text` as `read` does, and its nodes. Keep neither in a cache."""
    _refuse_disputed(text)
    tree = new_tree(text)
    return tree.value(), tree


def _refuse_disputed(text: str) -> None:
    """Raise YamlError for characters that libyaml and kyaml read differently."""
    # To search for one character takes a tenth of the time of a search for three.
    if "\r" in text and "\r\r\n" in text:
        raise error_at(text, text.index("\r\r\n"), "must not contain two carriage returns before a line feed")
    at = text.find("\ufeff", 1)
    while at > 0:
        # libyaml ignores a byte order mark there, and kyaml reads it as a part of the following text.
        if text[at - 1] in _BEFORE_MARK:
            raise error_at(text, at, "must not contain a byte order mark at the start of a line")
        at = text.find("\ufeff", at + 1)


_HEADER = r"([|>][0-9]*+)\+?([0-9]*+)(?![-0-9+])"


def with_last_break(text: str, newline: str = "\n") -> str:
    """Return `text` with a final line break, so that more can follow. Its value is unchanged.

    Raise YamlError if the text is unreadable.
    """
    return text if not text or text.endswith(BREAKS) else strip_header(text) + newline


def strip_header(text: str) -> str:
    """Return `text`, which ends without a line break, so that adding one does not change its value.

    The header of a block scalar at the end gets a dash (`|-`). Otherwise the added line break would become part of the
    value. Raise YamlError if the text is unreadable.
    """
    header = _last_header(text) if "|" in text or ">" in text else -1
    match = None if header < 0 else re.compile(_HEADER).match(text, header)
    return text if match is None else f"{text[:header]}{match[1]}-{match[2]}{text[match.end() :]}"


def ends_in_block_scalar(text: str) -> bool:
    """Return True if the last value of `text` is a block scalar. Raise YamlError if the text is unreadable."""
    return ("|" in text or ">" in text) and _last_header(text) >= 0


def _last_header(text: str) -> int:
    """Return the offset of the `|` or `>` of a block scalar at the end of `text`, or -1."""
    scalars = tree_of(text).scalars()
    start, end, style = scalars[-1] if scalars else (0, 0, "")
    if style not in ("|", ">"):
        return -1
    # Skip the anchor and tag, which may also contain `|` or `>`.
    line = re.compile(r"(?:[&!][^ \t\r\n]*(?:[ \t\r\n]|#[^\n]*)+)*").match(unify_breaks(text), start)
    header = start if line is None else line.end()
    return header if end == len(text) and text[header : header + 1] == style else -1
