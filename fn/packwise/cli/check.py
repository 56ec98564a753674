"""`packwise check`: findings on stdout, what was judged on stderr.

Nothing is written but what `--fix` mends, and files that are asked for.
"""

from __future__ import annotations

import sys

from krmfn.hints import TYPE_CHECKING
from krmfn.result import Severity, exit_code
from packwise.cli.arguments import Verbosity
from packwise.cli.console import cannot_write, is_coloured, say, show
from packwise.cli.coverage import ending
from packwise.cli.findings_text import Checked, count_by_rule, stderr_lines
from packwise.cli.groups import read_groups
from packwise.cli.judgement import judge
from packwise.cli.outputs import print_all, write_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from krmfn.result import Result
    from packwise.cli.arguments import Check, Choice
    from packwise.cli.fix import Fixed
    from packwise.cli.groups import Checkup

__all__ = ["check"]


def check(command: Check) -> int:
    """Prints what is wrong; returns the exit code. Raises UsageError."""
    if command.choice != type(command.choice)():
        from packwise.cli.choosing import refuse_unknown

        refuse_unknown(command.choice)
    fixed = None
    if command.fix is not None:
        from packwise.cli.fix import fix

        try:
            fixed = fix(command.named, command.fix)
        except OSError as error:
            say([cannot_write(error)])
            return 1
        if command.fix.show:
            return _show(fixed)
        say([f"mended {name}" for name, _, _ in fixed.texts])
    checkup = _read(command)
    judgement = judge(checkup)
    checked = Checked(
        judgement.results,
        checkup.number,
        checkup.text_of,
        coloured=is_coloured(sys.stdout),
        coverage=judgement.coverage,
        verbosity=command.verbosity,
        changed_since=command.changed_since,
    )
    # Workloads are there, and neither a baseline nor a status tells what changed.
    is_compared = command.named.baseline is not None or exit_code(checkup.results) or not judgement.is_new
    if command.verbosity is Verbosity.VERBOSE and not is_compared:
        say(["note: without --baseline (as in --baseline git:main) the rules for updates are not checked"])
    if fixed is not None:
        say(_hidden(fixed))
    return _report(command, checked)


def _read(command: Check) -> Checkup:
    """What is named, on the cluster's nodes where these are given."""
    if command.changed_since is None:
        checkup = read_groups(command.named)
    else:
        from packwise.cli.before import read_changed

        checkup = read_changed(command.named, command.changed_since, command.nodes)
    if not command.nodes:
        return checkup
    from packwise.cli.cluster_files import read_nodes

    return checkup.on(read_nodes(command.nodes))


def _report(command: Check, checked: Checked) -> int:
    """Writes the findings where they are asked for, and the last line; returns the exit code."""
    choice, absence = command.choice, _absence(command, checked)
    if choice != type(choice)():
        from packwise.cli.choosing import choose, divided, findings_text

        chosen = choose(checked.results, choice)
        checked = checked._replace(results=chosen.results, known=chosen.known)
        if choice.written is not None:
            known, never = divided(chosen.results)
            written = _write_findings(choice.written, findings_text(known), len(known))
            say(stderr_lines(never, command.verbosity, coloured=is_coloured(sys.stderr)), as_they_are=True)
            return max(written, exit_code(never), absence)
        if chosen.gone and command.verbosity is not Verbosity.QUIET:
            are = "is" if chosen.gone == 1 else "are"
            say([f"{_findings(chosen.gone)} of {choice.known} {are} there no longer; write it once more"])
    if command.verbosity is Verbosity.VERBOSE:
        # Before the findings, which would else stand far above the last line.
        say(checked.coverage.listed)
    if not print_all(command.outputs, checked):
        return 1
    code = max(exit_code(checked.results), _excess(checked.results, choice), absence)
    counted = count_by_rule(checked.results)
    say(ending(checked.last_line, [counted] if counted else [], command.verbosity))
    return code


def _write_findings(name: str, text: str, number: int) -> int:
    if not write_text(name, text):
        return 1
    say([f"wrote {_findings(number)} to {name}; `packwise check --known {name}` reports what is new"])
    return 0


def _findings(number: int) -> str:
    return "1 finding" if number == 1 else f"{number} findings"


def _excess(results: Sequence[Result], choice: Choice) -> int:
    """1 where there are more warnings than may be, which stderr says."""
    if choice.max_warnings is None:
        return 0
    warnings = sum(result.severity is Severity.WARNING for result in results)
    if warnings <= choice.max_warnings:
        return 0
    say([f"error: there must be at most {choice.max_warnings} warnings (--max-warnings); got {warnings}"])
    return 1


def _absence(command: Check, checked: Checked) -> int:
    """1 where no workload was judged and one must be, which stderr says."""
    if not command.requires_workloads or checked.coverage.number:
        return 0
    say(["error: a workload must be judged (--require-workloads); none was"])
    return 1


def _show(fixed: Fixed) -> int:
    from krmfn.difference import unified_diff

    shown = show("".join([unified_diff(*text) for text in fixed.texts]))
    say(_hidden(fixed))
    return int(bool(fixed.texts) or not shown)


def _hidden(fixed: Fixed) -> list[str]:
    """What could be mended too, and is not since that changes what is meant."""
    if not fixed.hidden:
        return []
    noun = "1 object" if fixed.hidden == 1 else f"{fixed.hidden} objects"
    return [
        f"{noun} can be mended with --unsafe-fixes, which change what is meant; --fix --unsafe-fixes --diff shows it"
    ]
