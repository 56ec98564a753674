"""The single error type of `krmfn.yamltext`, with the fault of a text and its place."""

from __future__ import annotations

__all__ = ["YamlError", "error_at", "line_and_column"]


class YamlError(ValueError):
    """Raised if a text is not YAML or does not permit an edit.

    `line` and `column` are 1-based and count in the given text. Only LF ends a line, as in editors.
    """

    def __init__(self, message: str, line: int = 1, column: int = 1) -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.column = column

    def __str__(self) -> str:
        return f"{self.line}:{self.column}: {self.message}"

    def __reduce__(self) -> tuple[type[YamlError], tuple[str, int, int]]:
        return type(self), (self.message, self.line, self.column)


def line_and_column(text: str, offset: int) -> tuple[int, int]:
    """The 1-based line and column of the character at `offset`."""
    # The marks of libyaml also count NEL, LS and PS as line ends. No editor does.
    return text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)


def error_at(text: str, offset: int, message: str) -> YamlError:
    """A `YamlError` that points at the character at `offset`."""
    return YamlError(message, *line_and_column(text, offset))


def error_at_byte(text: str, offset: int, message: str) -> YamlError:
    """Return the error with `message` about the byte at `offset` of `text`. A byte order mark is not counted."""
    whole = text.removeprefix("\ufeff")
    before = whole.encode("utf-8", "replace")[:offset].decode("utf-8", "ignore")
    return error_at(whole, len(before), message)
