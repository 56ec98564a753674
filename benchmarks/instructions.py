"""Counts the processor's instructions of `packwise fn`, and fails where they are a tenth more than on record.

    python benchmarks/instructions.py [--record]

A count hardly depends on what else the machine does, as time does. The unit is what `import yaml` takes in the same
interpreter, so that the record holds for other machines; not for other versions of Python, for which it is only
printed. `perf` counts (Debian: linux-perf).
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from workloads import resource_list

HERE = Path(__file__).resolve().parent
RECORD = HERE / "instructions.json"
PACKWISE = (sys.executable, "-m", "packwise", "fn")
UNIT = (sys.executable, "-c", "import yaml")
PERF = (
    *("perf", "stat", "-x", ",", "-e", "instructions:u", "-o", "/dev/fd/1"),
    *("--", "sh", "-c", 'exec "$@" >/dev/null 2>&1', "sh"),
)
RUNS = 3
FEW, MANY = 10, 510
MOST = 1.1
"""How many times what is on record a count may be."""


def main() -> int:
    """Counts, prints, compares; 1 where something takes more than the record allows."""
    parser = argparse.ArgumentParser(description="Counts the instructions of `packwise fn`.")
    parser.add_argument("--record", action="store_true", help=f"write what is counted to {RECORD.name}")
    options = parser.parse_args()
    if shutil.which("perf") is None:
        print("perf is not on PATH, which counts instructions: apt install linux-perf", file=sys.stderr)
        return 1 if os.environ.get("CI") else 0
    subprocess.run([sys.executable, "-m", "packwise.start"], check=True)
    if hasattr(os, "sched_setaffinity"):
        # With one processor there is one process: what several take together depends on how many there are.
        os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    counted = {name: round(value, 4) for name, value in ratios().items()}
    if options.record:
        RECORD.write_text(json.dumps({"python": version, "ratios": counted}, indent=2) + "\n", encoding="utf-8")
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    comparable = record["python"] == version
    for name, ratio in counted.items():
        print(f"{name:42} {ratio:8.4f} times `import yaml`; on record {record['ratios'].get(name, '-')}")
    over = excess(record["ratios"], counted) if comparable else []
    print("\n".join(over), file=sys.stderr, end="\n" if over else "")
    return 1 if over else 0


def excess(record: dict[str, float], counted: dict[str, float]) -> list[str]:
    """A line for each count that is more than the record allows, or has none."""
    return [
        f"{name}: {ratio:.4f}, and {record.get(name, 0):.4f} on record; make it cheaper, or say why it costs more and "
        f"record it: python benchmarks/{Path(__file__).name} --record"
        for name, ratio in counted.items()
        if ratio > MOST * record.get(name, 0)
    ]


def ratios() -> dict[str, float]:
    """What runs cost, in units of `import yaml`: of one workload, of ten, and of each further workload."""
    unit = instructions(UNIT, "")
    found: dict[str, float] = {"one workload": instructions(PACKWISE, "".join(resource_list(1))) / unit}
    for findings in (False, True):
        for different in (False, True):
            few, many = (
                instructions(PACKWISE, "".join(resource_list(count, findings=findings, different=different)))
                for count in (FEW, MANY)
            )
            kind = f"{'a finding on each' if findings else 'no findings'}, {'all different' if different else 'alike'}"
            found[f"{FEW} workloads, {kind}"] = few / unit
            found[f"a further workload, {kind}"] = (many - few) / (MANY - FEW) / unit
    return found


def instructions(command: tuple[str, ...], text: str) -> int:
    """The fewest instructions in user mode that a run of the command takes, of some runs."""
    environment = {**os.environ, "PYTHONHASHSEED": "0"}
    with tempfile.TemporaryFile("w+", encoding="utf-8") as source:
        source.write(text)
        counts: list[int] = []
        for _ in range(RUNS + 1):
            source.seek(0)
            ran = subprocess.run(
                [*PERF, *command], stdin=source, stdout=subprocess.PIPE, text=True, check=True, env=environment
            )
            counts.append(_count(ran.stdout))
    # The first run writes bytecode.
    return min(counts[1:])


def _count(text: str) -> int:
    """The count in the lines of perf. Raises SystemExit where the machine does not let it count."""
    line = next((line for line in text.splitlines() if "instructions" in line), "")
    number = line.partition(",")[0]
    if not number.isdecimal():
        raise SystemExit(f"perf does not count instructions here: {line or text.strip()}")
    return int(number)


if __name__ == "__main__":
    sys.exit(main())
