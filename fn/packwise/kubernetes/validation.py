"""Kubernetes' own checks of names, labels and annotations, exact texts. Source: apimachinery v0.34 and v0.35."""

from __future__ import annotations

import re
from functools import lru_cache

__all__ = [
    "MAX_ANNOTATION_BYTES",
    "V34",
    "V35",
    "dns_label",
    "dns_subdomain",
    "env_name",
    "is_dns_subdomain",
    "label_value",
    "mask_trailing_dash",
    "qualified_name",
]

V34 = "v0.34"
V35 = "v0.35"
"""Versions of apimachinery, where its texts differ: by `version` below."""

_UNITS = {V34: "characters", V35: "bytes"}
_KEY_NOUNS = {V34: "a qualified name", V35: "a valid label key"}

MAX_ANNOTATION_BYTES = 256 * 1024
"""Keys and values of one object's annotations together."""

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = f"{_LABEL}(\\.{_LABEL})*"
_QUALIFIED = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_ENV = "[-._a-zA-Z][-._a-zA-Z0-9]*"
_LABEL_RE = re.compile(_LABEL)
_SUBDOMAIN_RE = re.compile(_SUBDOMAIN)
_QUALIFIED_RE = re.compile(_QUALIFIED)
_ENV_RE = re.compile(_ENV)

_ENDS = "and must start and end with an alphanumeric character"
_SUBDOMAIN_TEXT = (
    f"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', {_ENDS}"
)
_LABEL_TEXT = f"a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', {_ENDS}"
_QUALIFIED_TEXT = f"must consist of alphanumeric characters, '-', '_' or '.', {_ENDS}"
_VALUE_TEXT = f"a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', {_ENDS}"
_ENV_TEXT = (
    "a valid environment variable name must consist of alphabetic characters, digits, '_', '-', or '.', "
    "and must not start with a digit"
)

# The same names come again and again within one run.
_remembered = lru_cache(maxsize=4096)


@_remembered
def dns_subdomain(value: str, unit: str = "characters") -> tuple[str, ...]:
    """What is wrong with `value` as a DNS-1123 subdomain of at most 253 bytes; `unit` is what the text counts in."""
    errors = _too_long(value, 253, unit)
    if not _SUBDOMAIN_RE.fullmatch(value):
        errors.append(_regex_error(_SUBDOMAIN_TEXT, _SUBDOMAIN, "example.com"))
    return tuple(errors)


@_remembered
def is_dns_subdomain(value: str) -> bool:
    """Whether `value` is a DNS-1123 subdomain of at most 253 bytes."""
    return len(value) <= 253 and _SUBDOMAIN_RE.fullmatch(value) is not None


@_remembered
def dns_label(value: str) -> tuple[str, ...]:
    """What is wrong with `value` as a DNS-1123 label of at most 63 bytes."""
    errors = _too_long(value, 63)
    if not _LABEL_RE.fullmatch(value):
        dotted = _SUBDOMAIN_RE.fullmatch(value)
        errors.append("must not contain dots" if dotted else _regex_error(_LABEL_TEXT, _LABEL, "my-name", "123-abc"))
    return tuple(errors)


@_remembered
def qualified_name(value: str, version: str = V34) -> tuple[str, ...]:
    """What is wrong with `value` as a qualified name: an optional DNS prefix and `/`, then at most 63 bytes."""
    unit = _UNITS[version]
    parts = value.split("/")
    examples = ("MyName", "my.name", "123-abc")
    if len(parts) > 2:
        text = _regex_error(_QUALIFIED_TEXT, _QUALIFIED, *examples)
        return (
            f"{_KEY_NOUNS[version]} {text} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
        )
    errors: list[str] = []
    if len(parts) == 2:
        wrong = dns_subdomain(parts[0], unit) if parts[0] else ("must be non-empty",)
        errors += [f"prefix part {text}" for text in wrong]
    name = parts[-1]
    errors += [f"name part {text}" for text in (_too_long(name, 63, unit) if name else ["must be non-empty"])]
    if not _QUALIFIED_RE.fullmatch(name):
        errors.append(f"name part {_regex_error(_QUALIFIED_TEXT, _QUALIFIED, *examples)}")
    return tuple(errors)


@_remembered
def label_value(value: str, version: str = V34) -> tuple[str, ...]:
    """What is wrong with `value` as a label's value."""
    errors = _too_long(value, 63, _UNITS[version])
    if value and not _QUALIFIED_RE.fullmatch(value):
        errors.append(_regex_error(_VALUE_TEXT, f"({_QUALIFIED})?", "MyValue", "my_value", "12345"))
    return tuple(errors)


@_remembered
def env_name(value: str) -> tuple[str, ...]:
    """What is wrong with `value` as the name of an environment variable."""
    errors: list[str] = []
    if not _ENV_RE.fullmatch(value):
        errors.append(_regex_error(_ENV_TEXT, _ENV, "my.env-name", "MY_ENV.NAME", "MyEnvName1"))
    if value in {".", ".."}:
        errors.append(f"must not be '{value}'")
    elif value.startswith(".."):
        errors.append("must not start with '..'")
    return tuple(errors)


def mask_trailing_dash(prefix: str) -> str:
    """A generateName as it is checked: its last two characters give way to an `a` when it ends in a dash."""
    return f"{prefix[:-2]}a" if len(prefix) > 1 and prefix.endswith("-") else prefix


def _too_long(value: str, limit: int, unit: str = "characters") -> list[str]:
    return [f"must be no more than {limit} {unit}"] if len(value.encode("utf-8", "surrogatepass")) > limit else []


def _regex_error(message: str, pattern: str, *examples: str) -> str:
    shown = " or ".join([f"'{example}', " for example in examples])
    return f"{message} (e.g. {shown}regex used for validation is '{pattern}')"
