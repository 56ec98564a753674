"""`packwise check`: findings on stdout, coverage on stderr.

Only fixes of `--fix` and requested files are written.
"""

from __future__ import annotations

import argparse

from krmfn.hints import TYPE_CHECKING
from packwise.check.options import FORMATS, CheckOptions, FindingChoice, Fix, Output
from packwise.cli.arguments import (
    Command,
    add_build,
    add_context,
    add_nodes,
    add_paths,
    add_verbosity,
    refuse_same_file,
    sources_of,
)
from packwise.inputs.request import STDIN, Verbosity

if TYPE_CHECKING:
    from collections.abc import Sequence


_DESCRIPTION = """\
Checks objects and reports problems. packwise changes files only with --fix. The text format shows the first few of
similar findings and counts infos. All other formats list every finding."""

_EPILOG = """\
examples:
  packwise check examples/disaggregated-inference
  packwise check clusters/west --baseline git:origin/main
  packwise check . --changed-since origin/main      # only files that a pull request affects
  packwise check clusters/west -o github            # annotate the changed lines of a pull request
  packwise check clusters/west -o text -o sarif=packwise.sarif -o junit=packwise.xml
  packwise check clusters/west --crds ../grove/operator/api/core/v1alpha1/crds
  packwise check clusters/west --fix --diff         # show the changes of --fix
  packwise check clusters/west --write-findings known.json
  packwise check clusters/west --known known.json   # report only new findings
  packwise check clusters/west --ignore queue-missing --max-warnings 0
  kustomize build overlays/west | packwise check -
  packwise rules unknown-field                      # explain a finding that ends with [unknown-field]

exit codes: 0 no error, 1 errors were found or more warnings than --max-warnings, 2 wrong usage"""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_paths(parser, "*", ["."])
    parser.add_argument(
        "-o",
        "--output",
        metavar="FORMAT[=FILE]",
        type=_output,
        action="append",
        help="output format and file; repeatable, with at most one format for stdout. Formats: text, json, github "
        "(workflow commands), gitlab (Code Quality report), sarif (SARIF 2.1.0), junit (JUnit XML), markdown (pull "
        "request comment) (default: text)",
    )
    parser.add_argument(
        "--changed-since",
        metavar="REF",
        help="check only files that the change since this commit affects: changed files, and files with a changed "
        "configuration or definition. For a branch, packwise uses the merge base with HEAD",
    )
    _add_fixes(parser)
    _add_choice(parser)
    add_build(parser)
    add_context(parser)
    add_verbosity(parser)


def _output(text: str) -> Output:
    name, equals, file = text.partition("=")
    if name not in FORMATS:
        known = ", ".join(FORMATS)
        raise argparse.ArgumentTypeError(
            f'must be one of {known}, or one with a file (sarif=packwise.sarif); got "{name}"'
        )
    if equals and not file:
        raise argparse.ArgumentTypeError(f'"{text}" must name a file after the equals sign')
    return Output(name, file if equals and file != STDIN else None)


def _add_fixes(check: argparse.ArgumentParser) -> None:
    check.add_argument(
        "--fix",
        action="store_true",
        help="first fix unambiguous problems in the files: missing quotes, renamed fields, misplaced keys of KAI. No "
        "other byte changes",
    )
    check.add_argument(
        "--unsafe-fixes",
        action="store_true",
        help="with --fix: also make changes that you must review: replace labels that topograph renamed, and list the "
        "Topology in a binding",
    )
    check.add_argument(
        "--diff",
        action="store_true",
        help="with --fix: print the changes as a diff, write no file, and exit with 1 if there are changes",
    )
    check.add_argument(
        "--force-exclude",
        action="store_true",
        help="apply exclusions also to files that are passed on the command line, for example by pre-commit",
    )
    add_nodes(
        check,
        "nodes of a cluster, to check topologies against their labels: output of `kubectl get nodes -o json`",
    )


def _add_choice(check: argparse.ArgumentParser) -> None:
    check.add_argument(
        "--ignore",
        metavar="RULE",
        action="append",
        default=[],
        help="ignore this rule of severity warning or info (comma-separated, repeatable)",
    )
    check.add_argument(
        "--select",
        metavar="RULE",
        action="append",
        default=[],
        help="report only these rules (comma-separated, repeatable)",
    )
    check.add_argument(
        "--max-warnings", metavar="N", type=_number, help="exit with 1 if there are more than N warnings"
    )
    check.add_argument(
        "--require-workloads",
        dest="requires_workloads",
        action="store_true",
        help="exit with 1 if no workload was checked",
    )
    check.add_argument(
        "--write-findings", metavar="FILE", help="write all findings to this file for --known, and exit with 0"
    )
    check.add_argument(
        "--known", metavar="FILE", help="report only findings that are not in this file, which --write-findings wrote"
    )


def _number(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 9:
        raise argparse.ArgumentTypeError(f'must be a number from 0 on; got "{text}"')
    return int(text)


def _refuse(parser: argparse.ArgumentParser, parsed: argparse.Namespace) -> None:
    """Exit with a usage error if options of `check` conflict."""
    if not parsed.fix and (parsed.diff or parsed.unsafe_fixes):
        parser.error(f"{'--diff' if parsed.diff else '--unsafe-fixes'} needs --fix")
    if parsed.fix and parsed.changed_since is not None:
        parser.error("--fix conflicts with --changed-since: it fixes every file on the command line")
    if parsed.requires_workloads and parsed.changed_since is not None:
        parser.error("--require-workloads conflicts with --changed-since: a change may affect no workload")
    if parsed.known is not None and parsed.write_findings is not None:
        parser.error("--write-findings conflicts with --known: it writes all findings")
    outputs: list[Output] = parsed.output or []
    refuse_same_file(parser, [output.file for output in outputs], "sarif=packwise.sarif")


def _read(parsed: argparse.Namespace) -> CheckOptions:
    return CheckOptions(
        named=sources_of(parsed).replace(force_exclude=parsed.force_exclude),
        outputs=tuple(parsed.output or [Output()]),
        fix=Fix(parsed.unsafe_fixes, parsed.diff) if parsed.fix else None,
        choice=FindingChoice(
            _split_names(parsed.ignore),
            _split_names(parsed.select),
            parsed.known,
            parsed.write_findings,
            parsed.max_warnings,
        ),
        verbosity=Verbosity(parsed.verbosity),
        nodes=tuple(parsed.nodes),
        changed_since=parsed.changed_since,
        requires_workloads=parsed.requires_workloads,
    )


def _split_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names in repeated options. Each option may list several names, separated by commas."""
    return tuple(stripped for text in names for name in text.split(",") if (stripped := name.strip()))


def _run(command: CheckOptions) -> int:
    from packwise.check.run import check
    from packwise.cli.deliver import deliver, terminal

    return deliver(check(command, terminal()))


COMMAND = Command(_DESCRIPTION, _EPILOG, _add_arguments, _read, _run, _refuse)
