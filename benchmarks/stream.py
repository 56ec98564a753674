"""Measure the time of `packwise check` on one stream, and on one List, of 1,000, 4,000 and 16,000 documents.

    python benchmarks/stream.py [--sizes 1000,4000,16000]

ConfigMaps show the cost of reading, and PodCliqueSets the cost of checking. The last column is the milliseconds for
each document. It stays the same if the time grows in proportion.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path
from time import perf_counter

sys.path.insert(0, str(Path(__file__).resolve().parent))
from workloads import configuration, workload

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / ".cache" / "bench" / "stream"
CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c{}\n  namespace: team-a\ndata:\n  key: value\n"


def documents(kind: str, number: int) -> list[str]:
    """Return this number of different objects."""
    return [CONFIG_MAP.format(each) if kind == "ConfigMap" else workload(each) for each in range(number)]


def as_list(texts: list[str]) -> str:
    """Return the objects as entries of one List."""
    entries = [text.rstrip("\n").replace("\n", "\n  ") for text in texts]
    return "apiVersion: v1\nkind: List\nitems:\n" + "".join(f"- {entry}\n" for entry in entries)


def seconds(packwise: Path, file: Path) -> float:
    """Return the seconds of a check. Raise SystemExit if the check is killed, because its time would mean nothing."""
    started = perf_counter()
    command = [packwise, "check", file, "--config", FOLDER / "topology.yaml", "-o", "json"]
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    if done.returncode not in (0, 1):
        raise SystemExit(f"packwise check ended with {done.returncode}: {done.stderr.decode()}")
    return perf_counter() - started


def main() -> None:
    """Print a row for each kind, form and size."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="1000,4000,16000")
    parser.add_argument("--packwise", type=Path, default=Path(sys.executable).parent / "packwise")
    options = parser.parse_args()
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / "topology.yaml").write_text(configuration(), encoding="utf-8")
    print(f"{'':14}{'':8}{'documents':>10}{'seconds':>10}{'ms each':>10}")
    for kind in ("ConfigMap", "PodCliqueSet"):
        for form, write in (("stream", "---\n".join), ("List", as_list)):
            for size in map(int, options.sizes.split(",")):
                file = FOLDER / "input.yaml"
                file.write_text(write(documents(kind, size)), encoding="utf-8")
                taken = seconds(options.packwise, file)
                print(f"{kind:14}{form:8}{size:>10,}{taken:>10.2f}{taken / size * 1000:>10.2f}")


if __name__ == "__main__":
    main()
