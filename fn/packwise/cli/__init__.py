"""The command line, and what its commands share: files in, files out, findings as text."""

from __future__ import annotations

from packwise.cli.main import main

__all__ = ["main"]
