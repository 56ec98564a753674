"""The topologies of a package, and who uses them."""
