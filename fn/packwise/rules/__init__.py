"""The table of all rules, and the explanation of each."""
