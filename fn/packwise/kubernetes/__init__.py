"""Kubernetes' own checks of any object: the syntax of names and labels, the text of a field's error."""

from __future__ import annotations
