"""Reading a text's value: yaml_rs where both readers must agree, libyaml with kyaml's rules for everything else."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import yaml_rs

from krmfn.yamltext.usual import is_usual

if TYPE_CHECKING:
    from krmfn.value import Value

__all__ = ["read", "read_fast"]


def read(text: str) -> Value:
    """The value of the one YAML document in `text`; None when it is empty.

    Scalars, aliases and `<<` mean what they mean to kyaml; keys that are no strings become the strings of Go's JSON
    conversion. Raises YamlError: not YAML, a duplicate key, more than one document, nested deeper than 500 levels, or
    aliases that expand to more than a million nodes.
    """
    agreed, value = read_fast(text)
    if agreed:
        return value
    from krmfn.yamltext.build import read_libyaml

    return read_libyaml(text)


def read_fast(text: str) -> tuple[bool, Value]:
    """Whether yaml_rs's answer stands, and the answer. Where it has none, libyaml reads or says what is wrong."""
    usual = is_usual(text)
    if not usual:
        from krmfn.yamltext.screen import may_read

        if not may_read(text):
            return False, None
    try:
        value = cast("Value", yaml_rs.loads(text, parse_datetime=False))
    except ValueError:
        return False, None
    if usual:
        return isinstance(value, (dict, list)), value
    from krmfn.yamltext.screen import agrees

    return agrees(value, text), value
