"""`packwise rules`: the table of all rules, and the explanation of one."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from packwise.cli.arguments import Command, add_text_or_json
from packwise.rules.options import Rules

if TYPE_CHECKING:
    import argparse


_DESCRIPTION = """\
Lists every rule that a finding can name, in the order they run; or explains the one of that name: why there is such a
rule, what to do, an example that fails and what the operator would say of it, an example that passes. Examples show
the fields that matter."""

_EPILOG = """\
examples:
  packwise rules
  packwise rules topology-hierarchy
  packwise rules topology-hierarchy -o json

exit codes: 0 no error, 2 wrong usage"""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", metavar="NAME", help="the rule to explain; without it, all are listed")
    add_text_or_json(parser)


def _read(parsed: argparse.Namespace) -> Rules:
    return Rules(parsed.name, parsed.output == "json")


def _run(command: Rules) -> int:
    from packwise.cli.deliver import deliver, terminal
    from packwise.rules.run import rules

    return deliver(rules(command, terminal()))


COMMAND = Command(_DESCRIPTION, _EPILOG, _add_arguments, _read, _run)
