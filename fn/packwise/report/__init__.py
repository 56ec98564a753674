"""Gangs drawn on the nodes of a cluster, as a page or a picture."""
