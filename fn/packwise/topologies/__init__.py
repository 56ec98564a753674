"""The topologies of a package, and the workloads that use them."""
