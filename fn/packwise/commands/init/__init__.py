"""`packwise init`: a package to begin with; nothing that exists is overwritten."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from krmfn.record import Record
from packwise.cli.arguments import Command
from packwise.revisions.grove import REVISIONS

if TYPE_CHECKING:
    from typing import Literal

    Target = Literal["kustomize", "kpt", "argocd", "flux", "github", "gitlab", "pre-commit"]

_DESCRIPTION = """\
Writes a package to begin with: the configuration, with comments; an example where the folder has no workload; what the
client named by --for reads. Levels, schedulers and the release are taken from what --from holds of the cluster. Nothing
that exists is overwritten: where one of the files is there, none is written. On a terminal, init asks for what no
option says."""

_EPILOG = """\
examples:
  packwise init clusters/west --for kustomize
  packwise init clusters/west --level zone=topology.kubernetes.io/zone --level rack=example.com/rack
  kubectl get nodes,deployments,configmaps,clustertopologies -A -o yaml | packwise init clusters/west --from -
  packwise init clusters/west --for kpt --revision v0.1.0-alpha.13 --no-apply
  packwise init clusters/west --without-grove     # KAI groups Jobs, JobSets and others itself
  packwise init clusters/west --for github        # also where the package is there already

exit codes: 0 no error, 1 errors were found (what --from names cannot be read), 2 wrong usage"""

TARGETS: tuple[Target, ...] = ("kustomize", "kpt", "argocd", "flux", "github", "gitlab", "pre-commit")
"""The clients that `packwise init` writes a package for: who renders it, or who checks it."""


class Init(Record):
    """`packwise init`: a package in `folder` for `targets`, by what `sources` tell of the cluster.

    `levels` are pairs of domain and node label, broadest first. `apply` is whether generated objects are applied; None:
    not where an operator was seen. `without_grove`: KAI groups workloads itself.
    """

    folder: str
    targets: tuple[Target, ...] = ()
    sources: tuple[str, ...] = ()
    levels: tuple[tuple[str, str], ...] = ()
    revision: str | None = None
    apply: bool | None = None
    without_grove: bool = False


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", nargs="?", default=".", metavar="DIR", help="the folder of the package (default: .)")
    parser.add_argument(
        "--for",
        dest="targets",
        action="append",
        default=[],
        choices=TARGETS,
        help="who renders the package, or checks it; as often as needed",
    )
    parser.add_argument(
        "--from",
        dest="sources",
        action="append",
        default=[],
        metavar="FILE",
        help="what `kubectl get -o yaml` printed of the cluster: the operator's ConfigMap, ClusterTopologies or "
        'ClusterTopologyBindings, nodes, deployments; "-" is stdin; as often as needed',
    )
    parser.add_argument(
        "--level",
        dest="levels",
        action="append",
        default=[],
        type=_level,
        metavar="DOMAIN=LABEL",
        help="a topology level, broadest first, as often as needed: rack=example.com/rack",
    )
    parser.add_argument("--revision", choices=tuple(REVISIONS), help="the release of Grove that the cluster runs")
    parser.add_argument(
        "--without-grove",
        action="store_true",
        help="no Grove runs: KAI groups the pods of workloads itself, and the example is a JobSet",
    )
    parser.add_argument(
        "--apply",
        action=argparse.BooleanOptionalAction,
        help="whether generated objects are applied from Git; by default not where --from shows an operator",
    )


def _level(text: str) -> tuple[str, str]:
    domain, equals, key = text.partition("=")
    if not (domain and equals and key):
        raise argparse.ArgumentTypeError(f'must be DOMAIN=LABEL, as in rack=example.com/rack; got "{text}"')
    return domain, key


def _read(parsed: argparse.Namespace) -> Init:
    return Init(
        folder=parsed.folder,
        targets=tuple(parsed.targets),
        sources=tuple(parsed.sources),
        levels=tuple(parsed.levels),
        revision=parsed.revision,
        apply=parsed.apply,
        without_grove=parsed.without_grove,
    )


def _run(command: Init) -> int:
    from packwise.commands.init.run import init

    return init(command)


COMMAND = Command(_DESCRIPTION, _EPILOG, _add_arguments, _read, _run)
