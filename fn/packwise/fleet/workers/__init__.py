"""Tasks through a function: in this process, by processes of this machine, or by a Dask cluster.

`run` is all that callers need. The answers are the same wherever the function runs; a lost worker loses no task.
"""

from __future__ import annotations

from packwise.fleet.workers.pool import Lost, Pool, WorkersError
from packwise.fleet.workers.run import Cluster, Processes, Workers, run

__all__ = ["Cluster", "Lost", "Pool", "Processes", "Workers", "WorkersError", "run"]
