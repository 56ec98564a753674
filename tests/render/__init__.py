"""The function as a whole: a ResourceList in, a ResourceList out."""
