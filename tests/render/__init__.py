"""The function as a whole: it reads a ResourceList and writes a ResourceList."""
