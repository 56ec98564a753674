"""Reading a text's value: the native core, or yaml_rs, where all readers agree; else libyaml with kyaml's rules.

The core is the extra `krmfn[native]`, yaml_rs `krmfn[fast]`: where both are absent, libyaml reads everything, to the
same values.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, cast

from krmfn.yamltext import native
from krmfn.yamltext.bounds import check_nodes

if TYPE_CHECKING:
    from collections.abc import Callable

    from krmfn.value import Value

__all__ = ["read", "read_fast"]


def read(text: str) -> Value:
    """The value of the one YAML document in `text`; None when it is empty.

    Scalars, aliases and `<<` mean what they mean to kyaml; keys that are no strings become the strings of Go's JSON
    conversion. Raises YamlError: not YAML, a duplicate key, more than one document, nested deeper than 500 levels, more
    than five million nodes, or aliases that expand to more than a million.
    """
    check_nodes(text)
    known = native.read(text)
    if known is not None:
        return known
    agreed, value = read_fast(text)
    if agreed:
        return value
    from krmfn.yamltext.build import read_libyaml

    return read_libyaml(text)


def read_fast(text: str) -> tuple[bool, Value]:
    """Whether yaml_rs's answer stands, and the answer. Where it has none, libyaml reads or says what is wrong."""
    loads = _loads()
    if loads is None:
        return False, None
    from krmfn.yamltext.plainlines import is_usual

    usual = is_usual(text)
    if not usual:
        from krmfn.yamltext.fastguard import may_read

        if not may_read(text):
            return False, None
    try:
        value = cast("Value", loads(text, parse_datetime=False))
    except ValueError:
        return False, None
    if usual:
        return isinstance(value, (dict, list)), value
    from krmfn.yamltext.fastguard import agrees

    return agrees(value, text), value


@cache
def _loads() -> Callable[..., object] | None:
    """The reader of yaml_rs, which takes as long to import as ten workloads to read."""
    try:
        from yaml_rs import loads
    except ImportError:
        return None
    return loads
