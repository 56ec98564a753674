"""`packwise migrate`: files rewritten in place for a later release of Grove. Comments and layout stay."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from packwise.cli.arguments import Command, add_config
from packwise.migrate.options import Migrate
from packwise.revisions.grove import REVISIONS

if TYPE_CHECKING:
    import argparse

_DESCRIPTION = """\
Rewrites configuration, topologies and workloads in place for a later release of Grove. packwise renames fields, keeps
all comments, and reports values that it drops. packwise writes no file if the scheduler would get other objects.
Without --to, packwise only changes the API version of schedulers' objects, such as Topologies, to a version that all
known releases serve."""

_EPILOG = """\
examples:
  packwise migrate clusters/west --to v0.1.0-alpha.13 --dry-run
  packwise migrate clusters/west --to v0.1.0-alpha.13
  packwise migrate clusters/west                                          # only objects of schedulers
  packwise migrate workloads --from grep-244 --to v0.1.0-alpha.13         # the configuration is elsewhere
  packwise migrate clusters/west --to v0.1.0-alpha.13 --keep-pack-domain  # for running workloads, before check --fix

exit codes: 0 no error, 1 errors were found, 2 wrong usage"""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("paths", nargs="+", metavar="PATH", help="a file or a folder, configuration and workloads")
    parser.add_argument(
        "--to",
        choices=tuple(REVISIONS),
        metavar="RELEASE",
        help=f"the release to write (packwise's docs compare them): {', '.join(REVISIONS)}",
    )
    parser.add_argument(
        "--from",
        dest="source",
        choices=tuple(REVISIONS),
        metavar="RELEASE",
        help="the release of PATH, if no configuration in it names one",
    )
    add_config(parser)
    parser.add_argument("--dry-run", action="store_true", help="print the changes as a diff, and write no file")
    parser.add_argument(
        "--keep-pack-domain",
        action="store_true",
        help="from alpha.10 on: name the topology, but keep packDomain for a later `packwise check --fix`. The webhook "
        "refuses both changes at once for a running workload",
    )


def _refuse(parser: argparse.ArgumentParser, parsed: argparse.Namespace) -> None:
    """Exit with a usage error if the target is not later than the source, or if options need `--to`."""
    order = list(REVISIONS)
    if parsed.to is None:
        if parsed.source is not None or parsed.keep_pack_domain:
            parser.error("--from and --keep-pack-domain need --to, the release of Grove to write")
        return
    if parsed.source is not None and order.index(parsed.source) >= order.index(parsed.to):
        known = ", ".join(order)
        parser.error(f"--to must be later than --from {parsed.source}; got {parsed.to}; their order is {known}")


def _read(parsed: argparse.Namespace) -> Migrate:
    return Migrate(
        paths=tuple(parsed.paths),
        target=parsed.to,
        config=parsed.config,
        source=parsed.source,
        dry_run=parsed.dry_run,
        keep_pack_domain=parsed.keep_pack_domain,
        exclude=tuple(parsed.exclude),
    )


def _run(command: Migrate) -> int:
    from packwise.cli.deliver import deliver, terminal
    from packwise.migrate.run import migrate

    return deliver(migrate(command, terminal()))


COMMAND = Command(_DESCRIPTION, _EPILOG, _add_arguments, _read, _run, _refuse)
