"""Objects validated by the cluster's own CRDs."""
