"""Where the scheduler puts gangs: scenarios, workloads on the nodes of a cluster, and what would change the answer."""
