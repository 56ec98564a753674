"""The commands, a module or folder for each: its help, its options, what it does, how it is printed.

A module has a `COMMAND`; `COMMANDS` in `packwise.cli` lists it. In a folder it is that of `command.py`.
"""

from __future__ import annotations
