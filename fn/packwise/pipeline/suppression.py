"""Comments that ignore a finding at its line: `# packwise: ignore[rule, rule] reason`.

A comment speaks of the line that it ends, or of the next line that holds anything else. Of a field that starts a block
that is the field's own line, not the block.
"""

from __future__ import annotations

import re

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from krmfn.remarks import remarks
from packwise.findings.finding import Finding, Rule, Severity
from packwise.wording import closest

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from krmfn.kubeobject import KubeObject
    from krmfn.result import Result
    from krmfn.source import Location

__all__ = ["HINTS", "RULES", "WORD", "Suppression", "Suppressions"]

WORD = "packwise"
"""What a comment for packwise begins with; a colon follows."""

FORM = Rule(
    "ignore-form",
    "A comment for packwise names the rules that it ignores.",
    "spec/packwise.md#ignore",
    Severity.WARNING,
)
REASON = Rule("ignore-reason", "A comment that ignores a rule says why.", "spec/packwise.md#ignore", Severity.WARNING)
UNUSED = Rule(
    "ignore-unused",
    "A comment that ignores a rule has a finding to ignore.",
    "spec/packwise.md#ignore",
    Severity.WARNING,
)
RULES = (FORM, REASON, UNUSED)
"""Rules of the comments themselves."""

_IGNORE = re.compile(r"ignore\s*\[([^\[\]]*)\]\s*(.*)")


class Suppression(NamedTuple):
    """A comment in `item` that ignores `rules`, for a `reason`; `text` is what follows packwise's word."""

    item: KubeObject
    location: Location
    text: str
    rules: tuple[str, ...]
    reason: str


_Ignored = tuple[str | None, int | None, int, str]
"""The file, the document's place in it where a client says so, the line, the rule."""

HINTS = 20
"""Of how many unknown rules the nearest is looked for."""


class Suppressions(NamedTuple):
    """The comments of the input: all of them, and the first of each rule by the line that it speaks of."""

    written: tuple[Suppression, ...] = ()
    by_rule: Mapping[_Ignored, Suppression] = {}

    @classmethod
    def of(cls, items: Iterable[KubeObject]) -> Suppressions:
        """The comments in `items`, each text read once: the entries of a List have one together."""
        written: list[Suppression] = []
        by_rule: dict[_Ignored, Suppression] = {}
        for item in {id(item.origin.text): item for item in items}.values():
            for text, location, about in remarks(item, WORD):
                match = _IGNORE.fullmatch(text)
                names = [name.strip() for name in match[1].split(",")] if match else []
                rules = tuple(dict.fromkeys([name for name in names if name]))
                suppression = Suppression(item, location, text, rules, match[2] if match else "")
                written.append(suppression)
                for rule in rules:
                    by_rule.setdefault((location.file, item.index, about, rule), suppression)
        return cls(tuple(written), by_rule)

    def ignoring(self, result: Result) -> Suppression | None:
        """The comment that ignores `result`; None where there is none."""
        line = result.tags.get("line")
        if line is None or not self.by_rule:
            return None
        file, index = (None, None) if result.file is None else result.file
        return self.by_rule.get((file, index, int(line), result.tags.get("rule", "")))

    def findings(self, known: Collection[str], used: Collection[tuple[Location, str]]) -> Iterator[Finding]:
        """What is wrong with the comments: no rules, rules that are not `known`, no reason, nothing to ignore.

        `used` are places of comments with the rules of which they ignored a finding, or might with more input.
        """
        hints = 0
        for each in self.written:
            if not each.rules:
                message = (
                    f'must name the rules that it ignores, as in "ignore[queue-missing] reason"; got "{each.text}"'
                )
                yield _finding(FORM, each, message)
                continue
            for rule in each.rules:
                if rule not in known:
                    hints += 1
                    near = closest(rule, known, len(known)) if hints <= HINTS else ""
                    hint = near or "; `packwise rules` lists them"
                    yield _finding(FORM, each, f'must name rules that there are; got "{rule}"{hint}')
                elif (each.location, rule) not in used:
                    yield _finding(
                        UNUSED, each, f"ignores nothing: its line breaks no [{rule}] that may be ignored; remove it"
                    )
            if not each.reason:
                yield _finding(REASON, each, "must say why, after the brackets; reviewers will ask")


def _finding(rule: Rule, suppression: Suppression, message: str) -> Finding:
    return Finding.of(rule, suppression.item, (), f"the comment {message}", location=suppression.location)
