"""Grove's PodCliqueSet: schema and defaults, rules and names, PodGangs and conditions."""

from __future__ import annotations
