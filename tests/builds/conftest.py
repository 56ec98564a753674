"""The command line in a folder of its own, as the tests of the other commands call it."""

from __future__ import annotations

from tests.cli.conftest import assert_each_alone, call

__all__ = ["assert_each_alone", "call"]
