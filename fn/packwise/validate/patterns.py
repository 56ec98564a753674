"""Patterns are RE2, as in Kubernetes: the time of a match is at most that of the text times that of the pattern.

RE2 writes out what a pattern repeats by a number, so that 17 characters may stand for thousands of states, each of them
looked at for each character of the text.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache

from krmfn.hints import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["MOST_STATES", "match_cost", "matches"]

MOST_STATES = 100_000_000
"""States of a pattern times characters of a text. A text that costs more is not judged."""

_ATOM = re.compile(
    r"\{(?P<least>[0-9]{1,4})(?:,(?P<most>[0-9]{0,4}))?\}|(?P<open>\()|(?P<close>\))|(?P<unclear>\\Q|\\C)"
    r"|(?P<set>\[\^?\]?(?:\\.|\[:[^\]]*+\]?|[^\]\\])*+\]?|\\[pPDSW]|\.)|\\?.",
    re.DOTALL,
)
_STATES_OF_OTHERS = 4
"""States of a character beyond ASCII, or of any where both cases are alike."""
_STATES_OF_SET = 1000
"""States of a set of characters that has others than ASCII's."""
_MOST_REPEATED = 1000
"""RE2's own bound on what a pattern repeats by a number, also within one another."""


def match_cost(pattern: str | None, length: int, text: int) -> int:
    """What a match may cost in bytes looked at: the states of the pattern for each byte of the text.

    `length` bounds that of the pattern, and says all where the pattern itself is not known.
    """
    return text * (length * _MOST_REPEATED if pattern is None else _states(pattern))


@lru_cache(maxsize=256)
def _states(pattern: str) -> int:
    """The states of the automaton that RE2 makes of a pattern, at most."""
    each = 1 if pattern.isascii() and "(?" not in pattern else _STATES_OF_OTHERS
    most = len(pattern) * _STATES_OF_OTHERS * _MOST_REPEATED
    # Of each group that is open: its states, and those of its last part.
    groups = [(1, 0)]
    for atom in _ATOM.finditer(pattern):
        whole, last = groups.pop()
        if atom["open"]:
            groups += [(whole, last), (1, 0)]
        elif atom["close"]:
            outer, _ = groups.pop() if groups else (0, 0)
            groups.append((outer + whole, whole))
        elif atom["least"]:
            times = max(int(atom["least"]), int(atom["most"] or 0), 1)
            groups.append((whole + last * (times - 1), last * times))
        elif atom["unclear"]:
            return most
        else:
            size = each * _states_of_set(atom["set"] or "")
            groups.append((whole + size, size))
    return min(sum([whole for whole, _ in groups]), most)


def _states_of_set(text: str) -> int:
    is_wide = text == "." or not text.isascii() or text.startswith("[^") or re.search(r"\\[pPDSWx]|\[:\^", text)
    return _STATES_OF_SET if is_wide else max(len(text) - 2, 1)


@lru_cache(maxsize=4096)
def matches(pattern: str, text: str) -> bool | None:
    """Whether `pattern` is found in `text`; None where it is no pattern, or where that costs more than MOST_STATES."""
    if match_cost(pattern, len(pattern), len(text)) > MOST_STATES:
        return None
    return _matcher()(pattern, text)


@cache
def _matcher() -> Callable[[str, str], bool | None]:
    # CEL's own `matches` is RE2: one library serves rules and patterns.
    from cel_expr_python import cel  # pyright: ignore[reportMissingTypeStubs]

    texts = {"text": cel.Type.STRING, "pattern": cel.Type.STRING}
    program = cel.NewEnv(variables=texts).compile("text.matches(pattern)")

    def match(pattern: str, text: str) -> bool | None:
        try:
            answer = program.eval(data={"text": text, "pattern": pattern}).value()
        except (RuntimeError, ValueError):
            return None
        return answer if isinstance(answer, bool) else None

    return match
