"""Text for people and programs, the standard streams, and files that are replaced whole."""
