"""The commands, a module or folder for each: its help, its options, what it does, how it is printed.

A module has a `COMMAND`; `COMMANDS` in `packwise.cli` lists it. Where a run needs more than its help, the command is a
folder: the package has the words and options, and imports what runs when it runs.
"""

from __future__ import annotations
