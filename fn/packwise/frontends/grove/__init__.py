"""Grove's PodCliqueSet: its schema, defaults, rules, names, PodGangs and conditions."""

from __future__ import annotations
