"""What a pod asks of its node: the sum of its containers, or the most that its start takes, and the overhead.

Source: Kubernetes v1.34, component-helpers/resource `AggregateContainerRequests`, and KAI Scheduler v0.17.0,
api/pod_info; sidecars are init containers that are restarted.
"""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache
from math import ceil

from krmfn.hints import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from krmfn.value import Value

__all__ = ["amounts", "container_requests", "quantity_of"]

_NUMBER = re.compile(r"([+-]?(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++))([numkMGTPE]|[KMGTPE]i|[eE][+-]?[0-9]{1,3})?")
_BINARY = {f"{letter}i": Fraction(1024**power) for power, letter in enumerate("KMGTPE", 1)}
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}


def container_requests(spec: Mapping[str, Value]) -> dict[str, int]:
    """The request of a pod with `spec` by resource: millicores of `cpu`, else whole units, rounded up; only above 0.

    It is that of the containers: what the pod as a whole asks for (`spec.resources`), KAI does not read.
    """
    running: dict[str, int] = {}
    most: dict[str, int] = {}
    for container in _mappings(spec.get("initContainers")):
        request = _request(container)
        if container.get("restartPolicy") == "Always":
            running = _sum(running, request)
            most = _max(most, running)
        else:
            most = _max(most, _sum(running, request))
    for container in _mappings(spec.get("containers")):
        running = _sum(running, _request(container))
    total = _max(running, most)
    overhead = spec.get("overhead")
    total = _sum(total, amounts(overhead) if isinstance(overhead, dict) else {})
    return {name: amount for name, amount in sorted(total.items()) if amount > 0}


def amounts(quantities: Mapping[str, Value]) -> dict[str, int]:
    """Quantities as whole numbers, millicores of `cpu`, rounded up; what is no quantity is left out."""
    read: dict[str, int] = {}
    for name, written in quantities.items():
        number = quantity_of(written)
        if number is not None:
            read[name] = ceil(number * 1000 if name == "cpu" else number)
    return read


def quantity_of(written: Value) -> Fraction | None:
    """The number that a quantity says; None where it is none."""
    is_written = isinstance(written, str | int | float) and not isinstance(written, bool)
    return _number(str(written)) if is_written else None


@lru_cache(maxsize=4096)
def _number(text: str) -> Fraction | None:
    """The number that `text` says; None where it is no quantity."""
    match = _NUMBER.fullmatch(text.strip())
    if match is None or len(match[1]) > 40:
        return None
    suffix = match[2] or ""
    if suffix in _BINARY:
        return Fraction(match[1]) * _BINARY[suffix]
    power = _DECIMAL[suffix] if suffix in _DECIMAL else int(suffix[1:])
    return Fraction(match[1]) * Fraction(10) ** power


def _request(container: Mapping[str, Value]) -> dict[str, int]:
    """Requests, and limits where there is no request: the API server fills these in."""
    resources = container.get("resources")
    if not isinstance(resources, dict):
        return {}
    limits, requests = resources.get("limits"), resources.get("requests")
    return {
        **(amounts(limits) if isinstance(limits, dict) else {}),
        **(amounts(requests) if isinstance(requests, dict) else {}),
    }


def _mappings(value: Value) -> Iterable[Mapping[str, Value]]:
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else ()


def _sum(left: Mapping[str, int], right: Mapping[str, int]) -> dict[str, int]:
    return {name: left.get(name, 0) + right.get(name, 0) for name in {**left, **right}}


def _max(left: Mapping[str, int], right: Mapping[str, int]) -> dict[str, int]:
    return {name: max(left.get(name, 0), right.get(name, 0)) for name in {**left, **right}}
