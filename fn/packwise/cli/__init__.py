"""The command line: the list of commands, the selected one, and the exit code."""
