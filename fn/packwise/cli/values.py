"""Values that a user sets for the variables of templates. Source: OSMO 1da31e19, src/utils/job/workflow.py."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from krmfn.value import Value

__all__ = ["assigned"]


def assigned(words: Iterable[str]) -> Mapping[str, Value]:
    """The values of words such as `gpus=4`, each read as `osmo workflow submit --set` reads it; the last one counts."""
    parts = (word.partition("=") for word in words)
    return {name: _read(text) for name, _, text in parts}


def _read(text: str) -> Value:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
