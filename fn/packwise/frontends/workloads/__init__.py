"""Workloads that KAI groups itself, without gangs of an operator: Jobs, JobSets, Ray clusters and others."""
