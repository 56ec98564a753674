"""Reading a text's value: the native core, or yaml_rs, where all readers agree; else libyaml with kyaml's rules.

The core is the extra `krmfn[native]`, yaml_rs `krmfn[fast]`: where both are absent, libyaml reads everything, to the
same values.
"""

from __future__ import annotations

import sys
from errno import ENOMEM
from functools import cache
from types import ModuleType

from krmfn.hints import TYPE_CHECKING, cast
from krmfn.yamltext import native
from krmfn.yamltext.bounds import check_nodes

if TYPE_CHECKING:
    from collections.abc import Callable

    from krmfn.value import Value

__all__ = ["read", "read_fast"]


@cache
def _loads() -> Callable[..., object] | None:
    """The function of yaml_rs that reads a text; None where it is not installed. Raises MemoryError."""
    try:
        return _fast_reader()
    except OSError as error:
        # By then half of a list may be read: to list a folder takes memory too.
        if error.errno == ENOMEM:
            raise MemoryError from error
        raise


def _fast_reader() -> Callable[..., object] | None:
    if "yaml_rs" in sys.modules:
        return _imported_reader()
    try:
        folders = _folders_of("yaml_rs")
    except ImportError:
        return None
    # The package around the compiled module imports pathlib, typing and more, which takes longer than a small input.
    package = sys.modules["yaml_rs"] = ModuleType("yaml_rs")
    package.__path__ = folders
    try:
        from yaml_rs._yaml_rs import _loads as loads  # pyright: ignore[reportPrivateUsage]
    except ImportError:
        del sys.modules["yaml_rs"]
        return _imported_reader()
    del sys.modules["yaml_rs"]
    return loads


def _folders_of(package: str) -> list[str]:
    """Where the modules of a package stand, which is not imported. Raises ImportError where a finder does."""
    for finder in sys.meta_path:
        spec = finder.find_spec(package, None)
        if spec is not None:
            return list(spec.submodule_search_locations or ())
    return []


def _imported_reader() -> Callable[..., object] | None:
    try:
        from yaml_rs import loads
    except ImportError:
        return None
    return loads


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
