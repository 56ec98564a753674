"""Kinds, identities and lists of Kubernetes objects, and the workloads that controllers create from other objects."""
