"""Count the instructions of `packwise fn` and `packwise check`, and fail if a count is a tenth above the record.

    python benchmarks/instructions.py [--record]

Unlike a time, a count hardly changes with other work of the machine. The unit is the count of `import yaml` in the same
interpreter, so the record applies to other machines too. With other versions of Python, the count is only printed.
`perf` counts (Debian: linux-perf). If the processor does not permit perf, as on many virtual machines, valgrind counts.
Both counts agree within a few percent.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from foreign import write_repository
from krmfn.hints import Record
from workloads import resource_list

HERE = Path(__file__).resolve().parent
RECORD = HERE / "instructions.json"
PACKWISE = (sys.executable, "-m", "packwise", "fn")
CHECK = (sys.executable, "-m", "packwise", "check")
UNIT = (sys.executable, "-c", "import yaml")
PERF = ("perf", "stat", "-x", ",", "-e", "instructions:u", "-o", "/dev/fd/3", "--")
VALGRIND = (
    *("valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null", "--log-file=/dev/fd/3"),
    "--",
)
"""The command of valgrind. The count is on file descriptor 3, so that the program's own output does not mix with it."""
QUIET = ("sh", "-c", 'exec 3>&1; exec "$@" >/dev/null 2>&1', "sh")
FEW, MANY = 10, 130
FEW_MIB, MANY_MIB = 1, 3
MOST = 1.1
"""The largest permitted count, as a multiple of the recorded one."""


def main() -> int:
    """Count, print and compare with the record. Return 1 if a count is above the record."""
    parser = argparse.ArgumentParser(description="Counts the instructions of `packwise fn` and `packwise check`.")
    parser.add_argument("--record", action="store_true", help=f"write what is counted to {RECORD.name}")
    options = parser.parse_args()
    counter = counter_here()
    if counter is None:
        print("cannot count instructions without perf or valgrind: apt install linux-perf valgrind", file=sys.stderr)
        return 1 if os.environ.get("CI") else 0
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    counted = {name: round(value, 4) for name, value in ratios(counter).items()}
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
    """Return a line for each count that is above the record, or that has no record."""
    return [
        f"{name}: {ratio:.4f}, and {record.get(name, 0):.4f} on record; make it cheaper, or say why it costs more and "
        f"record it: python benchmarks/{Path(__file__).name} --record"
        for name, ratio in counted.items()
        if ratio > MOST * record.get(name, 0)
    ]


class Counter(Record):
    """A program that counts instructions: its command, the pattern of its line with the count, and the
    number of runs.
    """

    command: tuple[str, ...]
    line: re.Pattern[str]
    runs: int


COUNTERS = (
    Counter(PERF, re.compile(r"^(\d+),.*instructions", re.MULTILINE), 3),
    # valgrind returns the same count for each run, and takes twenty times as long.
    Counter(VALGRIND, re.compile(r"I +refs: +([\d,]+)"), 1),
)


def counter_here() -> Counter | None:
    """Return the first of `COUNTERS` that works on this machine, or None."""
    for counter in COUNTERS:
        if shutil.which(counter.command[0]) is not None and _count(counter, ("true",), "") is not None:
            return counter
    return None


def ratios(counter: Counter) -> dict[str, float]:
    """Return the cost of runs in units of `import yaml`: of one workload, of ten, and of each further
    workload or MiB.
    """
    instructions = partial(least, counter)
    unit = instructions(UNIT, "")
    found: dict[str, float] = {"one workload": instructions(PACKWISE, "".join(resource_list(1))) / unit}
    for findings in (False, True):
        few, many = (instructions(PACKWISE, "".join(resource_list(count, findings=findings))) for count in (FEW, MANY))
        kind = "a finding on each" if findings else "no findings"
        found[f"{FEW} workloads, {kind}"] = few / unit
        found[f"a further workload, {kind}"] = (many - few) / (MANY - FEW) / unit
    found["a further MiB of other tools' files"] = _foreign(instructions) / unit
    return found


def _foreign(instructions: Callable[[tuple[str, ...], str], int]) -> float:
    """Return the cost of `packwise check` for each further MiB of a repository without workloads."""
    with tempfile.TemporaryDirectory() as folder:
        counts: list[int] = []
        for mebibytes in FEW_MIB, MANY_MIB:
            write_repository(Path(folder) / str(mebibytes), mebibytes)
            counts.append(instructions((*CHECK, str(Path(folder) / str(mebibytes))), ""))
    return (counts[1] - counts[0]) / (MANY_MIB - FEW_MIB)


def least(counter: Counter, command: tuple[str, ...], text: str) -> int:
    """Return the fewest instructions in user mode that a run of the command takes, among several runs."""
    # The first run writes bytecode, so it does not count.
    subprocess.run(
        command,
        input=text,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        text=True,
        check=True,
        env=_environment(),
    )
    counts = [_count(counter, command, text) for _ in range(counter.runs)]
    return min([count for count in counts if count is not None])


def _environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTHONHASHSEED": "0"}


def _count(counter: Counter, command: tuple[str, ...], text: str) -> int | None:
    """Return the instructions of one run, or None if the machine does not count them.

    Raise CalledProcessError if the run fails.
    """
    with tempfile.TemporaryFile("w+", encoding="utf-8") as source:
        source.write(text)
        source.seek(0)
        ran = subprocess.run(
            [*QUIET, *counter.command, *command],
            stdin=source,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
            env=_environment(),
        )
    line = counter.line.search(ran.stdout)
    return None if line is None else int(line[1].replace(",", ""))


if __name__ == "__main__":
    sys.exit(main())
