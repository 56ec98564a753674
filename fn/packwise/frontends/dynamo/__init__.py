"""Dynamo's front end: DynamoGraphDeployments as the PodCliqueSets that their operator makes, a preview."""

from __future__ import annotations
