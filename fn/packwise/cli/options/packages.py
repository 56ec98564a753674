"""Options of the commands that write a package anew: init and migrate."""

from __future__ import annotations

import argparse
from typing import Any

from packwise.cli import help_texts
from packwise.cli.arguments import (
    TARGETS,
)
from packwise.cli.options.sources import add_config
from packwise.revisions.records import REVISIONS

__all__ = ["add_init", "add_migrate", "refuse_earlier"]


def add_init(commands: Any) -> None:
    """Adds the command `init`."""
    text = "write a package to begin with"
    init = commands.add_parser("init", help=text, description=help_texts.INIT, epilog=help_texts.INIT_EPILOG)
    init.add_argument("folder", nargs="?", default=".", metavar="DIR", help="the folder of the package (default: .)")
    init.add_argument(
        "--for",
        dest="targets",
        action="append",
        default=[],
        choices=TARGETS,
        help="who renders the package, or checks it; as often as needed",
    )
    init.add_argument(
        "--from",
        dest="sources",
        action="append",
        default=[],
        metavar="FILE",
        help="what `kubectl get -o yaml` printed of the cluster: the operator's ConfigMap, ClusterTopologies or "
        'ClusterTopologyBindings, nodes, deployments; "-" is stdin; as often as needed',
    )
    init.add_argument(
        "--level",
        dest="levels",
        action="append",
        default=[],
        type=_level,
        metavar="DOMAIN=LABEL",
        help="a topology level, broadest first, as often as needed: rack=example.com/rack",
    )
    init.add_argument("--revision", choices=tuple(REVISIONS), help="the release of Grove that the cluster runs")
    init.add_argument(
        "--without-grove",
        action="store_true",
        help="no Grove runs: KAI groups the pods of workloads itself, and the example is a JobSet",
    )
    init.add_argument(
        "--apply",
        action=argparse.BooleanOptionalAction,
        help="whether generated objects are applied from Git; by default not where --from shows an operator",
    )


def _level(text: str) -> tuple[str, str]:
    domain, equals, key = text.partition("=")
    if not (domain and equals and key):
        raise argparse.ArgumentTypeError(f'must be DOMAIN=LABEL, as in rack=example.com/rack; got "{text}"')
    return domain, key


def add_migrate(commands: Any) -> None:
    """Adds the command `migrate`."""
    text = "rewrite your objects for a later release of Grove"
    migrate = commands.add_parser(
        "migrate", help=text, description=help_texts.MIGRATE, epilog=help_texts.MIGRATE_EPILOG
    )
    migrate.add_argument("paths", nargs="+", metavar="PATH", help="a file or a folder, configuration and workloads")
    migrate.add_argument(
        "--to", required=True, choices=tuple(REVISIONS), help="the revision to write (packwise's docs compare them)"
    )
    migrate.add_argument(
        "--from",
        dest="source",
        choices=tuple(REVISIONS),
        help="the revision of PATH, where no configuration among it tells",
    )
    add_config(migrate)
    migrate.add_argument("--dry-run", action="store_true", help="print what would change as a diff, and write nothing")
    migrate.add_argument(
        "--keep-pack-domain",
        action="store_true",
        help="from alpha.10 on: name the topology, and leave packDomain to a later `packwise check --fix`; the webhook "
        "refuses both changes at once for a workload that runs",
    )


def refuse_earlier(parser: argparse.ArgumentParser, parsed: argparse.Namespace) -> None:
    """Ends with usage where `migrate` would lead to an earlier revision."""
    order = list(REVISIONS)
    if parsed.source is not None and order.index(parsed.source) >= order.index(parsed.to):
        known = ", ".join(order)
        parser.error(f"--to must be later than --from {parsed.source}; got {parsed.to}; their order is {known}")
