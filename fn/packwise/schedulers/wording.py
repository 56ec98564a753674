"""Amounts of resources and topology levels as text, for the reasons of all schedulers."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

GPU, CPU, MEMORY, PODS = "nvidia.com/gpu", "cpu", "memory", "pods"

SHOWN_NODES = 8
"""The largest number of nodes that a reason lists."""

_WORDS = {GPU: "GPU", CPU: "CPU core", PODS: "pod"}
_ORDER: Mapping[str, int] = {GPU: 0, CPU: 2, MEMORY: 3, PODS: 4}
_GIB = 1 << 30


def level_word(words: Mapping[str, str], key: str) -> str:
    """Return the domain of the level with the label `key`, such as `rack`. Return `key` if it has no domain."""
    return words.get(key) or key


def amount_text(resource: str, amount: float) -> str:
    """Return an amount with its unit: `8 GPUs`, `1.5 CPU cores`, `64 GiB of memory`.

    `amount` is in thousandths of a core for CPU and in bytes for memory.
    """
    if resource == MEMORY:
        return f"{_round(amount / _GIB)} GiB of memory"
    number = _round(amount / 1000 if resource == CPU else amount)
    word = _WORDS.get(resource)
    if word is None:
        return f"{number} {resource}"
    return f"{number} {word}" if number == "1" else f"{number} {word}s"


def amount_list(amounts: Iterable[tuple[str, float]]) -> str:
    """Return the amounts with their units, comma-separated and GPUs first. Return "" for no amounts."""
    listed = sorted(amounts, key=lambda entry: (_ORDER.get(entry[0], 1), entry[0]))
    return ", ".join([amount_text(name, amount) for name, amount in listed])


def _round(number: float) -> str:
    return f"{number:.2f}".rstrip("0").rstrip(".")
