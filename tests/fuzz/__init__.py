"""Fuzzing: what any bytes may do to the reader, the splicer, the configuration and workloads."""
