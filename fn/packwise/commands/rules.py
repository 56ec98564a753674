"""`packwise rules`: the table of all rules, and the explanation of one."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from packwise.cli.arguments import Command, add_text_or_json
from packwise.rules.options import Rules

if TYPE_CHECKING:
    import argparse


_DESCRIPTION = """\
Lists all rules in the order in which they run, or explains one rule: what it does, why it matters, an example with the
answer of the operator, and what to use instead. Examples show only the relevant fields."""

_EPILOG = """\
examples:
  packwise rules
  packwise rules topology-hierarchy
  packwise rules topology-hierarchy -o json

exit codes: 0 no error, 2 wrong usage"""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", metavar="NAME", help="the rule to explain (default: list all rules)")
    add_text_or_json(parser)


def _read(parsed: argparse.Namespace) -> Rules:
    return Rules(parsed.name, parsed.output == "json")


def _run(command: Rules) -> int:
    from packwise.cli.deliver import deliver, terminal
    from packwise.rules.run import rules

    return deliver(rules(command, terminal()))


COMMAND = Command(_DESCRIPTION, _EPILOG, _add_arguments, _read, _run)
