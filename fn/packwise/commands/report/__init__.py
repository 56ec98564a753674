"""What a report shows of gangs on a cluster, before and after a change."""
