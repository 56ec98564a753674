"""The comparison with the goldens that stands beside them, as a module."""

from __future__ import annotations

import importlib.util
import sys
from typing import Any

from tests.places import SHARED

__all__ = ["comparer"]


def comparer() -> Any:
    """The comparison that stands beside the goldens; None when they are not there."""
    path = SHARED / "tools" / "run_goldens.py"
    if not path.exists():
        return None
    spec = importlib.util.spec_from_file_location("run_goldens", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look their module up by name while the module body runs.
    sys.modules[spec.name] = module
    writes, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        spec.loader.exec_module(module)
    finally:
        sys.dont_write_bytecode = writes
    return module
