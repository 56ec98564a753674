"""The default scheduler of Kubernetes, and its placement of groups of pods."""
