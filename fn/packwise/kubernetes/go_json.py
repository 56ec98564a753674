"""The errors of Go's `encoding/json` for a text that is no JSON. Source: Go 1.26, encoding/json/scanner.go."""

from __future__ import annotations

from packwise.kubernetes.validation import go_quote

_SPACE = " \t\r\n"
_END = "unexpected end of JSON input"
_DEEPEST = 10_000
"""Levels of nesting that Go reads."""

_LITERALS = {"t": "true", "f": "false", "n": "null"}


class _SyntaxError(Exception):
    """Raised if the text is not JSON. `text` is Go's error."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


def go_json_error(text: str) -> str:
    """Go's error where `text` is not one JSON value; "" where it is."""
    try:
        _Scanner(text).document()
    except _SyntaxError as error:
        return error.text
    return ""


class _Scanner:
    """Go's scanner: its position in the text and its expectation."""

    __slots__ = ("_at", "_text")

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def document(self) -> None:
        """One value and blanks. Raises _SyntaxError."""
        # A stack of closing brackets instead of recursion: the text is anybody's.
        open_brackets: list[str] = []
        self._value(open_brackets)
        while open_brackets:
            self._after_value(open_brackets)
        self._blanks()
        if self._at < len(self._text):
            raise self._unexpected_character("after top-level value")

    def _value(self, open_brackets: list[str]) -> None:
        """A value; of a list or an object the way to its first entry, and that."""
        while True:
            char = self._next()
            if char in "{[":
                if not self._opens(char, open_brackets):
                    return
                continue
            if char == '"':
                self._string()
            elif char in _LITERALS:
                self._literal(_LITERALS[char])
            elif char in "-0123456789":
                self._number()
            else:
                raise self._unexpected_character("looking for beginning of value")
            return

    def _opens(self, char: str, open_brackets: list[str]) -> bool:
        """Return True if the list or object that begins here has an entry. Its value comes next."""
        self._at += 1
        if len(open_brackets) >= _DEEPEST:
            raise _SyntaxError("exceeded max depth")
        closing = "}" if char == "{" else "]"
        self._blanks()
        if self._peek() == closing:
            self._at += 1
            return False
        open_brackets.append(closing)
        if closing == "}":
            self._key()
        return True

    def _key(self) -> None:
        if self._next() != '"':
            raise self._unexpected_character("looking for beginning of object key string")
        self._string()
        if self._next() != ":":
            raise self._unexpected_character("after object key")
        self._at += 1

    def _after_value(self, open_brackets: list[str]) -> None:
        closing = open_brackets[-1]
        char = self._next()
        if char not in (",", closing):
            raise self._unexpected_character("after object key:value pair" if closing == "}" else "after array element")
        self._at += 1
        if char == closing:
            open_brackets.pop()
            return
        if closing == "}":
            self._key()
        self._value(open_brackets)

    def _string(self) -> None:
        self._at += 1
        while True:
            char = self._char()
            if char == '"':
                self._at += 1
                return
            if ord(char) < 0x20:
                raise self._unexpected_character("in string literal")
            self._at += 1
            if char == "\\":
                self._escape()

    def _escape(self) -> None:
        char = self._char()
        if char not in 'bfnrt\\/"u':
            raise self._unexpected_character("in string escape code")
        self._at += 1
        for _ in range(4 if char == "u" else 0):
            if self._char() not in "0123456789abcdefABCDEF":
                raise self._unexpected_character("in \\u hexadecimal character escape")
            self._at += 1

    def _literal(self, word: str) -> None:
        for position, expected in enumerate(word):
            if position and self._char() != expected:
                raise self._unexpected_character(f"in literal {word} (expecting {_quote_char(expected)})")
            self._at += 1

    def _number(self) -> None:
        if self._text[self._at] == "-":
            self._at += 1
            self._digit("in numeric literal")
        if self._text[self._at] == "0":
            self._at += 1
        else:
            self._digits()
        if self._peek() == ".":
            self._at += 1
            self._digit("after decimal point in numeric literal")
            self._digits()
        if self._peek() in ("e", "E"):
            self._at += 1
            if self._peek() in ("+", "-"):
                self._at += 1
            self._digit("in exponent of numeric literal")
            self._digits()

    def _digit(self, context: str) -> None:
        if self._char() not in "0123456789":
            raise self._unexpected_character(context)

    def _digits(self) -> None:
        while self._peek() in tuple("0123456789"):
            self._at += 1

    def _blanks(self) -> None:
        while self._peek() in tuple(_SPACE):
            self._at += 1

    def _peek(self) -> str:
        return self._text[self._at] if self._at < len(self._text) else ""

    def _char(self) -> str:
        """The character that comes next. Raises _SyntaxError at the end."""
        if self._at >= len(self._text):
            raise _SyntaxError(_END)
        return self._text[self._at]

    def _next(self) -> str:
        self._blanks()
        return self._char()

    def _unexpected_character(self, context: str) -> _SyntaxError:
        return _SyntaxError(f"invalid character {_quote_char(self._text[self._at])} {context}")


def _quote_char(char: str) -> str:
    """A character as Go's scanner names it; of several bytes the first."""
    if char == "'":
        return "'\\''"
    if char == '"':
        return "'\"'"
    byte = char.encode("utf-8", "surrogatepass")[0]
    return f"'{go_quote(chr(byte))[1:-1]}'"
