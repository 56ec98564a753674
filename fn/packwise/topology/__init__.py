"""Domains, levels, and the ClusterTopology of both."""
