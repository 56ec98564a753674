"""A test checks each promise of docs/contract.md, and no promised name changes unnoticed."""

from __future__ import annotations

import ast
import inspect
import json
import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import pytest

import krmfn
from packwise.cli.command_line import parsers
from packwise.rules.run import RULES_BY_NAME
from tests.places import ROOT, TESTDATA

PAGE = (ROOT / "docs" / "contract.md").read_text(encoding="utf-8")
STABLE = PAGE.partition("## Stable items")[2].partition("## Items that can change")[0]
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")
NOTE = re.compile(r"\bpackwise\.dev/[a-z-]+(?=:)")


@cache
def functions(file: str) -> frozenset[str]:
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


@pytest.mark.parametrize(("file", "function"), sorted(set(NAMED.findall(PAGE))))
def test_a_named_test_exists(file: str, function: str) -> None:
    assert function in functions(file)


def test_every_promise_names_a_test() -> None:
    rows = [line for line in STABLE.splitlines() if line.startswith("| ") and not line.startswith("| Promise")]

    assert len(rows) > 20
    assert [row for row in rows if not NAMED.search(row)] == []


def test_no_promised_name_goes_unnoticed(assert_expected: Callable[[str, str], None]) -> None:
    """A removed or changed line breaks users. A new line does not."""
    parts = {
        "Commands and options": commands(),
        "Rules": sorted(f"{rule.name}: {rule.severity.value}" for rule in RULES_BY_NAME.values()),
        "Settings": settings(),
        "Annotations and labels of expected outputs": notes(),
        "krmfn": api(),
    }

    assert_expected(
        "contract.txt", "\n".join(f"# {title}\n" + "".join(f"{line}\n" for line in parts[title]) for title in parts)
    )


def commands() -> list[str]:
    lines: list[str] = []
    for name, parser in parsers()[1].items():
        # argparse has no public list of the arguments of a parser.
        actions: list[Any] = parser._actions  # pyright: ignore[reportPrivateUsage]
        for action in actions:
            choices = f" {'|'.join(map(str, action.choices))}" if action.choices else ""
            lines.append(f"{name} {', '.join(action.option_strings) or action.dest}{choices}")
    return sorted(lines)


def settings() -> list[str]:
    schema = json.loads((ROOT / "docs" / "reference" / "topologyrender.schema.json").read_text(encoding="utf-8"))
    return sorted(fields(schema, "")) + sorted(
        line for name, part in schema["$defs"].items() for line in fields(part, f"{name}.")
    )


def fields(schema: dict[str, Any], prefix: str) -> Iterator[str]:
    for name, field in schema.get("properties", {}).items():
        yield f"{prefix}{name}: {json.dumps(choices) if (choices := values(field)) else field.get('type', 'object')}"


def values(field: dict[str, Any]) -> list[Any]:
    """Return the values of an enumeration, at any place in the schema."""
    found: list[Any] = field.get("enum", [])
    for part in (*field.get("anyOf", ()), *([field["items"]] if "items" in field else ())):
        found = [*found, *values(part)]
    return found


def notes() -> list[str]:
    texts = [path.read_text(encoding="utf-8") for path in sorted((TESTDATA / "render").rglob("*.yaml"))]
    return sorted({note for text in texts for note in NOTE.findall(text)})


def api() -> list[str]:
    """Return the public names of krmfn with their parameters."""
    lines: list[str] = []
    for name in krmfn.__all__:
        value: Any = getattr(krmfn, name)
        members = [member for member in vars(value) if not member.startswith("_")] if inspect.isclass(value) else []
        lines.append(name + ("" if inspect.isclass(value) else parameters(value)))
        lines.extend(f"{name}.{member}{parameters(getattr(value, member))}" for member in members)
    return sorted(lines)


def parameters(value: Any) -> str:
    """Return the names of the parameters, with `=` after optional ones.

    Return nothing for an object that is not a function.
    """
    if not (inspect.isfunction(value) or inspect.ismethod(value)):
        return ""
    shown = [
        f"{'*' if each.kind is each.KEYWORD_ONLY else ''}{each.name}{'=' if each.default is not each.empty else ''}"
        for each in inspect.signature(value).parameters.values()
        if each.name not in ("self", "cls")
    ]
    return f"({', '.join(shown)})"
