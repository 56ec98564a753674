"""Domains, levels, and the ClusterTopology they make up."""
