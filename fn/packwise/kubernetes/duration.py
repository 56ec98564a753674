"""Go's durations: `1h30m`, in nanoseconds. Source: Go, time.ParseDuration and Duration.String."""

from __future__ import annotations

import re
from functools import lru_cache

__all__ = ["duration_fault", "format_duration", "parse_duration"]

_UNITS = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,
    "μs": 1_000,
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60_000_000_000,
    "h": 3_600_000_000_000,
}
_PART = re.compile(r"([0-9]*)(?:\.([0-9]*))?(ns|us|µs|μs|ms|s|m|h)", re.ASCII)
_ANY_PART = re.compile(r"(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)([^0-9.]*)")
_MAX = 1 << 63


@lru_cache(maxsize=256)
def parse_duration(text: str) -> int | None:
    """Nanoseconds of a Go duration, or None when `text` is none."""
    sign = -1 if text.startswith("-") else 1
    rest = text[1:] if text[:1] in {"-", "+"} else text
    if rest == "0":
        return 0
    if not rest or len(rest) > 100:
        return None
    total, at = 0, 0
    while at < len(rest):
        part = _PART.match(rest, at)
        if part is None or not (part[1] or part[2]):
            return None
        unit = _UNITS[part[3]]
        fraction = part[2] or ""
        total += int(part[1] or 0) * unit + (int(fraction) * unit // 10 ** len(fraction) if fraction else 0)
        at = part.end()
    return sign * total if total < _MAX or (sign < 0 and total == _MAX) else None


def duration_fault(text: str) -> str:
    """What Go says of `text`, which is no duration."""
    at = 1 if text[:1] in {"-", "+"} else 0
    while part := _ANY_PART.match(text, at):
        unit = part[1]
        if unit not in _UNITS:
            fault = f"unknown unit {_quoted(unit)}" if unit else "missing unit"
            return f"time: {fault} in duration {_quoted(text)}"
        at = part.end()
    return f"time: invalid duration {_quoted(text)}"


def _quoted(text: str) -> str:
    """`text` as Go's time package quotes it: what is not ASCII by its bytes."""
    shown = text.replace("\\", "\\\\").replace('"', '\\"').encode("utf-8", "surrogatepass")
    return '"' + "".join([chr(byte) if 0x20 <= byte < 0x80 else f"\\x{byte:02x}" for byte in shown]) + '"'


def format_duration(nanoseconds: int) -> str:
    """A duration as Go prints it: `4h0m0s`, `1m0s`, `1.5s`, `300ms`, `0s`."""
    if nanoseconds == 0:
        return "0s"
    sign, rest = ("-", -nanoseconds) if nanoseconds < 0 else ("", nanoseconds)
    if rest < _UNITS["s"]:
        unit = next(unit for unit in ("ms", "µs", "ns") if rest >= _UNITS[unit])
        return f"{sign}{_decimal(rest, _UNITS[unit])}{unit}"
    minutes, left = divmod(rest, _UNITS["m"])
    seconds = f"{_decimal(left, _UNITS['s'])}s"
    if not minutes:
        return sign + seconds
    hours, minutes = divmod(minutes, 60)
    return f"{sign}{hours}h{minutes}m{seconds}" if hours else f"{sign}{minutes}m{seconds}"


def _decimal(value: int, unit: int) -> str:
    whole, fraction = divmod(value, unit)
    if not fraction:
        return str(whole)
    return f"{whole}.{str(fraction).zfill(len(str(unit)) - 1).rstrip('0')}"
