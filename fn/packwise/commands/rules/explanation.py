"""The explanations, one file for each rule: `rules/<name>.yaml`."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files

from krmfn.hints import TYPE_CHECKING, cast
from krmfn.yamltext import read

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable
    from typing import Any

__all__ = ["Explanation", "explained", "explanation"]


@dataclass(frozen=True, slots=True)
class Explanation:
    """`why` there is the rule, and how to `fix` what breaks it.

    The rest are examples, as YAML of what matters in them; "" where a rule has none. `before` is the state that
    `failing` and `passing` are an update of. `also` names the other rules whose errors `failing` leads to.
    """

    why: str
    fix: str
    failing: str = ""
    passing: str = ""
    before: str = ""
    also: tuple[str, ...] = ()


def explained() -> frozenset[str]:
    """The names of all rules that have an explanation."""
    return frozenset(file.name.removesuffix(".yaml") for file in _folder().iterdir())


def explanation(rule: str) -> Explanation:
    """The explanation of the rule of that name. Raises FileNotFoundError where there is none."""
    fields = cast("dict[str, Any]", read(_folder().joinpath(f"{rule}.yaml").read_text(encoding="utf-8")))
    also: list[str] = fields.pop("also", [])
    return Explanation(**fields, also=tuple(also))


def _folder() -> Traversable:
    return files("packwise.commands.rules") / "explanations"
