"""Topologies and their levels: the ones that workloads can name, and the ones that topograph writes."""
