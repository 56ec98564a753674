"""The default scheduler of Kubernetes: where it puts groups of pods."""
