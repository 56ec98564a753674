"""A check: findings reported in the requested format, and files fixed."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

from krmfn.fieldpath import FieldError
from krmfn.hints import TYPE_CHECKING, Record
from krmfn.result import Severity, exit_code, sort_results
from packwise.answer import PLAIN, Answer, Terminal, Text
from packwise.check.groups import check_groups
from packwise.check.options import CheckOptions, FindingChoice, Fix
from packwise.console import cannot_write, encode_text, json_text
from packwise.inputs.groups import read_groups, read_inputs
from packwise.inputs.reader import contents_of, edited_text
from packwise.inputs.request import STDIN, Named, UsageError, Verbosity
from packwise.inputs.unread import is_unread
from packwise.output.findings_text import Checked, as_text, closing_lines, count_by_rule, stderr_lines
from packwise.output.known_findings import compare, content_of, fingerprints_in
from packwise.pipeline.registry import schedulers, workload_front_ends
from packwise.pipeline.rules import prevents
from packwise.pipeline.selection import cluster_of, topologies_of
from packwise.pipeline.steps import read_package
from packwise.topology.known import with_new_labels
from packwise.wording import count_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from krmfn.kubeobject import KubeObject
    from krmfn.result import Result
    from packwise.check.options import Format
    from packwise.inputs.groups import Checkup, Inputs
    from packwise.pipeline.selection import Package
    from packwise.placement import Cluster
    from packwise.settings.topologyrender import TopologyRender


def check(command: CheckOptions, terminal: Terminal = PLAIN) -> Answer:
    """Return the findings, and fix files if requested. Raise UsageError if an option is wrong."""
    if command.choice != FindingChoice():
        _refuse_unknown(command.choice)
    fixed, lines = None, list[str]()
    if command.fix is not None:
        try:
            fixed = _fix(command.named, command.fix)
        except OSError as error:
            return Answer(before=(cannot_write(error),), code=1)
        if command.fix.show:
            return _show(fixed)
        lines += [f"fixed {name}" for name, _, _ in fixed.texts]
    checkup = _checkup_of(command)
    verdict = check_groups(checkup)
    checked = Checked(
        verdict.results,
        checkup.number,
        checkup.text_of,
        coloured=terminal.is_coloured,
        coverage=verdict.coverage,
        verbosity=command.verbosity,
        changed_since=command.changed_since,
    )
    # The input has workloads, but neither a baseline nor a status that shows an update.
    is_compared = command.named.baseline is not None or exit_code(checkup.results) or not verdict.is_new
    if command.verbosity is Verbosity.VERBOSE and not is_compared:
        lines.append("note: without --baseline (as in --baseline git:main) the rules for updates are not checked")
    if fixed is not None:
        lines += _unsafe_note(fixed)
    answer = _report(command, checked, terminal)
    return answer.replace(before=(*lines, *answer.before))


def _checkup_of(command: CheckOptions) -> Checkup:
    """Return the groups to check, on the nodes of the cluster if the command names them."""
    if command.changed_since is None:
        checkup = read_groups(command.named, is_unread)
    else:
        from packwise.check.changed import read_changed

        checkup = read_changed(command.named, command.changed_since, command.nodes)
    if not command.nodes:
        return checkup
    from packwise.place.cluster import read_nodes

    return checkup.with_nodes(read_nodes(command.nodes))


def _report(command: CheckOptions, checked: Checked, terminal: Terminal) -> Answer:
    """Return the findings in each requested format and the last line."""
    choice, lines = command.choice, _absence(command, checked)
    absence = int(bool(lines))
    if choice != FindingChoice():
        chosen = _choose(checked.results, choice)
        checked = checked.replace(results=chosen.results, known=chosen.known)
        if choice.written is not None:
            known, never = _divide(chosen.results)
            shown = stderr_lines(never, command.verbosity, coloured=terminal.is_stderr_coloured)
            return Answer(
                (Text((json_text(content_of(known)),), choice.written),),
                tuple(lines),
                (_count_written(choice.written, len(known)), *shown),
                max(exit_code(never), absence),
            )
        if chosen.gone and command.verbosity is not Verbosity.QUIET:
            exist = "exists" if chosen.gone == 1 else "exist"
            count = count_text(chosen.gone, "finding")
            lines.append(f"{count} of {choice.known} no longer {exist}; write the file again")
    if command.verbosity is Verbosity.VERBOSE:
        # Print the details before the findings. Otherwise they would separate the findings from the last line.
        lines += checked.coverage.detail_lines
    excess = _excess(checked.results, choice)
    code = max(exit_code(checked.results), int(bool(excess)), absence)
    counted = count_by_rule(checked.results)
    checked = checked.replace(hides_infos=all(output.format == "text" for output in command.outputs))
    last = closing_lines(checked.last_line, [counted] if counted else [], command.verbosity)
    # A runner reads the lines of `github` as commands.
    texts = [
        Text((_printer(output.format)(checked),), output.file, is_data=output.format == "github")
        for output in command.outputs
    ]
    return Answer(tuple(texts), tuple(lines), (*excess, *last), code)


def _count_written(name: str, number: int) -> str:
    return f"wrote {count_text(number, 'finding')} to {name}; `packwise check --known {name}` reports only new ones"


def _excess(results: Sequence[Result], choice: FindingChoice) -> list[str]:
    """Return the error about more warnings than `choice` permits, or none."""
    if choice.max_warnings is None:
        return []
    warnings = sum(result.severity is Severity.WARNING for result in results)
    if warnings <= choice.max_warnings:
        return []
    return [f"error: {count_text(warnings, 'warning')}, but --max-warnings allows only {choice.max_warnings}"]


def _absence(command: CheckOptions, checked: Checked) -> list[str]:
    """Return the error that no workload was checked, if the command requires one, or none."""
    if not command.requires_workloads or checked.coverage.number:
        return []
    return ["error: no workload was checked (--require-workloads)"]


def _show(fixed: _Fixed) -> Answer:
    from krmfn.difference import unified_diff

    diffs = [unified_diff(*text) for text in fixed.texts]
    return Answer((Text(diffs),), after=tuple(_unsafe_note(fixed)), code=int(bool(fixed.texts)), needs_texts=False)


def _unsafe_note(fixed: _Fixed) -> list[str]:
    """Return the note on objects that only unsafe fixes can fix, because these change the meaning."""
    if not fixed.hidden:
        return []
    return [
        f"--unsafe-fixes can fix {count_text(fixed.hidden, 'more object')}, but changes the meaning; "
        "--fix --unsafe-fixes --diff shows the changes"
    ]


class _Chosen(Record):
    """`results` are reported. `known` counts the results that are in the file of known findings.

    `gone` counts the entries of that file without a result.
    """

    results: tuple[Result, ...]
    known: int = 0
    gone: int = 0


def _refuse_unknown(choice: FindingChoice) -> None:
    """Raise UsageError if a named rule is unknown, or if an ignored rule reports errors."""
    # Load the table of all rules only if the user names rules.
    from packwise.rules.run import rule_named

    for name in choice.selected:
        rule_named(name)
    for name in choice.ignored:
        if rule_named(name).severity is Severity.ERROR:
            raise UsageError(
                f'--ignore accepts only rules of warnings and infos, but "{name}" reports errors, which the cluster '
                f"refuses. Ignore one at its line: `# packwise: ignore[{name}] reason`"
            )


def _choose(results: Sequence[Result], choice: FindingChoice) -> _Chosen:
    """Return the sorted `results` of `choice`. Raise UsageError if its file of known findings is invalid."""
    chosen = tuple(result for result in results if _is_chosen(result, choice))
    if choice.known is None:
        return _Chosen(chosen)
    others, never = _divide(chosen)
    compared = compare(others, _read_known(choice.known))
    return _Chosen(sort_results([*never, *compared.new]), compared.known, compared.gone if not choice.selected else 0)


def _divide(results: Sequence[Result]) -> tuple[list[Result], list[Result]]:
    """Return the findings that may be known, and the errors that prevent a check and are therefore never known."""
    known: list[Result] = []
    never: list[Result] = []
    for result in results:
        (never if prevents(result) else known).append(result)
    return known, never


def _is_chosen(result: Result, choice: FindingChoice) -> bool:
    rule = result.tags.get("rule", "")
    if result.severity is Severity.ERROR:
        # An error that prevents a check is always reported. Without a check, an empty result means nothing.
        return not choice.selected or rule in choice.selected or prevents(result)
    return rule not in choice.ignored and (not choice.selected or rule in choice.selected)


def _read_known(name: str) -> frozenset[str]:
    try:
        return fingerprints_in(json.loads(Path(name).read_text(encoding="utf-8")))
    except OSError as error:
        raise UsageError(f'cannot read --known "{name}": {error.strerror}') from None
    except RecursionError:
        raise UsageError(f'--known "{name}" was not written by --write-findings: it is nested too deep') from None
    except ValueError as error:
        is_json = not isinstance(error, (json.JSONDecodeError, UnicodeDecodeError))
        raise UsageError(
            f'--known "{name}" {error if is_json else "was not written by --write-findings: it is not JSON"}'
        ) from None


class _Fixed(Record):
    """The changed files: name, text before, text after. `hidden` counts objects that only unsafe fixes can fix."""

    texts: tuple[tuple[str, str, str], ...] = ()
    hidden: int = 0


def _fix(named: Named, how: Fix) -> _Fixed:
    """Fix the files in `named` and return the changes, or only return them if `how` shows them.

    Change no file if one is unreadable. Raise UsageError for stdin and for ResourceLists, and OSError if a file cannot
    be written.
    """
    if STDIN in named.paths:
        raise UsageError("--fix needs files or folders, because packwise cannot write to stdin")
    # The baseline and the CRDs do not affect fixes.
    only = Named(named.paths, named.config, exclude=named.exclude)
    inputs = read_inputs(only)
    if exit_code(inputs.results):
        return _Fixed()
    fixed_package = fix_package(inputs.package, unsafe=how.unsafe)
    fixed = _Fixed(tuple(_texts(inputs, fixed_package)), fixed_package.hidden_fixes)
    if fixed.texts and not how.show:
        # The import is here because most checks write nothing.
        from packwise.output.write import FileChange, change_files, common_folder

        paths = {Path(name): encode_text(text) for name, _, text in fixed.texts}
        change_files(common_folder(paths), [FileChange(*path) for path in paths.items()], contents_of(inputs.read))
    return fixed


def _texts(inputs: Inputs, fixed: FixedPackage) -> list[tuple[str, str, str]]:
    now = dict(zip(map(id, inputs.package.items), fixed.items, strict=True))
    edited = [(file, edited_text(file, now, "--fix")) for file in inputs.files]
    return [(str(file.path.name), file.text, text) for file, text in edited if text is not None]


class FixedPackage(Record):
    """The fixed items in order. `hidden_fixes` counts items that only unsafe fixes can fix."""

    items: tuple[KubeObject, ...]
    hidden_fixes: int


def fix_package(package: Package, *, unsafe: bool = False) -> FixedPackage:
    """Return the items with all unambiguous fixes. With `unsafe`, also apply fixes that change the meaning.

    Items without fixes are returned unchanged, and also items with an anchor or alias that prevents a fix.
    """
    inventory, selection = read_package(package)
    try:
        cluster = cluster_of(selection, topologies_of(inventory, selection))
    except FieldError:
        # The meaning of other objects depends on the topologies, and one is unreadable. A check reports its problem.
        return FixedPackage(package.items, 0)
    safe = [
        _attempt(item, partial(_fix_safely, cluster=cluster, settings=selection.settings)) for item in package.items
    ]
    decided = [_attempt(item, partial(_fix_by_decision, cluster=cluster, settings=selection.settings)) for item in safe]
    if unsafe:
        return FixedPackage(tuple(decided), 0)
    return FixedPackage(tuple(safe), sum(before is not after for before, after in zip(safe, decided, strict=True)))


def _attempt(item: KubeObject, change: Callable[[KubeObject], KubeObject]) -> KubeObject:
    try:
        return change(item)
    except FieldError:
        # The finding stays, and describes the fix by hand.
        return item


def _fix_safely(item: KubeObject, cluster: Cluster, settings: TopologyRender) -> KubeObject:
    """Return the item with fixes that are unambiguous."""
    for front_end in workload_front_ends():
        item = front_end.fix(item, cluster.revision, settings)
    return item


def _fix_by_decision(item: KubeObject, cluster: Cluster, settings: TopologyRender) -> KubeObject:
    """Return the item changed to match the configured cluster: labels are renamed, and topologies are listed.

    The operator then behaves differently: it places pods by other labels, or makes no KAI Topology.
    """
    item = with_new_labels(item)
    for scheduler in schedulers(cluster.revision):
        item = scheduler.fix(item, cluster, settings)
    return item


def _printer(name: Format) -> Callable[[Checked], str]:
    if name == "text":
        return as_text
    # The formats for programs are imported only if they are used.
    from packwise.check.formats import PRINTERS

    return PRINTERS[name]
