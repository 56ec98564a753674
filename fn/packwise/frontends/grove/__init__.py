"""Grove's front end: the schema, defaults and rules of PodCliqueSets, their PodGangs, and their conditions."""

from __future__ import annotations
