"""Text for people and programs, the standard streams, and atomic replacement of files."""
