"""Workloads that the scheduler groups itself, without an operator's gangs: Jobs, JobSets, Ray clusters and others."""
