"""Objects rewritten for a later release of Grove."""
