"""The commands, one module each: its help, its options, and the call of its engine.

A module has a `COMMAND`, and `COMMANDS` in `packwise.cli` lists the modules. A module imports its engine only when the
command runs, because the help does not need it.
"""

from __future__ import annotations
