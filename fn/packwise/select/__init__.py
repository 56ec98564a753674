"""The settings, the release and the topologies that count for an input."""
