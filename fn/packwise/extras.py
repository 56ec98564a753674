"""The extras of the distribution: libraries that parts of packwise need, and what to say where one is not installed."""

from __future__ import annotations

from functools import cache

from krmfn.record import Record


class Extra(Record):
    """`packwise[NAME]`: the distribution that it adds, and the module that is imported from it."""

    name: str
    library: str
    module: str

    @property
    def is_installed(self) -> bool:
        """True if the library can be imported; it is imported to know."""
        return _imports(self.module)

    @property
    def advice(self) -> str:
        """A sentence with the library that is absent, and the command that adds it."""
        return f'{self.library} is not installed; add the extra "{self.name}": pip install "packwise[{self.name}]"'


COMPLETION = Extra("completion", "shtab", "shtab")
"""Scripts by which shells complete the command line."""

CRDS = Extra("crds", "cel-expr-python", "cel_expr_python")
"""CEL rules of CustomResourceDefinitions, and RE2 for their patterns."""

DASK = Extra("dask", "distributed", "distributed")
"""Dask: the workers of a fleet, beyond one machine."""

FSSPEC = Extra("fsspec", "fsspec", "fsspec")
"""Object stores, for the cache that a fleet's jobs share."""

OSMO = Extra("osmo", "jinja2", "jinja2")
"""Templates of OSMO's workflows."""

PATCH = Extra("patch", "jsonpatch", "jsonpatch")
"""JSON Patches of what differs."""

SOLVER = Extra("solver", "ortools", "ortools.sat.python.cp_model")
"""CP-SAT, an exact solver: whether gangs fit at all, whatever the scheduler finds."""


@cache
def _imports(module: str) -> bool:
    try:
        __import__(module)
    except ImportError:
        return False
    return True
