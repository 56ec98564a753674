"""The default scheduler of Kubernetes, which places groups of pods."""
