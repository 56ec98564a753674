"""A writer of values as YAML in block style, and of scalars with the quotes that they need."""

from __future__ import annotations

import re
from functools import cache, cached_property

from krmfn.hints import TYPE_CHECKING, cast
from krmfn.yamltext.reader import CORE, YamlError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from krmfn.value import Scalar, Value

_is_plain = re.compile(
    r"[A-Za-z/][A-Za-z0-9_./@+()=~$-]*+(?:[ :][A-Za-z0-9_./@+()=~$-]++)*"
    # A quantity begins with digits, but no reader takes it for a number.
    r"|[0-9]+(?:\.[0-9]+)?(?:m|k|[MGTP]|[KMGTPE]i)"
).fullmatch
# Booleans and nulls of YAML 1.1, and floats of lax readers. Each word is also listed in capitals.
_WORDS = frozenset(
    form
    for word in ("y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf", "infinity")
    for form in (word, word.capitalize(), word.upper())
) | {"NaN"}
# Control characters except LF, line breaks that only some readers know, and code points that are not characters.
_ODD = r"\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff\ud800-\udfff"
_CONSTANTS = {None: "null", True: "true", False: "false"}
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}
# A package repeats few strings many times, and long strings seldom. Other strings would only displace them in the
# cache.
_MAX_QUOTED = 2048
_LONGEST_QUOTED = 256
AFTER_MARK: dict[str, str] = {}
"""Cached results of `after_mark`. The keys are strings only, because 1, 1.0 and true are one key of a dict."""


def scalar_text(value: Scalar) -> str:
    """Return `value` on one line, for a block context."""
    if isinstance(value, str):
        if _is_plain(value) and value not in _WORDS:
            return value
        # JSON in single quotes is readable, but a newline or an unusual character still needs escapes.
        if '"' in value and "'" not in value and value.isascii() and value.isprintable():
            return f"'{value}'"
        return double_quote(value)
    if value is None or isinstance(value, bool):
        return _CONSTANTS[value]
    return _float(value) if isinstance(value, float) else str(value)


def after_mark(text: str) -> str:
    """Return `text` with a space before it, as it follows a colon or a dash in a block.

    Return "" if it has several lines.
    """
    if _is_plain(text) and text not in _WORDS:
        spelled = " " + text
    elif "\n" in text:
        return ""
    else:
        spelled = " " + scalar_text(text)
    if len(AFTER_MARK) < _MAX_QUOTED and len(text) <= _LONGEST_QUOTED:
        AFTER_MARK[text] = spelled
    return spelled


def flow_key(text: str) -> str:
    """Return `text` as a key of a flow mapping. The key is quoted only if necessary."""
    return text if _flow_plain().fullmatch(text) and text not in _WORDS else double_quote(text)


def double_quote(text: str) -> str:
    """Return `text` in double quotes as in JSON. Printable characters outside ASCII are kept."""
    return f'"{_to_escape().sub(_escape, text)}"'


def literal_lines(text: str) -> list[str] | None:
    """Return the lines of `text` for a literal block. Return None if only quotes preserve it for every reader."""
    if "\n" not in text or _not_literal().search(text):
        return None
    return (text[:-1] if text.endswith("\n") else text).split("\n")


@cache
def _flow_plain() -> re.Pattern[str]:
    return re.compile(r"[A-Za-z_][A-Za-z0-9_./-]*")


@cache
def _to_escape() -> re.Pattern[str]:
    return re.compile(rf'["\\\x0a{_ODD}]')


@cache
def _not_literal() -> re.Pattern[str]:
    # A leading space or break would set the indentation. Some readers trim a line of spaces. Breaks at the end depend
    # on the header.
    return re.compile(rf"\A[ \n]|\n +(?:\n|\Z)|\n\n\Z|[{_ODD}]")


def _escape(match: re.Match[str]) -> str:
    char = match[0]
    if "\ud800" <= char <= "\udfff":
        raise YamlError("must be Unicode text to be written; got half of a surrogate pair")
    return _ESCAPES.get(char) or f"\\u{ord(char):04x}"


def _float(value: float) -> str:
    text = repr(value)
    if text in ("nan", "inf", "-inf"):
        return {"nan": ".nan", "inf": ".inf", "-inf": "-.inf"}[text]
    mantissa, e, exponent = text.partition("e")
    # YAML 1.1 recognizes a float by its dot.
    return f"{mantissa}.0e{exponent}" if e and "." not in mantissa else text


_MAX_DEPTH = 500
# Readers look for the colon of a plain `key: value` only within 1,024 characters.
_LONGEST_KEY = 1000
_MAX_KEPT = 1024
_LONGEST_KEPT = 256


def write(value: Value) -> str:
    """Return `value` in block style with a final newline.

    Lists have the indentation of their key, as in kubectl. There are no anchors and no folding. Strings that some
    reader mistakes for another type are in double quotes. Strings of several lines are literal blocks if that is safe.
    Raise YamlError if `value` is nested deeper than 500 levels, or if text is not Unicode.
    """
    text = None if CORE is None else CORE.write(value)
    if text is not None:
        return text
    out: list[str] = []
    place = _line_start(0)
    if not isinstance(value, (dict, list, tuple)) or not value:
        _append_value(value, place, out, 0, True)
    elif isinstance(value, dict):
        _mapping(value, place, out, 0, True)
    else:
        _sequence(value, place, out, 0, True)
    return _join(out)


def write_entry(value: Mapping[str, Value], indent: str = "") -> str:
    """Return `value` as the entry of a block list with dashes after `indent`, with a final newline."""
    text = None if CORE is None else CORE.write(value, len(indent))
    if text is not None:
        return text
    out: list[str] = []
    place = _line_start(len(indent)).after_dash
    if value:
        _mapping(value, place, out, 1, True)
    else:
        out.append(place.lead + "{}")
    return _join(out)


def block_lines(value: Value, indent: str = "", *, literals: bool = True) -> list[str]:
    """Return the lines of a non-empty mapping or list in block style. Each line begins with `indent`.

    Without `literals`, each string is on one line, because a comment below could become part of a block scalar at the
    end.
    """
    out: list[str] = []
    if isinstance(value, dict):
        _mapping(value, _line_start(len(indent)), out, 0, literals)
    elif isinstance(value, (list, tuple)):
        _sequence(value, _line_start(len(indent)), out, 0, literals)
    return "".join(out)[1:].split("\n")


def _join(out: list[str]) -> str:
    # Each line includes the break before it, also the first one.
    out.append("\n")
    return "".join(out)[1:]


class _LineStart(dict[str, str]):
    """The start of a line in a mapping or list.

    It maps a key to the break, the indentation, the dashes, the key and its colon.
    """

    def __init__(self, lead: str, column: int) -> None:
        super().__init__()
        self.lead = lead
        self.column = column

    def __missing__(self, name: str) -> str:
        head = scalar_text(name)
        if len(head) > _LONGEST_KEY:
            head = f"? {head}\n{' ' * self.column}"
        head = f"{self.lead}{head}:"
        if len(self) < _MAX_KEPT and len(name) <= _LONGEST_KEPT:
            self[name] = head
        return head

    @cached_property
    def next_line(self) -> _LineStart:
        """Return the start of the next line of the same mapping or list."""
        return _line_start(self.column)

    @cached_property
    def nested_line(self) -> _LineStart:
        """Return the start of the first line of a mapping that a key holds."""
        return _line_start(self.column + 2)

    @cached_property
    def dash(self) -> str:
        """Return the text before an item's value on this line."""
        return self.lead + "-"

    @cached_property
    def after_dash(self) -> _LineStart:
        """Return the start of this line with a dash after it."""
        return _LineStart(self.lead + "- ", self.column + 2)


@cache
def _line_start(column: int) -> _LineStart:
    return _LineStart("\n" + " " * column, column)


def _mapping(value: Mapping[str, Any], place: _LineStart, out: list[str], depth: int, literals: bool) -> None:
    """Append the lines of a non-empty mapping. The first one starts at `place`."""
    if depth >= _MAX_DEPTH:
        raise YamlError(f"nested deeper than {_MAX_DEPTH} levels")
    append, known, below = out.append, AFTER_MARK.get, place.next_line
    for name, item in value.items():
        append(place[name])
        kind = type(item)  # pyright: ignore[reportUnknownVariableType]
        if kind is str and (spelled := known(item) or after_mark(item)):
            append(spelled)
        elif kind is dict:
            if item:
                _mapping(item, below.nested_line, out, depth + 1, literals)
            else:
                append(" {}")
        elif kind is list:
            if item:
                _sequence(item, below, out, depth + 1, literals)
            else:
                append(" []")
        elif kind is int:
            append(f" {item}")
        else:
            _append_value(item, below, out, depth, literals)
        place = below


def _sequence(value: Sequence[Any], place: _LineStart, out: list[str], depth: int, literals: bool) -> None:
    """Append the lines of a non-empty list. The first one starts at `place`."""
    if depth >= _MAX_DEPTH:
        raise YamlError(f"nested deeper than {_MAX_DEPTH} levels")
    append, known, below = out.append, AFTER_MARK.get, place.next_line
    for item in value:
        kind = type(item)  # pyright: ignore[reportUnknownVariableType]
        if kind is str and (spelled := known(item) or after_mark(item)):
            append(place.dash + spelled)
        elif kind is dict and item:
            _mapping(item, place.after_dash, out, depth + 1, literals)
        elif kind is list and item:
            _sequence(item, place.after_dash, out, depth + 1, literals)
        else:
            _item(item, place, out, depth, literals)
        place = below


def _item(item: Value, place: _LineStart, out: list[str], depth: int, literals: bool) -> None:
    """Append an item of a list, of any type."""
    if isinstance(item, dict) and item:
        _mapping(item, place.after_dash, out, depth + 1, literals)
    elif isinstance(item, (list, tuple)) and item:
        _sequence(item, place.after_dash, out, depth + 1, literals)
    else:
        out.append(place.dash)
        _append_value(item, place.next_line, out, depth, literals)


def _append_value(item: Value, place: _LineStart, out: list[str], depth: int, literals: bool) -> None:
    """Append the value of a key or dash, of any type. `place` is the start of the next line."""
    if isinstance(item, str):
        lines = literal_lines(item) if literals else None
        if lines is None:
            out.append(" " + scalar_text(item))
            return
        out.append(" |" if item.endswith("\n") else " |-")
        lead = place.nested_line.lead
        out.extend([lead + line if line else "\n" for line in lines])
    elif isinstance(item, dict):
        if item:
            _mapping(item, place.nested_line, out, depth + 1, literals)
        else:
            out.append(" {}")
    elif isinstance(item, (list, tuple)):
        if item:
            _sequence(item, place, out, depth + 1, literals)
        else:
            out.append(" []")
    else:
        out.append(" " + scalar_text(cast("Scalar", item)))


def flow_text(value: Value, *, quoted_keys: bool = True, depth: int = 0) -> str:
    """Return `value` in flow style on one line, or as JSON with `quoted_keys`."""
    if depth > _MAX_DEPTH:
        raise YamlError(f"nested deeper than {_MAX_DEPTH} levels")
    if isinstance(value, str):
        return double_quote(value)
    if isinstance(value, dict):
        name = double_quote if quoted_keys else flow_key
        entries = [f"{name(k)}: {flow_text(v, quoted_keys=quoted_keys, depth=depth + 1)}" for k, v in value.items()]
        return f"{{{', '.join(entries)}}}"
    if isinstance(value, (list, tuple)):
        items = [flow_text(v, quoted_keys=quoted_keys, depth=depth + 1) for v in value]
        return f"[{', '.join(items)}]"
    return scalar_text(cast("Scalar", value))
