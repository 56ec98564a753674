"""The command line: the list of commands, the one that the words give, and the exit code."""
