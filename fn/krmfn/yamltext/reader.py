"""Reading a text's value: yaml_rs where both readers must agree, libyaml with kyaml's rules for everything else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krmfn.yamltext.screen import read_fast

if TYPE_CHECKING:
    from krmfn.value import Value

__all__ = ["read"]


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
