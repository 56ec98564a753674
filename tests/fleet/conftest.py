"""The command line in a separate folder, as the tests of other commands call it."""

from __future__ import annotations

from tests.cli.conftest import assert_each_alone, call

__all__ = ["assert_each_alone", "call"]
