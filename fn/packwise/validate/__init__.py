"""Validation of objects by the cluster's own CRDs, or by packwise's tables of fields."""
