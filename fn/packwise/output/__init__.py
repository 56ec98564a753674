"""Text for people and programs, and atomic replacement of files."""
