"""Options of the commands about packwise itself: rules, doctor, schema, completion, version, help, fn."""

from __future__ import annotations

from typing import Any

from packwise.cli import help_texts
from packwise.cli.options.sources import add_config, add_paths, add_text_or_json
from packwise.revisions.records import REVISIONS

__all__ = ["add_completion", "add_doctor", "add_function", "add_help", "add_rules", "add_schema", "add_version"]


def add_rules(commands: Any) -> None:
    """Adds the command `rules`."""
    text = "list the rules, or explain one"
    rules = commands.add_parser("rules", help=text, description=help_texts.RULES, epilog=help_texts.RULES_EPILOG)
    rules.add_argument("name", nargs="?", metavar="NAME", help="the rule to explain; without it, all are listed")
    add_text_or_json(rules)


def add_doctor(commands: Any) -> None:
    """Adds the command `doctor`."""
    text = "say what packwise sees in a folder, and who would run it"
    doctor = commands.add_parser("doctor", help=text, description=help_texts.DOCTOR, epilog=help_texts.DOCTOR_EPILOG)
    add_paths(doctor, "*", ["."])
    add_text_or_json(doctor)
    add_config(doctor)


def add_schema(commands: Any) -> None:
    """Adds the command `schema`."""
    text = "print a JSON Schema, for editors"
    schema = commands.add_parser("schema", help=text, description=help_texts.SCHEMA, epilog=help_texts.SCHEMA_EPILOG)
    schema.add_argument(
        "name", nargs="?", metavar="KIND", help="TopologyRender or PodCliqueSet; without it, which there are"
    )
    schema.add_argument(
        "--revision",
        choices=tuple(REVISIONS),
        help="the release of Grove whose PodCliqueSet it is (default: the newest)",
    )


def add_completion(commands: Any) -> None:
    """Adds the command `completion`."""
    text = "print the script of a shell's completion"
    completion = commands.add_parser(
        "completion", help=text, description=help_texts.COMPLETION, epilog=help_texts.COMPLETION_EPILOG
    )
    completion.add_argument("shell", choices=("bash", "zsh", "fish", "tcsh", "powershell"), help="the shell")


def add_version(commands: Any) -> None:
    """Adds the command `version`."""
    text = "print the version"
    version = commands.add_parser(
        "version", help=text, description=help_texts.VERSION, epilog=help_texts.VERSION_EPILOG
    )
    version.add_argument(
        "-v",
        "--verbose",
        dest="libraries",
        action="store_true",
        help="with the versions of Python and of the libraries",
    )


def add_help(commands: Any) -> None:
    """Adds the command `help`."""
    text = "print this text, or that of a command"
    shown = commands.add_parser("help", help=text, description=help_texts.HELP, epilog=help_texts.HELP_EPILOG)
    shown.add_argument("command", nargs="?", metavar="COMMAND", help="the command; without it, all of them")


def add_function(commands: Any) -> None:
    """Adds the command `fn`."""
    text = "run as a KRM function, ResourceList in and out"
    function = commands.add_parser("fn", help=text, description=help_texts.FUNCTION, epilog=help_texts.FUNCTION_EPILOG)
    function.add_argument(
        "--validate",
        action="store_true",
        help="answer with results and without items, as kustomize wants of a validator",
    )
    function.add_argument(
        "-v",
        "--verbose",
        action="store_true",
        help="list every finding on stderr, as the results do: also more of the same form, and infos",
    )
