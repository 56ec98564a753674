"""Every rule of a render's results, and the choice of the findings to report by their rule.

The configuration's `rules` and comments select findings and their severity. Users can choose warnings and infos freely.
An error means that a component refuses the object. Only a comment at the line of the error can ignore it, and then no
objects are rendered from the refused object. Errors that other objects depend on cannot be ignored. A comment, `#
packwise: ignore[rule, rule] reason`, applies to the line that it ends, or to the next line with other content. If a
field starts a block, it applies to the field's own line and not to the block.
"""

from __future__ import annotations

import re
from functools import cache
from posixpath import dirname

from krmfn.hints import TYPE_CHECKING, Record
from krmfn.remarks import remarks
from krmfn.result import Severity, exit_code
from packwise import generated, keys, placement
from packwise.findings import Finding, Rule
from packwise.objects import index, kinds
from packwise.pipeline import check, evidence, registry, selection, steps
from packwise.settings import configuration, operator
from packwise.settings.topologyrender import settings_place
from packwise.topology import bindings, known
from packwise.validate import crds
from packwise.wording import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

    from krmfn.kubeobject import KubeObject, Location
    from krmfn.result import Result
    from packwise.settings.topologyrender import RuleEntry, TopologyRender

UNKNOWN = Rule(
    "rules-known", "`rules` of the TopologyRender names a rule that does not exist.", "spec/packwise.md#rules"
)
REFUSED = Rule(
    "rules-refused", "`rules` of the TopologyRender ignores a rule that reports errors.", "spec/packwise.md#rules"
)
OF_SETTINGS = (UNKNOWN, REFUSED)
"""Rules of the configuration's `rules`."""

FORM = Rule(
    "ignore-form",
    "An ignore comment names no rule, or a rule that does not exist.",
    "spec/packwise.md#ignore",
    Severity.WARNING,
)
REASON = Rule("ignore-reason", "An ignore comment gives no reason.", "spec/packwise.md#ignore", Severity.WARNING)
UNUSED = Rule(
    "ignore-unused",
    "An ignore comment matches no finding.",
    "spec/packwise.md#ignore",
    Severity.WARNING,
)
OF_COMMENTS = (FORM, REASON, UNUSED)
"""Rules of ignore comments themselves."""

_WORD = "packwise"
"""The first word of a comment for packwise; a colon follows."""
_HINTS = 20
"""The number of unknown rules for which the nearest name is searched."""

_IGNORE = r"ignore\s*\[([^\[\]]*)\]\s*(.*)"


class Suppression(Record):
    """A comment in `item` that ignores `rules` for a `reason`. `text` is the part after packwise's name."""

    item: KubeObject
    location: Location
    text: str
    rules: tuple[str, ...]
    reason: str


_Ignored = tuple[str | None, int | None, int, str]
"""The file, the document's index in it or None, the line and the rule."""


class Suppressions(Record):
    """All comments of the input. `by_rule` has the first comment about each rule, by the line that it applies to."""

    written: tuple[Suppression, ...] = ()
    by_rule: Mapping[_Ignored, Suppression] = {}

    @classmethod
    def of(cls, items: Iterable[KubeObject]) -> Suppressions:
        """Return the comments in `items`. Each text is read once, because the entries of a List share one."""
        written: list[Suppression] = []
        by_rule: dict[_Ignored, Suppression] = {}
        for item in {item.origin.replace(root=(), entry=()): item for item in items}.values():
            for remark in remarks(item, _WORD):
                match = re.fullmatch(_IGNORE, remark.text)
                names = [name.strip() for name in match[1].split(",")] if match else []
                rules = tuple(dict.fromkeys([name for name in names if name]))
                suppression = Suppression(item, remark.location, remark.text, rules, match[2] if match else "")
                written.append(suppression)
                for rule in rules:
                    by_rule.setdefault((remark.location.file, item.index, remark.about, rule), suppression)
        return cls(tuple(written), by_rule)

    def ignoring(self, result: Result) -> Suppression | None:
        """Return the comment that ignores `result`, or None."""
        line = result.tags.get("line")
        if line is None or not self.by_rule:
            return None
        file = result.file
        path, index = (None, None) if file is None else (file.path, file.index)
        return self.by_rule.get((path, index, int(line), result.tags.get("rule", "")))

    def findings(self, known: Collection[str], used: Collection[tuple[Location, str]]) -> Iterator[Finding]:
        """Yield findings about comments with no rule, with a rule that is not `known`, without a reason, or without
        effect.

        `used` holds the places of comments, each with a rule. The comment has ignored a finding of the rule, or could
        do so with more input.
        """
        hints = 0
        for each in self.written:
            if not each.rules:
                message = (
                    f'must name the rules that it ignores, such as "ignore[queue-missing] reason"; got "{each.text}"'
                )
                yield _finding(FORM, each, message)
                continue
            for rule in each.rules:
                if rule not in known:
                    hints += 1
                    near = did_you_mean(rule, known, len(known)) if hints <= _HINTS else ""
                    hint = near or "; `packwise rules` lists them"
                    yield _finding(FORM, each, f'names an unknown rule "{rule}"{hint}')
                elif (each.location, rule) not in used:
                    yield _finding(
                        UNUSED,
                        each,
                        f"ignores nothing, because its line has no finding of [{rule}] that can be ignored; remove it",
                    )
            if not each.reason:
                yield _finding(REASON, each, "gives no reason; write one after the brackets for reviewers")


def _finding(rule: Rule, suppression: Suppression, message: str) -> Finding:
    return Finding.of(rule, suppression.item, (), f"the comment {message}", location=suppression.location)


_SEVERITIES = {"warn": Severity.WARNING, "error": Severity.ERROR}
_UPDATES = "update-"
"""The prefix of rules that need a baseline."""


class Choice:
    """The choice among the findings of one render. It records the comments that ignored a finding."""

    __slots__ = ("_compared", "_entries", "_settings", "_suppressions", "_used")

    def __init__(self, settings: TopologyRender, items: Iterable[KubeObject], *, compared: bool) -> None:
        self._settings = settings
        # Settings for some files come before settings for all files.
        folder = dirname(settings.item.file or "") if settings.item is not None else ""
        self._entries: dict[str, list[tuple[RuleEntry, Callable[[str | None], bool]]]] = {}
        for entry in sorted(settings.rules, key=lambda entry: not entry.paths):
            self._entries.setdefault(entry.rule, []).append((entry, _matcher(entry, folder)))
        self._suppressions = Suppressions.of(items)
        self._compared = compared
        self._used: set[tuple[Location, str]] = set()

    def results(self, findings: Iterable[Finding], ignorable: Collection[KubeObject] = ()) -> tuple[Result, ...]:
        """Return the findings as results, without ignored ones.

        An error ignored by a comment becomes an info if its subject is `ignorable`. Otherwise it stays an error.
        """
        reported = (self._result(finding, ignorable) for finding in findings)
        return tuple(result for result in reported if result is not None)

    def ignored_subjects(self, findings: Iterable[Finding], ignorable: Collection[KubeObject]) -> frozenset[KubeObject]:
        """Return the `ignorable` objects with an ignored error."""
        return frozenset(
            finding.subject
            for finding in findings
            if finding.severity is Severity.ERROR
            and finding.subject is not None
            and finding.subject in ignorable
            and self._suppressions.ignoring(finding.to_result())
        )

    def wrong_entries(self) -> Iterator[Finding]:
        """Yield findings about the configuration's `rules`."""
        if not self._entries:
            return
        rules, hints = _by_name(), 0
        for entry in self._settings.rules:
            place = settings_place(self._settings).child("rules", entry.level, entry.place)
            place = place.child("rule") if entry.paths else place
            rule = rules.get(entry.rule)
            if rule is None:
                hints += 1
                near = did_you_mean(entry.rule, rules, len(rules)) if hints <= _HINTS else ""
                hint = near or "; `packwise rules` lists them"
                yield place.finding(UNKNOWN, f'there is no rule "{entry.rule}"{hint}')
            elif rule.severity is Severity.ERROR and entry.level != "error":
                message = (
                    f'"{rule.name}" reports errors, which the cluster refuses. Ignore one at its line: '
                    f"`# packwise: ignore[{rule.name}] reason`"
                )
                yield place.finding(REFUSED, message)

    def wrong_comments(self) -> tuple[Result, ...]:
        """Return findings about comments, including comments without effect. Call this after all findings are
        reported.
        """
        if not self._suppressions.written:
            return ()
        rules, used = _by_name(), self._used
        if not self._compared:
            used = used | {
                (each.location, rule)
                for each in self._suppressions.written
                for rule in each.rules
                if rule.startswith(_UPDATES)
            }
        return self.results(self._suppressions.findings(rules, used))

    def _result(self, finding: Finding, ignorable: Collection[KubeObject]) -> Result | None:
        result = finding.to_result()
        is_error = result.severity is Severity.ERROR
        suppression = self._suppressions.ignoring(result)
        if suppression is not None and (not is_error or finding.subject in ignorable):
            self._used.add((suppression.location, finding.rule))
            if not is_error:
                return None
            reason = f" ({suppression.reason})" if suppression.reason else ""
            return result.replace(
                severity=Severity.INFO,
                message=f"{result.message}; ignored at its line{reason}, and packwise renders nothing from the object",
                tags={**result.tags, "ignored": suppression.reason},
            )
        level = None if is_error else self._level(result)
        if level is None:
            return result
        if level == "ignore":
            return None
        wanted = _SEVERITIES[level]
        return result.replace(severity=wanted) if result.severity is Severity.INFO or level == "error" else result

    def _level(self, result: Result) -> str | None:
        entries, file = self._entries.get(result.tags.get("rule", ""), ()), result.file.path if result.file else None
        return next((entry.level for entry, is_of in entries if is_of(file)), None)


def _by_name() -> dict[str, Rule]:
    return {rule.name: rule for rule in rule_table()}


def _matcher(entry: RuleEntry, folder: str) -> Callable[[str | None], bool]:
    """Return a test for files that match the paths of `entry`, relative to `folder`. Without paths it accepts every
    file.
    """
    if not entry.paths:
        return lambda _: True
    from packwise.globs import Globs

    globs = Globs.read(entry.paths)
    prefix = f"{folder}/" if folder else ""
    return lambda file: file is not None and globs.take(file.removeprefix(prefix))


# The table of all rules.

_BEFORE_SCHEDULERS = (
    *index.RULES,
    *kinds.RULES,
    *selection.RULES,
    *evidence.RULES,
    *evidence.KAI_RULES,
    *crds.RULES,
    *configuration.RULES,
    *operator.RULES,
    *known.RULES,
    *known.PROTECTION_RULES,
    *known.CLUSTERTOPOLOGY_RULES,
    *configuration.SCHEDULER_RULES,
    *bindings.RULES,
    *known.RENAMED_RULES,
)
_PRECONDITIONS = (
    *index.RULES,
    *selection.RULES,
    *configuration.RULES,
    *operator.RULES,
    *configuration.SCHEDULER_RULES,
    *OF_SETTINGS,
)
_AFTER_SCHEDULERS = (
    *crds.VERDICT_RULES,
    *crds.OBJECT_RULES,
    *check.STRING_RULES,
    *check.PLACEHOLDER_RULES,
    *keys.RULES,
    *generated.RULES,
)


def rule_table() -> tuple[Rule, ...]:
    """Return all rules, in the order of the steps."""
    return (
        *_BEFORE_SCHEDULERS,
        *(rule for entry in registry.SCHEDULERS for rule in entry.rules()),
        *_AFTER_SCHEDULERS,
        *(rule for entry in registry.FRONT_ENDS for rule in entry.rules()),
        *placement.RULES,
        *steps.RULES,
        *OF_SETTINGS,
        *OF_COMMENTS,
    )


@cache
def rules_of_packages() -> frozenset[str]:
    """Return the names of rules about all workloads of a package. They are reported once."""
    return frozenset(rule.name for rule in rule_table() if rule.once)


@cache
def precondition_rules() -> frozenset[str]:
    """Return the names of rules about reading and configuration. If one reports an error, other rules are not
    checked.
    """
    return frozenset(rule.name for rule in _PRECONDITIONS)


def prevents(result: Result) -> bool:
    """Return True if the result is an error about unreadable input or the configuration. Other rules are then not
    checked.
    """
    rule = result.tags.get("rule", "")
    return result.severity is Severity.ERROR and (not rule or rule in precondition_rules())


def rules_missed_by(unread: Iterable[Result]) -> set[str]:
    """Return the rules that are not reported if files are unreadable, because these files may contain the missing
    objects.

    `unread` are the results about reading.
    """
    return {selection.ABSENT.name, steps.NO_WORKLOADS.name} if exit_code(unread) else set()
