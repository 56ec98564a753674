"""Every command answers correct objects in which a few values have other types."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from copy import deepcopy
from functools import cache
from typing import Any, cast

import yaml

from tests.fuzz.commands import COMMANDS, run_command
from tests.places import ROOT, TESTDATA

__all__ = ["ODD", "mutated", "mutations", "samples"]

ODD: tuple[Any, ...] = (
    None, True, 0, -1, 2**70, 1.5, "", "x", "1e999", "9" * 5_000, "\n", "##[stop-commands]x",
    [], ["x"], [[]], [{}], [None], {}, {"x": "y"}, {"name": ["x"]}, {"x": {"y": []}}, [{"name": 1}],
)  # fmt: skip
"""Values that replace a value."""

_FILES = [TESTDATA / "fuzz" / "schedulers.yaml"]
_LARGEST = 20_000
"""The largest number of characters of a sample."""


def mutations(data: bytes) -> None:
    """Run the command that the first byte selects. The other bytes select a sample, and values to replace."""
    command, *numbers = data.ljust(3, b"\0")
    sample = samples()[int.from_bytes(bytes(numbers[:2]), "little") % len(samples())]
    text = mutated(sample, bytes(numbers[2:]))
    run_command(COMMANDS[command % len(COMMANDS)], text)


def mutated(sample: list[Any], choices: bytes) -> bytes:
    """Return the documents as JSON. Every three bytes of `choices` replace one value."""
    objects = json.loads(json.dumps(sample, default=str))
    for start in range(0, len(choices) - 2, 3):
        places = list(_places(objects))
        holder, step = places[int.from_bytes(choices[start : start + 2], "little") % len(places)]
        # A later choice may change the new value. If two places shared it, it could contain itself and never end.
        holder[step] = deepcopy(ODD[choices[start + 2] % len(ODD)])
    return "".join([f"---\n{json.dumps(each)}\n" for each in objects]).encode()


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield each mapping and list with each of its keys and positions, from the top down."""
    waiting: list[Any] = [value]
    while waiting:
        holder = waiting.pop()
        steps: list[Any] = []
        if isinstance(holder, dict):
            steps = list(cast("dict[str, Any]", holder))
        elif isinstance(holder, list):
            steps = list(range(len(cast("list[Any]", holder))))
        for step in steps:
            yield holder, step
            waiting.append(holder[step])


@cache
def samples() -> list[list[Any]]:
    """Return the objects of each small file of the examples and cases."""
    found: list[list[Any]] = []
    for path in [*_FILES, *sorted([*TESTDATA.glob("render/*/input.yaml"), *(ROOT / "examples").rglob("*.yaml")])]:
        text = path.read_text(encoding="utf-8")
        if len(text) < _LARGEST:
            # In templates, and in texts that are not YAML, no value can be replaced.
            with suppress(yaml.YAMLError):
                found.append([each for document in yaml.safe_load_all(text) for each in _objects(document)])
    return [sample for sample in found if sample]


def _objects(document: Any) -> list[Any]:
    """Return the objects of a document. For a ResourceList, these are its configuration and its items."""
    fields = cast("dict[str, Any]", document) if isinstance(document, dict) else {}
    if fields.get("kind") != "ResourceList":
        return [document]
    configuration = [fields["functionConfig"]] if "functionConfig" in fields else []
    return [*configuration, *(fields.get("items") or [])]
