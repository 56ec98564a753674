"""What packwise sees in a folder, and who would run it there: pure functions of what `packwise doctor` read."""

from __future__ import annotations

from packwise.commands.doctor.client import CLIENT_FILES, Client, Problem
from packwise.commands.doctor.cluster import ClusterView, cluster_view
from packwise.commands.doctor.delivery import (
    PIPELINE_FILES,
    PIPELINE_FOLDER,
    delivery_clients,
    pipeline_clients,
)
from packwise.commands.doctor.kpt import kpt_clients
from packwise.commands.doctor.kustomize import kustomize_clients, listed_files

__all__ = [
    "CLIENT_FILES",
    "PIPELINE_FILES",
    "PIPELINE_FOLDER",
    "Client",
    "ClusterView",
    "Problem",
    "cluster_view",
    "delivery_clients",
    "kpt_clients",
    "kustomize_clients",
    "listed_files",
    "pipeline_clients",
]
