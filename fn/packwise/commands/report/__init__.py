"""`packwise report`: gangs on the nodes of a cluster, drawn."""
