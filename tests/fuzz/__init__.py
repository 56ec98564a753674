"""Fuzzing: any bytes are input for the reader, the splicer, the configuration and workloads."""
