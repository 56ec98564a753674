"""Changes of a text that YAML's readers may read differently, one to three at a time."""

from __future__ import annotations

from random import Random

__all__ = ["mutated", "with_other_lines"]

BREAKS = ("\r", "\r\n", "\x85", "\u2028", "\u2029")
PIECES = (
    *BREAKS, "\ufeff", "\u00a0", "\u3000", "\t", " ", "    ", "\n", "\n\n", "a", "1", "- ", "? ", ": ", ":", ",", "|",
    "|-\n", "|+\n", ">-\n", "'", '"', "\\", "#", " #", "{", "}", "[", "]", "~", "%",
    "&x ", "*x", "&x {a: &x 1}", "<<: *x", "<<: ", "!!str ", "!", "! ", "!!merge ", "?",
    "...\n", "\n---\n", "\u2028    ", "\r    ", "\x85  ",
)  # fmt: skip


def mutated(random: Random, text: str) -> str:
    """Return `text` with other line breaks, cut at its end, or with pieces added or replaced."""
    for _ in range(random.randint(1, 3)):
        at = random.randint(0, len(text))
        form = random.randint(0, 4)
        if form == 0 and "\n" in text:
            at = random.choice([n for n, char in enumerate(text) if char == "\n"])
            text = text[:at] + random.choice(BREAKS) + text[at + 1 :]
        elif form == 1:
            text = text[: max(len(text) - random.randint(1, 3), 0)]
        else:
            text = text[:at] + random.choice(PIECES) + text[at + random.choice([0, 0, 1, 3]) :]
    return text


ENDS = (
    "", " ", "|", " |", " >", " |+", " >-", ":", " -", " []", " {}", "\t", "#", " #", " # c", "''", '""', " [a, b]",
    ": {a: b}", ": |\n    a", ": >\n    a\n\n     b", "---", "\n---", "\x7f", "\x00", "é",
)  # fmt: skip


def with_other_lines(random: Random, text: str) -> str:
    """Return `text` with one line removed, repeated, moved, or with another indentation, character or end."""
    lines = text.split("\n")
    at, other = random.randrange(len(lines)), random.randrange(len(lines))
    line = lines[at]
    place = random.randint(0, len(line))
    form = random.randint(0, 7)
    if form == 0:
        del lines[at]
    elif form == 1:
        lines.insert(other, line)
    elif form == 2:
        lines[at], lines[other] = lines[other], line
    else:
        lines[at] = (
            " " * random.choice([1, 2, 4]) + line,
            line[random.choice([1, 2, 4]) :],
            line[:place] + line[place + 1 :],
            line[:place] + random.choice(ENDS) + line[place:],
            line.rstrip() + random.choice(ENDS),
        )[form - 3]
    return "\n".join(lines)
