"""`packwise schema`: JSON Schemas with which editors check and complete files."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from packwise.cli.arguments import Command
from packwise.console import show
from packwise.inputs.request import UsageError
from packwise.revisions.grove import RECORDS, REVISIONS
from packwise.schema.options import SCHEMAS, SchemaOptions
from packwise.wording import known_names

if TYPE_CHECKING:
    import argparse

_DESCRIPTION = """\
Prints a JSON Schema (draft 2020-12). Editors use it to check and complete packwise's configuration, or the
PodCliqueSets of a release of Grove."""


_EPILOG = """\
examples:
  packwise schema
  packwise schema TopologyRender > topologyrender.schema.json
  packwise schema PodCliqueSet --revision v0.1.0-alpha.13 > podcliqueset.schema.json

an editor with the YAML language server reads the schema that the first line of a file names:
  # yaml-language-server: $schema=topologyrender.schema.json

exit codes: 0 no error, 2 wrong usage"""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "name", nargs="?", metavar="KIND", help="TopologyRender or PodCliqueSet (default: list the schemas)"
    )
    parser.add_argument(
        "--revision",
        choices=tuple(REVISIONS),
        metavar="RELEASE",
        help="the release of Grove, for PodCliqueSet (default: the newest)",
    )


def _read(parsed: argparse.Namespace) -> SchemaOptions:
    return SchemaOptions(parsed.name, parsed.revision)


def _run(command: SchemaOptions) -> int:
    """Print the schema or the list of schemas, and return the exit code. Raise UsageError for an unknown name."""
    name, revision = command.name, command.revision
    if name is None:
        if revision is not None:
            raise UsageError("--revision needs a kind: packwise schema PodCliqueSet --revision …")
        return 0 if show(_LISTING) else 1
    if name not in SCHEMAS:
        raise UsageError(f'there is no schema "{name}"{known_names(name, SCHEMAS)}')
    if name == "TopologyRender" and revision is not None:
        raise UsageError("--revision needs PodCliqueSet: TopologyRender is the same for all releases")
    from packwise.schema.run import podcliqueset_schema, schema_text, topologyrender_schema

    if name == "TopologyRender":
        return 0 if show(schema_text(topologyrender_schema())) else 1
    record = RECORDS[-1] if revision is None else REVISIONS[revision]
    return 0 if show(schema_text(podcliqueset_schema(record))) else 1


_LISTING = f"""\
TopologyRender  the configuration of packwise
PodCliqueSet    a workload of Grove; --revision names the release, {RECORDS[-1].name} by default

For an editor with the YAML language server:

  packwise schema TopologyRender > topologyrender.schema.json

Then write this as the first line of your file:

  # yaml-language-server: $schema=topologyrender.schema.json
"""


COMMAND = Command(_DESCRIPTION, _EPILOG, _add_arguments, _read, _run)
