"""`packwise diff`: the changes for the scheduler on stdout, notes on stderr."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from packwise.cli.arguments import Command, add_build, add_cluster, add_config, add_crds, builder_of, live_path
from packwise.diff.options import DIFF_FORMATS, Diff
from packwise.inputs.resources import FOR_DIFF

if TYPE_CHECKING:
    import argparse


_DESCRIPTION = """\
Compares A and B as the scheduler sees them. packwise shows topologies, gangs, groups and queues that are added,
removed, changed or re-created. packwise also shows lost constraints with the reason, and updates that the operator or
an API server would refuse. packwise renders sources first, and compares exports of a cluster as they are. packwise
ignores status and other fields that a server sets."""

_EPILOG = """\
examples:
  packwise diff git:origin/main clusters/west            # changes of a pull request
  packwise diff git:v1.2:clusters/west git:main:clusters/west
  packwise diff clusters/west --cluster                  # differences between Git and the cluster
  kubectl get clustertopologies,topologies.kai.scheduler,podgangs -A -o yaml | packwise diff - clusters/west
  packwise diff git:main . --build                       # effects of a changed values file
  packwise diff git:main clusters/west -o json --exit-code
  packwise diff git:origin/main clusters/west -o markdown | gh pr comment --body-file -

exit codes: 0 no error, 1 errors were found (updates that are refused, sources that cannot be rendered), 2 wrong usage;
with --exit-code also 1 when anything changes"""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    about = (
        'a file, a folder, "-" for stdin, or a path in a commit, git:COMMIT:PATH. git:COMMIT alone uses the other '
        "path, or the current folder"
    )
    parser.add_argument("before", metavar="A", help=f"the state before: {about}")
    parser.add_argument(
        "after",
        metavar="B",
        nargs="?",
        default="",
        help="the state after, in the same forms as A; with --cluster, the cluster",
    )
    add_cluster(parser, FOR_DIFF)
    parser.add_argument(
        "-o",
        "--output",
        choices=DIFF_FORMATS,
        default="text",
        help="output format: text, json, patch (JSON Patch, RFC 6902, for each object), markdown (pull request "
        "comment) (default: text)",
    )
    parser.add_argument("--exit-code", action="store_true", help="exit with 1 if anything changes, like git diff")
    add_build(parser)
    add_config(parser)
    add_crds(parser)


def _refuse(parser: argparse.ArgumentParser, parsed: argparse.Namespace) -> None:
    """Exit with a usage error unless there are two states to compare."""
    if bool(parsed.after) is (parsed.cluster is not None):
        parser.error("pass either B (the state after) or --cluster")


def _read(parsed: argparse.Namespace) -> Diff:
    return Diff(
        before=parsed.before,
        after=parsed.after or live_path(parsed)[0],
        config=parsed.config,
        crds=tuple(parsed.crds),
        output=parsed.output,
        exit_code=parsed.exit_code,
        exclude=tuple(parsed.exclude),
        builder=builder_of(parsed),
    )


def _run(command: Diff) -> int:
    from packwise.cli.deliver import deliver, terminal
    from packwise.diff.run import diff
    from packwise.inputs.kubectl import cluster_files
    from packwise.objects.kinds import KINDS

    with cluster_files((command.before, command.after), FOR_DIFF) as ((before, after), listed):
        unseen = {(each.group, each.name) for each in listed}
        hidden = frozenset([kind.word for kind in KINDS if (kind.group, kind.plural) in unseen])
        return deliver(diff(command.replace(before=before, after=after, hidden=hidden), terminal()))


COMMAND = Command(_DESCRIPTION, _EPILOG, _add_arguments, _read, _run, _refuse)
