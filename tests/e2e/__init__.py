"""Rendered objects in a real API server, Argo CD and Flux: `make e2e`."""
