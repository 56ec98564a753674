"""Fuzzing: effects of any bytes on the reader, the splicer, the configuration and workloads."""
