"""Tasks through a function: in this process, by processes of this machine, or by a Dask cluster.

`run` is all that callers need. The answers are the same wherever the function runs; a lost worker loses no task.
"""
