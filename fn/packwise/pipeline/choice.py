"""Which findings are reported, and how severe they are: by the configuration's `rules`, and by comments at lines.

Warnings and infos are the user's to choose. An error says that somebody refuses the object: it is ignored at its line
alone, and nothing is rendered from that object. Errors that other objects depend on are not ignored at all.
"""

from __future__ import annotations

from posixpath import dirname

from krmfn.hints import TYPE_CHECKING
from krmfn.result import Severity
from packwise.findings.finding import Rule
from packwise.pipeline.suppression import HINTS, Suppressions
from packwise.settings import settings_place
from packwise.wording import closest

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

    from krmfn.kubeobject import KubeObject
    from krmfn.result import Result
    from krmfn.source import Location
    from packwise.findings.finding import Finding
    from packwise.settings import TopologyRender
    from packwise.settings.topologyrender import RuleEntry

__all__ = ["RULES", "Choice"]

UNKNOWN = Rule("rules-known", "`rules` names rules that there are.", "spec/packwise.md#rules")
REFUSED = Rule("rules-refused", "`rules` ignores no rule whose findings are errors.", "spec/packwise.md#rules")
RULES = (UNKNOWN, REFUSED)
"""Rules of the configuration's `rules`."""

_SEVERITIES = {"warn": Severity.WARNING, "error": Severity.ERROR}
_UPDATES = "update-"
"""What rules begin with that are judged against a baseline only."""


class Choice:
    """What becomes of the findings of one render. It remembers which comments were of use."""

    __slots__ = ("_compared", "_entries", "_settings", "_suppressions", "_used")

    def __init__(self, settings: TopologyRender, items: Iterable[KubeObject], *, compared: bool) -> None:
        self._settings = settings
        # Those for some files come before those for all.
        folder = dirname(settings.item.file or "") if settings.item is not None else ""
        self._entries: dict[str, list[tuple[RuleEntry, Callable[[str | None], bool]]]] = {}
        for entry in sorted(settings.rules, key=lambda entry: not entry.paths):
            self._entries.setdefault(entry.rule, []).append((entry, _matcher(entry, folder)))
        self._suppressions = Suppressions.of(items)
        self._compared = compared
        self._used: set[tuple[Location, str]] = set()

    def results(self, findings: Iterable[Finding], ignorable: Collection[int] = ()) -> tuple[Result, ...]:
        """The results that `findings` are, but for those that are ignored.

        An error that a comment ignores is an info where its subject is one of `ignorable`, which has identities in
        memory, and an error elsewhere.
        """
        reported = (self._result(finding, ignorable) for finding in findings)
        return tuple(result for result in reported if result is not None)

    def refused(self, findings: Iterable[Finding], ignorable: Collection[int]) -> frozenset[int]:
        """Those of `ignorable` about which an error is ignored."""
        return frozenset(
            [
                id(finding.subject)
                for finding in findings
                if finding.severity is Severity.ERROR
                and id(finding.subject) in ignorable
                and self._suppressions.ignoring(finding.to_result())
            ]
        )

    def wrong_entries(self) -> Iterator[Finding]:
        """What is wrong with the configuration's `rules`."""
        if not self._entries:
            return
        rules, hints = _rules(), 0
        for entry in self._settings.rules:
            place = settings_place(self._settings).below("rules", entry.level, entry.place)
            place = place.below("rule") if entry.paths else place
            rule = rules.get(entry.rule)
            if rule is None:
                hints += 1
                near = closest(entry.rule, rules, len(rules)) if hints <= HINTS else ""
                hint = near or "; `packwise rules` lists them"
                yield place.finding(UNKNOWN, f'must name a rule that there is; got "{entry.rule}"{hint}')
            elif rule.severity is Severity.ERROR and entry.level != "error":
                message = (
                    f'must not be "{rule.name}", whose findings are errors: the cluster refuses what breaks it; '
                    f"ignore it at its line, `# packwise: ignore[{rule.name}] reason`"
                )
                yield place.finding(REFUSED, message)

    def wrong_comments(self) -> tuple[Result, ...]:
        """What is wrong with comments, once every finding was reported: those that had nothing to ignore, too."""
        if not self._suppressions.written:
            return ()
        rules, used = _rules(), self._used
        if not self._compared:
            used = used | {
                (each.location, rule)
                for each in self._suppressions.written
                for rule in each.rules
                if rule.startswith(_UPDATES)
            }
        return self.results(self._suppressions.findings(rules, used))

    def _result(self, finding: Finding, ignorable: Collection[int]) -> Result | None:
        result = finding.to_result()
        is_error = result.severity is Severity.ERROR
        suppression = self._suppressions.ignoring(result)
        if suppression is not None and (not is_error or id(finding.subject) in ignorable):
            self._used.add((suppression.location, finding.rule))
            if not is_error:
                return None
            reason = f" ({suppression.reason})" if suppression.reason else ""
            return result._replace(
                severity=Severity.INFO,
                message=f"{result.message}; ignored at its line{reason}, and nothing is rendered from it",
                tags={**result.tags, "ignored": suppression.reason},
            )
        level = None if is_error else self._level(result)
        if level is None:
            return result
        if level == "ignore":
            return None
        wanted = _SEVERITIES[level]
        return result._replace(severity=wanted) if result.severity is Severity.INFO or level == "error" else result

    def _level(self, result: Result) -> str | None:
        entries, file = self._entries.get(result.tags.get("rule", ""), ()), result.file.path if result.file else None
        return next((entry.level for entry, is_of in entries if is_of(file)), None)


def _rules() -> dict[str, Rule]:
    from packwise.pipeline.rules import rule_table

    return {rule.name: rule for rule in rule_table()}


def _matcher(entry: RuleEntry, folder: str) -> Callable[[str | None], bool]:
    """Whether a file is among the paths of `entry`, which start at `folder`; all are where there are no paths."""
    if not entry.paths:
        return lambda _: True
    from packwise.globs import Globs

    globs = Globs.read(entry.paths)
    prefix = f"{folder}/" if folder else ""
    return lambda file: file is not None and globs.take(file.removeprefix(prefix))
