"""An etcd with one member, on the loopback address."""

from __future__ import annotations

from pathlib import Path

from tests.e2e.process import Servers
from tests.e2e.tools import installed

__all__ = ["start"]

_CLIENTS = "http://127.0.0.1:2379"
_PEERS = "http://127.0.0.1:2380"


def start(servers: Servers, folder: Path) -> str:
    """Start etcd with its data in `folder`, and return the URL for clients."""
    servers.start(
        "etcd",
        [
            installed("etcd"),
            f"--data-dir={folder}",
            f"--listen-client-urls={_CLIENTS}",
            f"--advertise-client-urls={_CLIENTS}",
            f"--listen-peer-urls={_PEERS}",
            f"--initial-advertise-peer-urls={_PEERS}",
            f"--initial-cluster=default={_PEERS}",
            # etcd is never started again with this data, and other tests may keep the disk busy.
            "--unsafe-no-fsync",
        ],
    )
    return _CLIENTS
