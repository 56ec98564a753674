"""Reading a text's value: yaml_rs where both readers must agree, libyaml with kyaml's rules for everything else.

yaml_rs is the extra `krmfn[fast]`: where it is not installed, libyaml reads everything, to the same values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from krmfn.yamltext.bounds import check_nodes
from krmfn.yamltext.plainlines import is_usual

if TYPE_CHECKING:
    from collections.abc import Callable

    from krmfn.value import Value

_loads: Callable[..., object] | None
try:
    from yaml_rs import loads as _loads
except ImportError:
    _loads = None

__all__ = ["read", "read_fast"]


def read(text: str) -> Value:
    """The value of the one YAML document in `text`; None when it is empty.

    Scalars, aliases and `<<` mean what they mean to kyaml; keys that are no strings become the strings of Go's JSON
    conversion. Raises YamlError: not YAML, a duplicate key, more than one document, nested deeper than 500 levels, more
    than five million nodes, or aliases that expand to more than a million.
    """
    check_nodes(text)
    agreed, value = read_fast(text)
    if agreed:
        return value
    from krmfn.yamltext.build import read_libyaml

    return read_libyaml(text)


def read_fast(text: str) -> tuple[bool, Value]:
    """Whether yaml_rs's answer stands, and the answer. Where it has none, libyaml reads or says what is wrong."""
    if _loads is None:
        return False, None
    usual = is_usual(text)
    if not usual:
        from krmfn.yamltext.fastguard import may_read

        if not may_read(text):
            return False, None
    try:
        value = cast("Value", _loads(text, parse_datetime=False))
    except ValueError:
        return False, None
    if usual:
        return isinstance(value, (dict, list)), value
    from krmfn.yamltext.fastguard import agrees

    return agrees(value, text), value
