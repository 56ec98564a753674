"""The options of each command, and what the help says of them."""
