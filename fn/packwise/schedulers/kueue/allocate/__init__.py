"""Kueue's own answers, worked out offline: which flavor a job gets, and where its pods go."""
