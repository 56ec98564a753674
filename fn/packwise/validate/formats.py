"""Formats of texts that an API server checks. Source: kube-openapi, validation/strfmt.

Left out, and so never refused: bsonobjectid, creditcard, isbn, rgbcolor. Other formats mean nothing there.
"""

from __future__ import annotations

import re

from krmfn.hints import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["CHECKED", "has_format"]

_DATE = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})")
_TIME = re.compile(r"([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))")
_DURATION = re.compile(r"[-+]?(0|(([0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(ns|us|µs|μs|ms|s|m|h))+)")
_LONGEST_DURATION = 100
# What Kubernetes takes too, wherever it stands in the text: `2 days`.
_WORDY_DURATION = re.compile(r"[0-9]\s*(ns|us|ms|nano|micro|milli|s|m|h|d|w)", re.IGNORECASE)
_LABEL = re.compile(r"[^\W_]([^\W_]|-)*", re.UNICODE)
_MAC = re.compile(r"([0-9a-f]{2}[:-]){5}[0-9a-f]{2}|([0-9a-f]{4}\.){2}[0-9a-f]{4}", re.IGNORECASE)


def has_format(text: str, name: str) -> bool:
    """Whether `text` has the format of that name, written with or without dashes."""
    check = CHECKED.get(name.replace("-", ""))
    return check is None or check(text)


def _is_date(text: str) -> bool:
    from datetime import date

    parts = _DATE.fullmatch(text)
    if parts is None:
        return False
    try:
        date(int(parts[1]), int(parts[2]), int(parts[3]))
    except ValueError:
        return False
    return True


def _is_date_time(text: str) -> bool:
    day, _, time = text.lower().partition("t")
    parts = _TIME.fullmatch(time)
    return parts is not None and _is_date(day) and parts[1] <= "23" and parts[2] <= "59" and parts[3] <= "59"


def _is_duration(text: str) -> bool:
    if len(text) > _LONGEST_DURATION:
        return False
    return _DURATION.fullmatch(text) is not None or _WORDY_DURATION.search(text) is not None


def _is_email(text: str) -> bool:
    name, _, domain = text.rpartition("@")
    return bool(name.strip()) and bool(domain.strip())


def _is_bytes(text: str) -> bool:
    import base64
    import binascii

    try:
        base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return False
    return True


def _is_ip(version: int) -> Callable[[str], bool]:
    def check(text: str) -> bool:
        import ipaddress

        try:
            return ipaddress.ip_address(text).version == version
        except ValueError:
            return False

    return check


def _is_cidr(text: str) -> bool:
    import ipaddress

    try:
        ipaddress.ip_interface(text)
    except ValueError:
        return False
    return "/" in text


def _is_uri(text: str) -> bool:
    from urllib.parse import urlsplit

    try:
        return bool(urlsplit(text).scheme) or text.startswith("/")
    except ValueError:
        return False


def _is_hostname(text: str) -> bool:
    labels = text.split(".")
    return 0 < len(text) <= 255 and all(len(label) <= 63 and _LABEL.fullmatch(label) for label in labels)


def _matching(pattern: str) -> Callable[[str], bool]:
    compiled = re.compile(pattern, re.IGNORECASE)
    return lambda text: compiled.fullmatch(text) is not None


def _uuid(version: str, variant: str = "[0-9a-f]") -> Callable[[str], bool]:
    return _matching(f"[0-9a-f]{{8}}-?[0-9a-f]{{4}}-?{version}[0-9a-f]{{3}}-?{variant}[0-9a-f]{{3}}-?[0-9a-f]{{12}}")


CHECKED: Mapping[str, Callable[[str], bool]] = {
    "byte": _is_bytes,
    "cidr": _is_cidr,
    "date": _is_date,
    "datetime": _is_date_time,
    "duration": _is_duration,
    "email": _is_email,
    "hexcolor": _matching("#?([0-9a-f]{3}|[0-9a-f]{6})"),
    "hostname": _is_hostname,
    "ipv4": _is_ip(4),
    "ipv6": _is_ip(6),
    "mac": lambda text: _MAC.fullmatch(text) is not None,
    "password": lambda _: True,
    "ssn": _matching("[0-9]{3}[- ]?[0-9]{2}[- ]?[0-9]{4}"),
    "uri": _is_uri,
    "uuid": _uuid("[0-9a-f]"),
    "uuid3": _uuid("3"),
    "uuid4": _uuid("4", "[89ab]"),
    "uuid5": _uuid("5", "[89ab]"),
}
"""The checks by name, without dashes."""
