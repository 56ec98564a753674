"""`packwise comment`: check, diff and place of a change in one comment on its pull request."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from packwise.cli.arguments import NODES, Command, add_build, add_context, add_nodes, add_paths, sources_of
from packwise.comment.options import Comment

if TYPE_CHECKING:
    import argparse

_DESCRIPTION = """\
Prints one comment for a pull request, in Markdown: what is wrong (check), what changes for the scheduler (diff, with
--baseline), where it places the gangs and what the change moves (place, with --nodes), in parts that fold. It is
shorter than what GitHub takes, whatever the change; its first line tells a bot which comment to update."""

_EPILOG = """\
examples:
  packwise comment clusters/west --baseline git:origin/main > comment.md
  packwise comment clusters/west --baseline git:origin/main --nodes nodes.json > comment.md

exit codes: 0 no error, 1 errors were found, updates are refused or a gang does not fit, 2 wrong usage"""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_paths(parser)
    add_nodes(parser, f"say where the gangs go, and what the change moves, on the nodes of a cluster: {NODES}")
    add_build(parser)
    add_context(parser)


def _read(parsed: argparse.Namespace) -> Comment:
    return Comment(sources_of(parsed), tuple(parsed.nodes))


def _run(command: Comment) -> int:
    from packwise.cli.deliver import deliver, terminal
    from packwise.comment.run import comment

    return deliver(comment(command, terminal()))


COMMAND = Command(_DESCRIPTION, _EPILOG, _add_arguments, _read, _run)
