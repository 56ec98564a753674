"""`packwise doctor`: files, configurations and clients as packwise reads them, as text or JSON."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from packwise.cli.arguments import Command, add_cluster, add_config, add_paths, add_text_or_json, paths_of
from packwise.doctor.options import Doctor
from packwise.inputs.request import Named
from packwise.inputs.resources import FOR_DOCTOR

if TYPE_CHECKING:
    import argparse

_DESCRIPTION = """\
Shows how packwise reads a folder: files by kind, skipped files with the reason, the configuration of each file, and
the release of Grove with its source. packwise also shows the client that would run it, or the reason why kustomize or
kpt would not run it. To check workloads, use `packwise check`."""

_EPILOG = """\
examples:
  packwise doctor
  packwise doctor clusters/west overlays/west
  packwise doctor -o json

exit codes: 0 no error, 1 errors were found (a client would not run packwise, a file cannot be read), 2 wrong usage"""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_paths(parser, "*", ["."])
    add_cluster(parser, FOR_DOCTOR)
    add_text_or_json(parser)
    add_config(parser)


def _read(parsed: argparse.Namespace) -> Doctor:
    return Doctor(Named(paths_of(parsed), parsed.config, exclude=tuple(parsed.exclude)), parsed.output == "json")


def _run(command: Doctor) -> int:
    from packwise.cli.deliver import deliver, terminal
    from packwise.doctor.run import doctor
    from packwise.inputs.kubectl import cluster_files

    with cluster_files(command.named.paths, FOR_DOCTOR) as (paths, _):
        return deliver(doctor(command.replace(named=command.named.replace(paths=paths)), terminal()))


COMMAND = Command(_DESCRIPTION, _EPILOG, _add_arguments, _read, _run)
