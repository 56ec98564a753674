"""Cases with answers of the operators' own code: the cases in the repository, and upstream's own cases next to the
clone.

They are unpacked once, into `.cache/golden/`. `testdata/golden/README.md` describes them.
"""

from __future__ import annotations

import hashlib
import tempfile
from pathlib import Path

from tests.golden.packing import FOLDERS, PACKED, UPSTREAMS, unpack
from tests.places import ROOT, SHARED

__all__ = ["GOLDEN"]

BESIDE = SHARED / "golden"


def unpacked() -> Path:
    """Return the folder of all existing cases. Its name depends on the cases."""
    content = hashlib.sha256()
    for path in sorted(PACKED.rglob("*.gz")):
        content.update(path.name.encode() + path.read_bytes())
    upstreams = [path for name in FOLDERS for path in (BESIDE / name).glob("*/") if path.name.startswith(UPSTREAMS)]
    content.update("\n".join(sorted(map(str, upstreams))).encode())
    folder = ROOT / ".cache" / "golden" / content.hexdigest()[:16]
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as work:
            unpack(PACKED, BESIDE, Path(work, "golden"))
            try:
                Path(work, "golden").rename(folder)
            except OSError:
                # Another process was faster and has written the same files.
                if not folder.is_dir():
                    raise
    return folder


GOLDEN = unpacked()
