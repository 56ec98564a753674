"""Times `packwise fn` beside a Go function that does nothing, on the same inputs, in turn.

    python benchmarks/bench.py [--sizes 10,1000,10000] [--runs 5] [--packwise PATH]

The Go function (`noop-kyaml/`: kyaml's own framework, which reads the list and writes it back) is what any function
written with that framework pays before it does work. It is the measuring stick: ratios are to its figures.
Figures are medians; memory is the peak resident size of the process. The kernel counts a child's peak from its parent's
size at the start, so no figure is below that of this script, which is printed.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter

sys.path.insert(0, str(Path(__file__).resolve().parent))
from workloads import resource_list

HERE = Path(__file__).resolve().parent
CACHE = HERE.parent / ".cache" / "bench"
# Linux counts the peak in KiB, macOS in bytes.
RSS_UNIT = 1 if sys.platform == "darwin" else 1024
MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Sample:
    """One run: seconds of wall clock, seconds of CPU (user and system), bytes of peak memory."""

    wall: float
    cpu: float
    memory: float


@dataclass(frozen=True, slots=True)
class Contender:
    """A function under test."""

    name: str
    command: tuple[str, ...]


def run_once(command: tuple[str, ...], source: Path) -> Sample:
    """Run a function over a file. Raises SystemExit when it fails: the time of a failed run means nothing."""
    with source.open("rb") as stdin:
        started = perf_counter()
        process = subprocess.Popen(command, stdin=stdin, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        wall = perf_counter() - started
    # Popen would wait for the process again when it is collected.
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"{command[0]} failed with exit code {process.returncode} on {source}")
    return Sample(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * RSS_UNIT)


def middle(samples: list[Sample]) -> Sample:
    """The median of each figure by itself."""
    return Sample(median(s.wall for s in samples), median(s.cpu for s in samples), median(s.memory for s in samples))


def go_function() -> Contender | None:
    """The measuring stick, built when needed (Go's own cache makes the second time quick); None without Go."""
    if shutil.which("go") is None:
        print("go is not on PATH: there is nothing to compare with, so no ratios", file=sys.stderr)
        return None
    binary = CACHE / "noop-kyaml"
    subprocess.run(["go", "build", "-trimpath", "-o", str(binary), "."], cwd=HERE / "noop-kyaml", check=True)
    return Contender("noop-kyaml (Go)", (str(binary),))


def input_of(size: int) -> Path:
    """A file with the list of that size, written in pieces: this script's own size is a floor under all figures."""
    path = CACHE / f"list-{size}.yaml"
    with path.open("w", encoding="utf-8") as stream:
        stream.writelines(resource_list(size))
    return path


def measure(contenders: list[Contender], source: Path, runs: int) -> dict[str, Sample]:
    """Medians by contender. They run in turn, so that a busy moment of the machine meets all of them."""
    samples: dict[str, list[Sample]] = {contender.name: [] for contender in contenders}
    for contender in contenders:
        run_once(contender.command, source)  # fills the file cache; not counted
    for _ in range(runs):
        for contender in contenders:
            samples[contender.name].append(run_once(contender.command, source))
    return {name: middle(taken) for name, taken in samples.items()}


def report(size: int, source: Path, medians: dict[str, Sample], stick: Sample | None) -> None:
    """Prints a line for each contender, with ratios to `stick` where there is one."""
    print(f"\n{size} PodCliqueSets, {source.stat().st_size / MIB:.2f} MiB")
    print(f"  {'':18} {'wall s':>8} {'cpu s':>8} {'peak MiB':>9}   ratios (wall, cpu, memory)")
    for name, sample in medians.items():
        ratios = "" if stick is None else "   " + "  ".join(f"{ratio:.2f}" for ratio in ratios_of(sample, stick))
        print(f"  {name:18} {sample.wall:8.3f} {sample.cpu:8.3f} {sample.memory / MIB:9.1f}{ratios}")


def ratios_of(sample: Sample, stick: Sample) -> tuple[float, ...]:
    """Wall time, CPU time and memory of `sample` as multiples of those of `stick`."""
    parts: tuple[Callable[[Sample], float], ...] = (lambda s: s.wall, lambda s: s.cpu, lambda s: s.memory)
    # A process too short for the clock of CPU time counts as one tick of it.
    return tuple(max(part(sample), 0.001) / max(part(stick), 0.001) for part in parts)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Times `packwise fn` beside a Go function that does nothing.")
    parser.add_argument("--sizes", default="10,1000,10000", help="numbers of PodCliqueSets (default: %(default)s)")
    parser.add_argument("--runs", type=int, default=5, help="counted runs of each (default: %(default)s)")
    parser.add_argument("--packwise", default=str(HERE.parent / ".venv/bin/packwise"), help="default: %(default)s")
    options = parser.parse_args()
    CACHE.mkdir(parents=True, exist_ok=True)
    peer = go_function()
    contenders = [Contender("packwise fn", (options.packwise, "fn")), *([peer] if peer else [])]
    floor = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * RSS_UNIT / MIB
    print(f"{options.runs} runs each, in turn; medians; {os.cpu_count()} cores; memory is at least {floor:.1f} MiB")
    for size in (int(word) for word in options.sizes.split(",")):
        source = input_of(size)
        medians = measure(contenders, source, options.runs)
        report(size, source, medians, medians[peer.name] if peer else None)


if __name__ == "__main__":
    main()
