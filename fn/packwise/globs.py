"""Globs of a `.gitignore`, matched as git matches them. The time is bounded by the lengths of glob and path.

Source: git, dir.c (`parse_path_pattern`, `trim_trailing_spaces`, `match_basename`, `match_pathname`) and wildmatch.c
(`dowild`). Git compares bytes: `?` is one of the two bytes of `ö`.

The regular expression of a glob never backtracks into a wildcard. The text between two wildcards has a fixed length in
bytes or folders. The first match therefore leaves the most text for the rest.
"""

from __future__ import annotations

import re
import string

from krmfn.hints import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_SPECIAL = re.compile(rb"[*?\[\\]")
_SLASH = ord("/")

_STAR = b"*"
_FOLDERS = b"**/"
_REST = b"**"
"""The wildcard for the rest of a path. A part of a glob is one of these three wildcards, or the expression of one byte.
"""

_ANY_FOLDERS = b"(?:[^/]*+/)*?"

_CLASSES = {
    "alnum": string.ascii_letters + string.digits,
    "alpha": string.ascii_letters,
    "blank": " \t",
    "cntrl": "".join([chr(byte) for byte in (*range(0x20), 0x7F)]),
    "digit": string.digits,
    "graph": string.ascii_letters + string.digits + string.punctuation,
    "lower": string.ascii_lowercase,
    "print": string.ascii_letters + string.digits + string.punctuation + " ",
    "punct": string.punctuation,
    "space": string.whitespace,
    "upper": string.ascii_uppercase,
    "xdigit": string.hexdigits,
}


class _Pattern(Record):
    """A glob. `matches` tests a path, or its last name if `names_only` is true.

    If `re_includes` is true, a matching path is not ignored. If `folders_only` is true, the glob matches only folders.
    """

    matches: Callable[[bytes], object]
    re_includes: bool
    folders_only: bool
    names_only: bool


class Globs(Record):
    """The globs of a file. The last glob that matches a path decides. Paths have slashes as separators."""

    patterns: tuple[_Pattern, ...] = ()

    @classmethod
    def read(cls, lines: Iterable[str]) -> Globs:
        """Return the globs of these lines. Comments and empty lines are skipped."""
        return cls(tuple(pattern for line in lines if (pattern := _pattern(line)) is not None))

    def decision(self, path: str, *, is_folder: bool = False) -> bool | None:
        """Return True if the last glob that matches this path ignores it, False if that glob re-includes it, and None
        if none matches.

        Matches of the folders above the path do not count.
        """
        whole = path.encode("utf-8", "surrogateescape")
        name = whole[whole.rfind(b"/") + 1 :]
        for pattern in reversed(self.patterns):
            if (is_folder or not pattern.folders_only) and pattern.matches(name if pattern.names_only else whole):
                return not pattern.re_includes
        return None

    def take(self, path: str, *, is_folder: bool = False) -> bool:
        """Return True if the path or a folder above it is ignored. A path in an ignored folder cannot be
        re-included.
        """
        path = path.lstrip("/")
        end = path.find("/")
        while end >= 0:
            if self.decision(path[:end], is_folder=True):
                return True
            end = path.find("/", end + 1)
        return bool(self.decision(path, is_folder=is_folder))


class _NothingError(Exception):
    """Raised for a glob without matches."""


def _pattern(line: str) -> _Pattern | None:
    """Return the glob of a line, or None for a comment or an invalid glob."""
    if line.startswith("#"):
        return None
    # Texts in git end at a NUL.
    text = _without_spaces(line.encode("utf-8", "surrogateescape").partition(b"\0")[0])
    re_includes = text.startswith(b"!")
    text = text.removeprefix(b"!")
    folders_only = text.endswith(b"/")
    text = text.removesuffix(b"/")
    names_only = b"/" not in text
    try:
        matches = _test(text.removeprefix(b"/"), names_only=names_only)
    except _NothingError:
        return None
    return _Pattern(matches, re_includes, folders_only, names_only)


def _without_spaces(line: bytes) -> bytes:
    """Return the line without the spaces at its end, except one after a backslash."""
    bare = line.rstrip(b" ")
    backslashes = len(bare) - len(bare.rstrip(b"\\"))
    return line[: len(bare) + backslashes % 2]


def _test(text: bytes, *, names_only: bool) -> Callable[[bytes], object]:
    if not text:
        raise _NothingError
    special = _SPECIAL.search(text)
    if special is None:
        return text.__eq__
    if names_only and text.startswith(b"*") and not _SPECIAL.search(text, 1):
        end = text[1:]
        return lambda name: name.endswith(end)
    # Git compares the text before the first wildcard separately. The `**` of `a/b**/c` is then a whole part of the
    # path.
    start = 0 if names_only else special.start()
    expression = re.escape(text[:start]) + _expression(_parts(text[start:], names_only=names_only))
    return re.compile(expression, re.DOTALL).fullmatch


def _parts(text: bytes, *, names_only: bool) -> list[bytes]:
    """Return the parts of a glob: wildcards, and regular expressions of one byte each."""
    parts: list[bytes] = []
    at = 0
    while at < len(text):
        if text[at] != ord("*"):
            part, at = _byte(text, at)
            parts.append(part)
            continue
        start = at
        while text[at : at + 1] == b"*":
            at += 1
        is_whole = start == 0 or text[start - 1] == _SLASH
        if at - start == 1 or names_only or not is_whole:
            parts.append(_STAR)
        elif at == len(text):
            parts.append(_REST)
        elif text[at] == _SLASH:
            parts.append(_FOLDERS)
            at += 1
        elif text.startswith(b"\\/", at):
            # `**\/` matches at least one slash.
            parts += [_STAR, b"/", _FOLDERS]
            at += 2
        else:
            parts.append(_STAR)
    return parts


def _byte(text: bytes, at: int) -> tuple[bytes, int]:
    """Return the regular expression of the byte at `at` and the offset of the next byte."""
    if text[at] == ord("?"):
        return b"[^/]", at + 1
    if text[at] == ord("["):
        return _bracket(text, at + 1)
    at += text[at] == ord("\\")
    if at == len(text):
        raise _NothingError
    return re.escape(text[at : at + 1]), at + 1


def _bracket(text: bytes, at: int) -> tuple[bytes, int]:
    """Return the regular expression of the bracket with its content at `at` and the offset after the bracket."""
    is_negated = text[at : at + 1] in (b"!", b"^")
    at += is_negated
    chosen: set[int] = set()
    before = 0
    first = at
    while at == first or text[at : at + 1] != b"]":
        if text[at : at + 2] == b"[:":
            end = text.find(b"]", at + 2)
            if end < 0:
                raise _NothingError
            if text[end - 1] == ord(":") and end > at + 2:
                known = _CLASSES.get(text[at + 2 : end - 1].decode("latin-1"))
                if known is None:
                    raise _NothingError
                chosen |= set(known.encode())
                before, at = 0, end + 1
                continue
        is_range = text[at : at + 1] == b"-" and before and text[at + 1 : at + 2] not in (b"", b"]")
        at += is_range
        at += text[at : at + 1] == b"\\"
        if at >= len(text):
            raise _NothingError
        chosen |= set(range(before, text[at] + 1)) if is_range else {text[at]}
        before, at = 0 if is_range else text[at], at + 1
    taken = (set(range(256)) - chosen if is_negated else chosen) - {_SLASH}
    if not taken:
        raise _NothingError
    return b"[" + b"".join([rb"\x%02x" % byte for byte in sorted(taken)]) + b"]", at + 1


def _expression(parts: list[bytes]) -> bytes:
    """Return the regular expression of all parts."""
    *groups, last = _split(parts, _FOLDERS)
    has_rest = last[-1:] == [_REST]
    if has_rest:
        groups.append(last[:-1])
    whole = _names(groups[0]) if groups else b""
    whole += b"".join([b"(?>" + _ANY_FOLDERS + _names(group) + b")" for group in groups[1:]])
    if has_rest:
        return whole + b".*"
    return whole + (_ANY_FOLDERS if groups else b"") + _names(last)


def _names(parts: list[bytes]) -> bytes:
    """Return the regular expression of folders and a name. Wildcards in them match no slash."""
    return b"/".join([_name(each) for each in _split(parts, b"/")])


def _name(parts: list[bytes]) -> bytes:
    first, *between = [b"".join(each) for each in _split(parts, _STAR)]
    if not between:
        return first
    *between, last = between
    return first + b"".join([b"(?>[^/]*?" + each + b")" for each in between]) + b"[^/]*" + last


def _split(parts: list[bytes], separator: bytes) -> list[list[bytes]]:
    """Return the lists of parts between the separators."""
    lists: list[list[bytes]] = [[]]
    for part in parts:
        if part == separator:
            lists.append([])
        else:
            lists[-1].append(part)
    return lists
