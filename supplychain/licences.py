"""The licence of a library, by its own metadata, and the licences that docs/dependencies.md allows."""

from __future__ import annotations

import re
from importlib.metadata import metadata

from supplychain.locks import ROOT

__all__ = ["licence_of", "licences"]

PAGE = ROOT / "docs" / "dependencies.md"
_ROW = re.compile(r"^\| `([A-Za-z0-9.+ -]+)` \| ([a-z0-9, -]+) \|", re.MULTILINE)

_CLASSIFIERS = {"License :: OSI Approved :: Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0"}
"""SPDX expressions of classifiers that also name the version."""


_READ = {"jinja2": "BSD-3-Clause"}
"""Licences that were read from LICENSE files, for libraries without a licence in their metadata."""


def licence_of(name: str) -> str:
    """Return the licence of an installed library: its SPDX expression, or the older field of its metadata.

    Raise LookupError if the metadata has no licence and `_READ` does not name it.
    """
    fields = metadata(name).json
    for field in ("license_expression", "license"):
        if field in fields:
            return str(fields[field])
    for classifier in fields.get("classifier", ()):
        if classifier in _CLASSIFIERS:
            return _CLASSIFIERS[classifier]
    if name in _READ:
        return _READ[name]
    raise LookupError(f"{name} names no licence in its metadata: read its LICENSE, and decide by hand")


def licences() -> dict[str, str]:
    """Return the licence of each library that packwise needs at run time, from docs/dependencies.md."""
    section = PAGE.read_text(encoding="utf-8").partition("## Licences")[2].partition("\n## ")[0]
    return {name: licence for licence, names in _ROW.findall(section) for name in names.split(", ")}
