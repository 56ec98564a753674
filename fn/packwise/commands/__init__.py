"""The commands, a module or folder for each: its help, its options, its action, its output.

A module has a `COMMAND`. `COMMANDS` in `packwise.cli` lists it. If a run needs more than the help, the command is a
folder. The package has the words and options, and imports the rest when it runs.
"""

from __future__ import annotations
