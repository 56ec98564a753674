"""A check: findings reported as they are asked for, and files mended."""

from __future__ import annotations

import json
import sys
from functools import partial
from pathlib import Path

from krmfn.fieldpath import FieldError
from krmfn.hints import TYPE_CHECKING
from krmfn.record import Record
from krmfn.result import Severity, exit_code, sort_results
from packwise.check.judgement import judge
from packwise.check.options import CheckOptions, FindingChoice, Fix, Output
from packwise.console import cannot_write, encode_text, is_coloured, json_text, say, show
from packwise.findings.known import compare, content_of, fingerprints_in
from packwise.inputs.groups import read_groups, read_inputs
from packwise.inputs.reader import contents_of, edited_text
from packwise.inputs.request import STDIN, Named, UsageError, Verbosity
from packwise.output.findings_text import Checked, as_text, count_by_rule, ending, stderr_lines
from packwise.output.write import write_text
from packwise.pipeline.registry import schedulers, workload_front_ends
from packwise.pipeline.rules import prevents
from packwise.pipeline.steps import read_package
from packwise.select.selection import cluster_of, topologies_of
from packwise.topology.known import with_new_labels
from packwise.wording import count_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from krmfn.kubeobject import KubeObject
    from krmfn.result import Result
    from packwise.check.options import Format
    from packwise.inputs.groups import Checkup, Inputs
    from packwise.placement import Cluster
    from packwise.select.selection import Package
    from packwise.settings.topologyrender import TopologyRender


def check(command: CheckOptions) -> int:
    """Prints what is wrong; returns the exit code. Raises UsageError."""
    if command.choice != FindingChoice():
        _refuse_unknown(command.choice)
    fixed = None
    if command.fix is not None:
        try:
            fixed = _fix(command.named, command.fix)
        except OSError as error:
            say([cannot_write(error)])
            return 1
        if command.fix.show:
            return _show(fixed)
        say([f"mended {name}" for name, _, _ in fixed.texts])
    checkup = _checkup_of(command)
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
        say(_unsafe_note(fixed))
    return _report(command, checked)


def _checkup_of(command: CheckOptions) -> Checkup:
    """The groups to judge, on the cluster's nodes where these are given."""
    if command.changed_since is None:
        checkup = read_groups(command.named)
    else:
        from packwise.check.changed import read_changed

        checkup = read_changed(command.named, command.changed_since, command.nodes)
    if not command.nodes:
        return checkup
    from packwise.place.cluster import read_nodes

    return checkup.on(read_nodes(command.nodes))


def _report(command: CheckOptions, checked: Checked) -> int:
    """Writes the findings where they are asked for, and the last line; returns the exit code."""
    choice, absence = command.choice, _absence(command, checked)
    if choice != FindingChoice():
        chosen = _choose(checked.results, choice)
        checked = checked.replace(results=chosen.results, known=chosen.known)
        if choice.written is not None:
            known, never = _divide(chosen.results)
            written = _write_findings(choice.written, _findings_text(known), len(known))
            say(stderr_lines(never, command.verbosity, coloured=is_coloured(sys.stderr)), as_they_are=True)
            return max(written, exit_code(never), absence)
        if chosen.gone and command.verbosity is not Verbosity.QUIET:
            are = "is" if chosen.gone == 1 else "are"
            say([f"{count_text(chosen.gone, 'finding')} of {choice.known} {are} there no longer; write it once more"])
    if command.verbosity is Verbosity.VERBOSE:
        # Before the findings, which would else stand far above the last line.
        say(checked.coverage.detail_lines)
    if not _print_all(command.outputs, checked):
        return 1
    code = max(exit_code(checked.results), _excess(checked.results, choice), absence)
    counted = count_by_rule(checked.results)
    say(ending(checked.last_line, [counted] if counted else [], command.verbosity))
    return code


def _write_findings(name: str, text: str, number: int) -> int:
    if not write_text(name, text):
        return 1
    say([f"wrote {count_text(number, 'finding')} to {name}; `packwise check --known {name}` reports what is new"])
    return 0


def _excess(results: Sequence[Result], choice: FindingChoice) -> int:
    """1 where there are more warnings than may be, which stderr says."""
    if choice.max_warnings is None:
        return 0
    warnings = sum(result.severity is Severity.WARNING for result in results)
    if warnings <= choice.max_warnings:
        return 0
    say([f"error: there must be at most {choice.max_warnings} warnings (--max-warnings); got {warnings}"])
    return 1


def _absence(command: CheckOptions, checked: Checked) -> int:
    """1 where no workload was judged and one must be, which stderr says."""
    if not command.requires_workloads or checked.coverage.number:
        return 0
    say(["error: a workload must be judged (--require-workloads); none was"])
    return 1


def _show(fixed: _Fixed) -> int:
    from krmfn.difference import unified_diff

    shown = show("".join([unified_diff(*text) for text in fixed.texts]))
    say(_unsafe_note(fixed))
    return int(bool(fixed.texts) or not shown)


def _unsafe_note(fixed: _Fixed) -> list[str]:
    """The note on objects that could be mended too, and are not since that changes what is meant."""
    if not fixed.hidden:
        return []
    return [
        f"{count_text(fixed.hidden, 'object')} can be mended with --unsafe-fixes, which change what is meant; "
        "--fix --unsafe-fixes --diff shows it"
    ]


class _Chosen(Record):
    """`results` are reported; `known` counts those that a file knows, `gone` what it knows and is there no longer."""

    results: tuple[Result, ...]
    known: int = 0
    gone: int = 0


def _refuse_unknown(choice: FindingChoice) -> None:
    """Raises UsageError where a rule is named that there is not, or one is to be ignored whose findings are errors."""
    # Only whoever names rules pays for the table of all.
    from packwise.rules.run import rule_named

    for name in choice.selected:
        rule_named(name)
    for name in choice.ignored:
        if rule_named(name).severity is Severity.ERROR:
            raise UsageError(
                f'--ignore must name rules of warnings and infos; got "{name}", whose findings are errors: the cluster '
                f"refuses what breaks it; ignore it at its line, `# packwise: ignore[{name}] reason`"
            )


def _choose(results: Sequence[Result], choice: FindingChoice) -> _Chosen:
    """The sorted `results` that `choice` asks for. Raises UsageError where its file of known findings is none."""
    chosen = tuple(result for result in results if _is_chosen(result, choice))
    if choice.known is None:
        return _Chosen(chosen)
    others, never = _divide(chosen)
    compared = compare(others, _read_known(choice.known))
    return _Chosen(sort_results([*never, *compared.new]), compared.known, compared.gone if not choice.selected else 0)


def _findings_text(results: Sequence[Result]) -> str:
    """The file of known findings that has `results`."""
    return json_text(content_of(results))


def _divide(results: Sequence[Result]) -> tuple[list[Result], list[Result]]:
    """Those of `results` that may be known, and errors that never are: with these, nothing else is judged."""
    known: list[Result] = []
    never: list[Result] = []
    for result in results:
        (never if prevents(result) else known).append(result)
    return known, never


def _is_chosen(result: Result, choice: FindingChoice) -> bool:
    rule = result.tags.get("rule", "")
    if result.severity is Severity.ERROR:
        # Where no rule is judged, nothing of those selected is no good news.
        return not choice.selected or rule in choice.selected or prevents(result)
    return rule not in choice.ignored and (not choice.selected or rule in choice.selected)


def _read_known(name: str) -> frozenset[str]:
    try:
        return fingerprints_in(json.loads(Path(name).read_text(encoding="utf-8")))
    except OSError as error:
        raise UsageError(f'--known "{name}" must be a file that can be read; got "{error.strerror}"') from None
    except RecursionError:
        raise UsageError(f'--known "{name}" must be what --write-findings wrote; it nests too deep') from None
    except ValueError as error:
        is_json = not isinstance(error, (json.JSONDecodeError, UnicodeDecodeError))
        raise UsageError(
            f'--known "{name}" {error if is_json else "must be JSON that --write-findings wrote; it is none"}'
        ) from None


class _Fixed(Record):
    """The files that mending changes: name, text before, text after. `hidden` counts objects that need unsafe fixes."""

    texts: tuple[tuple[str, str, str], ...] = ()
    hidden: int = 0


def _fix(named: Named, how: Fix) -> _Fixed:
    """Mends the files that `named` names, unless it only shows how; none where one is unreadable.

    Raises UsageError for stdin and for ResourceLists, OSError where a file cannot be
    written.
    """
    if STDIN in named.paths:
        raise UsageError("--fix must go with files or folders: stdin cannot be written back")
    # The past and the CRDs have no say in what is mended.
    only = Named(named.paths, named.config, exclude=named.exclude)
    inputs = read_inputs(only)
    if exit_code(inputs.results):
        return _Fixed()
    mended = mend(inputs.package, unsafe=how.unsafe)
    fixed = _Fixed(tuple(_texts(inputs, mended)), mended.hidden)
    if fixed.texts and not how.show:
        # Most checks write nothing.
        from packwise.output.write import FileChange, change_files, common_folder

        paths = {Path(name): encode_text(text) for name, _, text in fixed.texts}
        change_files(common_folder(paths), [FileChange(*path) for path in paths.items()], contents_of(inputs.read))
    return fixed


def _texts(inputs: Inputs, mended: Mended) -> list[tuple[str, str, str]]:
    now = dict(zip(map(id, inputs.package.items), mended.items, strict=True))
    edited = [(file, edited_text(file, now, "--fix")) for file in inputs.files]
    return [(str(file.path.name), file.text, text) for file, text in edited if text is not None]


class Mended(Record):
    """The items with what can be mended, in their order; `hidden` of them could be mended further by a decision."""

    items: tuple[KubeObject, ...]
    hidden: int


def mend(package: Package, *, unsafe: bool = False) -> Mended:
    """The items, mended where only one thing can be meant; `unsafe`: also where that is a decision.

    Those that need none come back as they are, and so do those where an anchor or alias is in the way.
    """
    inventory, selection = read_package(package)
    try:
        cluster = cluster_of(selection, topologies_of(inventory, selection))
    except FieldError:
        # A topology that cannot be read says what others mean; what is wrong with it is a finding of a check.
        return Mended(package.items, 0)
    safe = [
        _attempt(item, partial(_mend_safely, cluster=cluster, settings=selection.settings)) for item in package.items
    ]
    decided = [
        _attempt(item, partial(_mend_by_decision, cluster=cluster, settings=selection.settings)) for item in safe
    ]
    if unsafe:
        return Mended(tuple(decided), 0)
    return Mended(tuple(safe), sum(before is not after for before, after in zip(safe, decided, strict=True)))


def _attempt(item: KubeObject, change: Callable[[KubeObject], KubeObject]) -> KubeObject:
    try:
        return change(item)
    except FieldError:
        # The finding stays, and says what to mend by hand.
        return item


def _mend_safely(item: KubeObject, cluster: Cluster, settings: TopologyRender) -> KubeObject:
    """The item in other words, which say what its author can only have meant."""
    for front_end in workload_front_ends():
        item = front_end.mend(item, cluster.revision, settings)
    return item


def _mend_by_decision(item: KubeObject, cluster: Cluster, settings: TopologyRender) -> KubeObject:
    """The item as it must be if the cluster is as its configuration says: labels renamed, topologies listed.

    After this the operator does something else than before: it places by other labels, or makes no KAI Topology.
    """
    item = with_new_labels(item)
    for scheduler in schedulers(cluster.revision):
        item = scheduler.mend(item, cluster, settings)
    return item


def _print_all(outputs: Iterable[Output], checked: Checked) -> bool:
    """Writes each output; False where one cannot be written, which stderr says. The others are written anyway."""
    written = [_print(output, checked) for output in outputs]
    return all(written)


def _print(output: Output, checked: Checked) -> bool:
    text = _printer(output.format)(checked)
    # Its lines are commands to GitHub's runner.
    is_data = output.format == "github"
    return show(text, is_data=is_data) if output.file is None else write_text(output.file, text, is_data=is_data)


def _printer(name: Format) -> Callable[[Checked], str]:
    if name == "text":
        return as_text
    # No other format pays for the imports of those for programs.
    from packwise.check import formats

    return getattr(formats, f"as_{name}")
