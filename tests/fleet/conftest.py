"""The command line in a folder of its own, as the tests of the other commands call it."""

from __future__ import annotations

from tests.cli.conftest import call

__all__ = ["call"]
