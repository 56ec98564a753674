"""KAI's `allocate` action, worked out offline: where the scheduler puts each gang, or what it answers instead.


Source: spec/placement.md, of KAI Scheduler v0.17.0 with its default plugins.
Not covered: fractions of GPUs, MIG, DRA, NUMA,
pods that are being deleted, and the actions that evict pods (reclaim, preempt, consolidation).
"""

from packwise.schedulers.kai.allocate.session import allocate

__all__ = ["allocate"]
