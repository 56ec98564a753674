"""Kueue's own answers, computed offline: the flavor of each job and the places of its pods."""
