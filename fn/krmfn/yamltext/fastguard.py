"""The screen that lets only those unusual texts through to yaml_rs on which it must agree with libyaml.

yaml_rs differs from kyaml in what the screen refuses: `012` (decimal to it), `_1` (a number to it), `1e_+5` (a
string to it), integers beyond 64 bits, floats out of range, control characters, tabs, anchors, tags, `<<`, markers of
documents, long keys. It reports no error that counts: whatever it does not read, libyaml reads or refuses.
"""

from __future__ import annotations

import re

from krmfn.hints import TYPE_CHECKING, cast
from krmfn.yamltext.plainlines import is_printable

if TYPE_CHECKING:
    from krmfn.value import Value

__all__ = ["agrees", "may_read"]

_MAX_DEPTH = 100
LONGEST_KEY = 1000
_INT64 = 1 << 63
# Where an anchor, alias, tag, complex key, marker or an odd number can start: the rare character, searched for first
# because one character is found ten times faster than two, and the forms that are refused.
_ODD = (
    ("&", (" &", "\n&")),
    ("*", (" *", "\n*")),
    ("!", (" !", "\n!")),
    ("?", ("? ", "?\n")),
    ("<", ("<<",)),
    ("%", ("\n%",)),
)
_ODD_START = ("&", "*", "!", "%", "...", "---", "?", "[", "{", " ")
# Each starts with what is rarer than the space before it, so that it is found sooner.
_UNDERSCORE = re.compile(r"_(?:(?<= _)|(?<= [-+.]_)|(?<=[0-9._][eE]_))")
_ZERO = re.compile(r"0(?:(?<![^ \n]0)|(?<=[-+]0)(?<![^ \n][-+]0))[0-9_bo]")
# yaml_rs makes an integer of any length, in time that grows with its square.
MOST_DIGITS = 400
_LONG_NUMBER = re.compile(rf"(?<![0-9_])[0-9_]{{{MOST_DIGITS}}}")
_BREAK = re.compile(r"\n(?:(?<= \n)|---|\.\.\.)")
_ESCAPE = re.compile(r'\\[^nt"\\]')
_DASHES = re.compile(r"- +- +- +- ")
_DEEP = " " * 100
# A flow collection that starts where a value can, and is not a flat one of simple items on one line.
_ITEM = r"""(?:"[^"\\\n]*"|'[^'\n]*'|[A-Za-z][A-Za-z0-9_./-]*|-?(?:0|[1-9][0-9]{0,15}))"""
_ITEMS = rf"\[(?:[ ]*{_ITEM}(?:,[ ]+{_ITEM})*)?[ ]*\]"
_PAIRS = rf"\{{(?:[ ]*{_ITEM}:[ ]{_ITEM}(?:,[ ]+{_ITEM}:[ ]{_ITEM})*)?[ ]*\}}"
_FLOW = re.compile(
    r"""[ -]*+(?:"[^"\n]*"[ ]*:[ ]+|'[^'\n]*'[ ]*:[ ]+|(?!["'])(?:(?!:[ ])[^\n])*+:[ ]++)?"""
    rf"(?!(?:{_ITEMS}|{_PAIRS})(?:[ ]+\#[^\n]*)?$)[\[{{]",
    re.MULTILINE,
)
_LITERAL = re.compile(r"\|[-+0-9]*[ ]*(?:[ ]#[^\n]*)?(?:\n|\Z)")
_FOLDED = re.compile(_LITERAL.pattern.replace(r"\|", ">"))
_LEAD = re.compile(r"[ -]*")


def may_read(text: str) -> bool:
    """Whether yaml_rs is to read `text` at all."""
    # This covers tabs, carriage returns, other controls, odd Unicode spaces and breaks, and surrogates at once.
    return (
        is_printable(text)
        and not text.startswith(_ODD_START)
        and not any(rare in text and any(form in text for form in forms) for rare, forms in _ODD)
        and not _UNDERSCORE.search(text)
        and not _BREAK.search(text)
        and _DEEP not in text
        and not _DASHES.search(text)
        and not ("\\" in text and _ESCAPE.search(text))
        and _simple_flow(text, "[")
        and _simple_flow(text, "{")
        and not (("|" in text or ">" in text) and not _simple_block_scalars(text))
        and not _ZERO.search(text)
        and not _LONG_NUMBER.search(text)
    )


def _simple_flow(text: str, opening: str) -> bool:
    """Whether each line with `opening` holds it inside a scalar, or as a flat collection of simple items."""
    at = text.find(opening)
    while at >= 0:
        if _FLOW.match(text, text.rfind("\n", 0, at) + 1):
            return False
        end = text.find("\n", at)
        at = text.find(opening, end) if end >= 0 else -1
    return True


def _simple_block_scalars(text: str) -> bool:
    """Whether each block scalar is `|` or `|-` and holds a line: yaml_rs breaks where no line is."""
    if _FOLDED.search(text):
        return False
    for header in _LITERAL.finditer(text):
        if header[0] not in ("|\n", "|-\n") or not text.endswith("\n"):
            return False
        lead = _LEAD.match(text, text.rfind("\n", 0, header.start()) + 1)
        below = _LEAD.match(text, header.end())
        if lead is None or below is None:
            return False
        # A header right after the dashes belongs to the last of them, another one to its key.
        parent = lead[0].rfind("-") if lead.end() == header.start() else lead.end() - lead.start()
        spaces = len(below[0]) - len(below[0].lstrip(" "))
        if spaces <= parent or text[header.end() + spaces : header.end() + spaces + 1] in ("\n", ""):
            return False
    return True


def agrees(value: Value, text: str) -> bool:
    """Whether `value` holds only what both readers read alike; level by level, so that depth is bounded."""
    level: list[dict[str, Value] | list[Value]] = [value] if type(value) is dict or type(value) is list else []
    if not level:
        return False
    for _ in range(_MAX_DEPTH):
        below: list[dict[str, Value] | list[Value]] = []
        for node in level:
            if type(node) is dict:
                for name in node:
                    if type(name) is not str or len(name) > LONGEST_KEY:
                        return False
                items = node.values()
            else:
                items = cast("list[Value]", node)
            for item in items:
                kind = type(item)
                if kind is str:
                    continue
                if kind is dict or kind is list:
                    below.append(cast("list[Value]", item))
                elif not _scalar_agrees(item, text):
                    return False
        if not below:
            return True
        level = below
    return False


def _scalar_agrees(item: Value, text: str) -> bool:
    kind = type(item)
    if kind is int:
        return -_INT64 <= cast("int", item) < _INT64
    if kind is float:
        number = cast("float", item)
        return number - number == 0 and "_" not in text
    return kind is bool or item is None
