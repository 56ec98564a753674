"""Places of gangs on the nodes of a cluster, and reasons why a gang does not fit."""
