"""`packwise comment`: check, diff and place of a change in one comment on a pull request."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from packwise.cli.arguments import NODES, Command, add_build, add_context, add_nodes, add_paths, sources_of
from packwise.comment.options import Comment

if TYPE_CHECKING:
    import argparse

_DESCRIPTION = """\
Prints one pull request comment in Markdown, with collapsible sections: problems (check), changes for the scheduler
(diff, with --baseline), and places of gangs with the pods that move (place, with --nodes). The comment is never longer
than GitHub allows. The first line is always the same, so that a bot can find the comment and update it."""

_EPILOG = """\
examples:
  packwise comment clusters/west --baseline git:origin/main > comment.md
  packwise comment clusters/west --baseline git:origin/main --nodes nodes.json > comment.md

exit codes: 0 no error, 1 errors were found, updates are refused or a gang does not fit, 2 wrong usage"""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_paths(parser)
    add_nodes(parser, f"nodes of a cluster, to show the places of gangs and the pods that move: {NODES}")
    add_build(parser)
    add_context(parser)


def _read(parsed: argparse.Namespace) -> Comment:
    return Comment(sources_of(parsed), tuple(parsed.nodes))


def _run(command: Comment) -> int:
    from packwise.cli.deliver import deliver, terminal
    from packwise.comment.run import comment

    return deliver(comment(command, terminal()))


COMMAND = Command(_DESCRIPTION, _EPILOG, _add_arguments, _read, _run)
