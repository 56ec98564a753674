"""Grove's PodGang, from which the operator's scheduler backends place pods. Source: spec/grove.md#7."""

from __future__ import annotations

from packwise.schedulers.grove.podgang import GROVE

__all__ = ["GROVE"]
