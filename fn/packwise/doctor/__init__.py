"""The files of a folder as packwise sees them, and the clients that would run it."""
