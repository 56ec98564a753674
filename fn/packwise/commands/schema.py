"""`packwise schema`: JSON Schemas by which editors check and complete files."""

from __future__ import annotations

import json

from krmfn.hints import TYPE_CHECKING
from krmfn.record import Record
from packwise.cli.arguments import (
    Command,
    UsageError,
)
from packwise.cli.console import show
from packwise.revisions.grove import RECORDS, REVISIONS
from packwise.wording import known_names

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable
    from typing import Any

    from packwise.revisions.grove import Revision

_DESCRIPTION = """\
Prints a JSON Schema (draft 2020-12) by which editors check and complete files: of packwise's configuration, or of the
PodCliqueSets of a release of Grove."""


_EPILOG = """\
examples:
  packwise schema
  packwise schema TopologyRender > topologyrender.schema.json
  packwise schema PodCliqueSet --revision v0.1.0-alpha.13 > podcliqueset.schema.json

an editor with the YAML language server reads the schema that the first line of a file names:
  # yaml-language-server: $schema=topologyrender.schema.json

exit codes: 0 no error, 2 wrong usage"""


class SchemaOptions(Record):
    """`packwise schema`; without a `name`, which there are. `revision` is that of a PodCliqueSet."""

    name: str | None = None
    revision: str | None = None


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "name", nargs="?", metavar="KIND", help="TopologyRender or PodCliqueSet; without it, which there are"
    )
    parser.add_argument(
        "--revision",
        choices=tuple(REVISIONS),
        help="the release of Grove whose PodCliqueSet it is (default: the newest)",
    )


def _read(parsed: argparse.Namespace) -> SchemaOptions:
    return SchemaOptions(parsed.name, parsed.revision)


def schema(command: SchemaOptions) -> int:
    """Prints the schema, or which there are; returns the exit code. Raises UsageError where none has that name."""
    if command.name is None:
        if command.revision is not None:
            raise UsageError("--revision must go with a kind: packwise schema PodCliqueSet --revision …")
        return 0 if show(_LISTING) else 1
    if command.name not in SCHEMAS:
        raise UsageError(f'there is no schema "{command.name}"{known_names(command.name, tuple(SCHEMAS))}')
    if command.name == "TopologyRender" and command.revision is not None:
        raise UsageError("--revision must go with PodCliqueSet: there is one TopologyRender for all releases")
    revision = RECORDS[-1] if command.revision is None else REVISIONS[command.revision]
    return 0 if show(json.dumps(SCHEMAS[command.name](revision), ensure_ascii=False, indent=2) + "\n") else 1


def _topologyrender(_: Revision) -> dict[str, Any]:
    from packwise.settings.schema import json_schema

    return json_schema()


def _podcliqueset(revision: Revision) -> dict[str, Any]:
    from packwise.frontends.grove.schema.jsonschema import json_schema

    return json_schema(revision)


SCHEMAS: dict[str, Callable[[Revision], dict[str, Any]]] = {
    "TopologyRender": _topologyrender,
    "PodCliqueSet": _podcliqueset,
}
"""The kinds that have a schema, and what makes it for a release of Grove."""

_LISTING = f"""\
TopologyRender  the configuration of packwise
PodCliqueSet    a workload of Grove; --revision names the release, {RECORDS[-1].name} by default

For an editor with the YAML language server:

  packwise schema TopologyRender > topologyrender.schema.json

and this as the first line of the file that is to be checked:

  # yaml-language-server: $schema=topologyrender.schema.json
"""


COMMAND = Command(_DESCRIPTION, _EPILOG, _add_arguments, _read, schema)
