"""`packwise fleet`: the packages of many clusters, rendered, checked, compared or placed in one run."""
