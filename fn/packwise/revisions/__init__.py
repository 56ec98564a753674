"""The revisions of topology-aware scheduling as records: designs, and releases of Grove."""
