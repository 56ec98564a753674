"""Kueue's scheduler, computed offline: the flavors of each job, and the domains of its pods."""
