"""Dynamo's front end: it previews the PodCliqueSets that Dynamo's operator makes from DynamoGraphDeployments."""

from __future__ import annotations
