"""Compare the time and memory of packwise with other programs on the same inputs, and write docs/performance.md.

    python benchmarks/bench.py [--sizes 10,1000,10000] [--runs 5] [--packwise PATH] [--large] [--write]

- `packwise fn` against an empty Go function (`noop-kyaml/`). The function uses kyaml's own framework, which reads the
  list and writes it back. Every function with that framework takes this time before it does any work. Ratios refer to
  its figures.
- The same with both on one processor, and with packwise without its native core.
- 10 workloads against `import yaml` in the same interpreter.
- `packwise render` on a folder of 1,000 files against `kustomize build` with that Go function on the same folder.
- `packwise check` against kubectl-validate (`check.py`).
- `packwise check` on files of other tools against kubeconform (`foreign.py`).
- Very many documents, and a comment on many workloads (`growing.py`).

The programs run in turn. Figures are medians. Memory is the peak of the process, as the kernel counts it. `--large`
adds 100,000 workloads without the Go function, which would need some 30 GiB. `--write` writes the page.
"""

from __future__ import annotations

import argparse
import os
import platform
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from time import perf_counter

sys.path.insert(0, str(Path(__file__).resolve().parent))
from check import compare as compare_check
from foreign import compare as compare_foreign
from growing import compare as compare_growing
from workloads import MANIFESTS, REGULAR, configuration, resource_list, workload

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
CACHE = ROOT / ".cache" / "bench"
PAGE = ROOT / "docs" / "performance.md"
KUSTOMIZE = ROOT / ".cache" / "tools" / "kustomize-v5.8.2" / "kustomize"
LATER = "## A fleet"
"""The first heading that `fleet.py` writes on the page."""

FILES = 1000
LARGE = 100_000
FEW_RUNS = 10_000
"""With this number of workloads or more, each program runs only once."""

COMPARED = 1000
"""The number of workloads in the tables that do not compare sizes."""

FUNCTION_HEAD = ("workloads", "kind", "", "wall s", "CPU s", "MiB", "wall", "CPU", "memory")
MANNER_HEAD = ("how", *FUNCTION_HEAD[1:])
START_HEAD = ("kind", "packwise fn, s", "import yaml, s", "wall", "CPU", "memory")
RENDER_HEAD = ("", "wall s", "CPU s", "MiB", "wall")
CHECK_HEAD = ("", "wall s", "CPU s", "wall")
GROWING_HEAD = ("input", "", "wall s", "CPU s", "MiB", "wall", "CPU", "memory")
FOREIGN_HEAD = ("", "wall s", "CPU s", "page faults", "wall", "CPU")

NOOP = """\
apiVersion: example.com/v1
kind: Noop
metadata:
  name: noop
  annotations:
    config.kubernetes.io/function: |
      exec: {{path: {}}}
"""
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
    """A program to measure. `environment` has its variables in addition to the variables of this script."""

    name: str
    command: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class Kind:
    """The kind of workloads in a list."""

    name: str
    findings: bool
    manifests: Path = MANIFESTS


KINDS = (Kind("no findings", False), Kind("a finding on each", True))
SHORT_KIND = Kind("no findings", False, REGULAR)
WITHOUT_CORE = {"PYTHONPATH": str(ROOT / "tests" / "without"), "TESTS_WITHOUT": "krmfn_native"}


def run_once(contender: Contender, source: Path) -> Sample:
    """Return the figures of one run of a program with a file as its stdin.

    Raise SystemExit if the run fails, because its time would mean nothing.
    """
    with source.open("rb") as stdin:
        started = perf_counter()
        process = subprocess.Popen(
            contender.command,
            stdin=stdin,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **contender.environment},
        )
        _, status, usage = os.wait4(process.pid, 0)
        wall = perf_counter() - started
    # Without this, Popen would wait for the process again when it is collected.
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"{contender.name} failed with exit code {process.returncode} on {source}")
    return Sample(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * RSS_UNIT)


def middle(samples: list[Sample]) -> Sample:
    """Return the median of each figure. The medians may come from different runs."""
    return Sample(median(s.wall for s in samples), median(s.cpu for s in samples), median(s.memory for s in samples))


def go_function() -> Contender | None:
    """Return the Go function to compare with, after building it if necessary. Return None without Go."""
    if shutil.which("go") is None:
        print("go is not on PATH: there is nothing to compare with, so no ratios", file=sys.stderr)
        return None
    binary = CACHE / "noop-kyaml"
    subprocess.run(["go", "build", "-trimpath", "-o", str(binary), "."], cwd=HERE / "noop-kyaml", check=True)
    return Contender("noop-kyaml (Go)", (str(binary),))


def input_of(size: int, kind: Kind) -> Path:
    """Return a file with a list of `size` workloads.

    The list is written in pieces, because the memory of this script is a lower limit for all measured memory.
    """
    # A check looks for definitions next to its input and above it, and must not find these lists there.
    path = CACHE / "lists" / f"list-{size}.yaml"
    path.parent.mkdir(exist_ok=True)
    with path.open("w", encoding="utf-8") as stream:
        stream.writelines(resource_list(size, findings=kind.findings, manifests=kind.manifests))
    return path


def measure(contenders: list[Contender], source: Path, runs: int) -> dict[str, Sample]:
    """Return the medians of each program.

    The programs run in turn, so that a busy moment of the machine affects all of them.
    """
    samples: dict[str, list[Sample]] = {contender.name: [] for contender in contenders}
    for contender in contenders:
        run_once(contender, source)  # fills the cache of files, and is not counted
    for _ in range(runs):
        for contender in contenders:
            samples[contender.name].append(run_once(contender, source))
    return {name: middle(taken) for name, taken in samples.items()}


def rows_of(label: str, kind: Kind, medians: dict[str, Sample], stick: str | None) -> list[str]:
    """Return a row of the table for each contender, with ratios to `stick` if there is one."""
    rows: list[str] = []
    for name, sample in medians.items():
        ratios = (
            [f"{ratio:.2f}" for ratio in ratios_of(sample, medians[stick])] if stick and name != stick else [""] * 3
        )
        cells = (label, kind.name, name, f"{sample.wall:.3f}", f"{sample.cpu:.3f}", f"{sample.memory / MIB:.0f}")
        rows.append("| " + " | ".join((*cells, *ratios)) + " |")
    return rows


def ratios_of(sample: Sample, stick: Sample) -> tuple[float, ...]:
    """Return wall time, CPU time and memory of `sample` as multiples of `stick`."""
    parts: tuple[Callable[[Sample], float], ...] = (lambda s: s.wall, lambda s: s.cpu, lambda s: s.memory)
    # A process that is too short for the clock of CPU time counts as one tick of the clock.
    return tuple(max(part(sample), 0.001) / max(part(stick), 0.001) for part in parts)


def function_rows(options: argparse.Namespace, peer: Contender | None) -> Iterator[str]:
    """Yield the rows about `packwise fn` on lists of each size and kind."""
    ours = Contender("packwise fn", (options.packwise, "fn"))
    for size in [int(word) for word in options.sizes.split(",")] + [LARGE] * options.large:
        contenders = [ours, *([peer] if peer and size < LARGE else [])]
        for kind in KINDS:
            source = input_of(size, kind)
            medians = measure(contenders, source, options.runs if size < FEW_RUNS else 1)
            yield from rows_of(f"{size:,}", kind, medians, peer.name if len(contenders) > 1 and peer else None)


def manner_rows(options: argparse.Namespace, peer: Contender | None) -> Iterator[str]:
    """Yield the rows about `packwise fn` and the Go function on one processor, and about packwise without its native
    core.
    """
    ours = Contender("packwise fn", (options.packwise, "fn"))
    pairs = {"without the native core": [replace(ours, environment=WITHOUT_CORE), *([peer] if peer else [])]}
    if shutil.which("taskset") is not None:
        bound = [replace(each, command=("taskset", "-c", "0", *each.command)) for each in (ours, peer) if each]
        pairs = {"one processor": bound, **pairs}
    both = [ours, *([peer] if peer else [])]
    medians = measure(both, input_of(COMPARED, SHORT_KIND), options.runs)
    yield from rows_of("short, regular manifests", SHORT_KIND, medians, peer.name if peer else None)
    for label, contenders in pairs.items():
        for kind in KINDS:
            medians = measure(contenders, input_of(COMPARED, kind), options.runs)
            yield from rows_of(label, kind, medians, peer.name if peer else None)


def start_rows(options: argparse.Namespace) -> Iterator[str]:
    """Yield the rows about ten workloads against `import yaml`."""
    bare = Contender("import yaml", (str(Path(options.packwise).with_name("python")), "-c", "import yaml"))
    ours = Contender("packwise fn", (options.packwise, "fn"))
    for kind in KINDS:
        medians = measure([ours, bare], input_of(10, kind), 4 * options.runs)
        here, there = medians[ours.name], medians[bare.name]
        wall, cpu, memory = ratios_of(here, there)
        yield f"| {kind.name} | {here.wall:.3f} | {there.wall:.3f} | {wall:.2f} | {cpu:.2f} | {memory:.2f} |"


def render_rows(options: argparse.Namespace, peer: Contender | None) -> Iterator[str]:
    """Yield the rows about `packwise render` and about `kustomize build` with the Go function, on the same folder."""
    folder = CACHE / "render"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    names = [f"inference-{number:05}.yaml" for number in range(FILES)]
    for number, name in enumerate(names):
        (folder / name).write_text(workload(number), encoding="utf-8")
    (folder / "topology.yaml").write_text(configuration(), encoding="utf-8")
    contenders = [Contender("packwise render", (options.packwise, "render", str(folder)))]
    if peer is not None and KUSTOMIZE.exists():
        listed = "".join(f"- {name}\n" for name in names)
        (folder / "kustomization.yaml").write_text(
            f"resources:\n{listed}transformers:\n- noop.yaml\n", encoding="utf-8"
        )
        (folder / "noop.yaml").write_text(NOOP.format(peer.command[0]), encoding="utf-8")
        build = (str(KUSTOMIZE), "build", "--enable-alpha-plugins", "--enable-exec", str(folder))
        contenders.append(Contender("kustomize build", build))
    medians = measure(contenders, Path(os.devnull), options.runs)
    stick = medians.get("kustomize build")
    for name, sample in medians.items():
        ratio = f"{sample.wall / stick.wall:.3f}" if stick is not None and sample is not stick else ""
        yield f"| {name} | {sample.wall:.3f} | {sample.cpu:.3f} | {sample.memory / MIB:.0f} | {ratio} |"


def page(options: argparse.Namespace) -> str:
    """Return the whole page. Print each line when it is measured."""
    peer = go_function()
    floor = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * RSS_UNIT / MIB
    lines = [
        "# Performance\n",
        "`make bench` measures and writes this page. It runs packwise and each other program in turn. The figures",
        "are medians of whole processes, with all work of a run. `benchmarks/bench.py` describes the comparisons",
        "and the counting.\n",
        f"{datetime.now(UTC):%Y-%m-%d}; {machine()}.",
        f"{options.runs} runs of each, but one of 10,000 workloads and more. Each figure for memory is at least",
        f"{floor:.0f} MiB, the size of the script.\n",
    ]
    sections: list[tuple[str, tuple[str, ...], Iterator[str]]] = [
        ("`packwise fn` beside an empty Go function", FUNCTION_HEAD, function_rows(options, peer)),
        (f"{COMPARED:,} workloads, in other ways", MANNER_HEAD, manner_rows(options, peer)),
        ("Ten workloads beside `import yaml`", START_HEAD, start_rows(options)),
        (f"A folder of {FILES:,} files", RENDER_HEAD, render_rows(options, peer)),
        ("1,000 files, 50 of them with errors", CHECK_HEAD, iter(compare_check(options.packwise, runs=options.runs))),
        ("48 MiB of other tools' files", FOREIGN_HEAD, compare_foreign(options.packwise, runs=options.runs)),
        ("Large inputs", GROWING_HEAD, compare_growing(options.packwise)),
    ]
    for title, head, rows in sections:
        lines += [f"## {title}\n", "| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
        print("\n".join(lines[-3:]), flush=True)
        for row in rows:
            print(row, flush=True)
            lines.append(row)
        lines.append("")
    return "\n".join(lines)


def machine() -> str:
    """Return the processors, the system and the versions that affect the figures."""
    go = (
        subprocess.run(["go", "version"], capture_output=True, text=True, check=False).stdout.split()
        if shutil.which("go")
        else []
    )
    core = "with" if find_spec("krmfn_native") is not None else "without"
    python = f"Python {platform.python_version()}, krmfn {core} its native core"
    versions = f"{python}, {go[2] if len(go) > 2 else 'no Go'}"
    return f"{os.cpu_count()} processors ({platform.machine()}), {platform.system()} {platform.release()}; {versions}"


def main() -> None:
    """Measure, print and write the page."""
    parser = argparse.ArgumentParser(description="Times packwise beside what else does such work.")
    parser.add_argument("--sizes", default="10,1000,10000", help="numbers of PodCliqueSets (default: %(default)s)")
    parser.add_argument("--runs", type=int, default=5, help="counted runs of each (default: %(default)s)")
    parser.add_argument("--packwise", default=str(ROOT / ".venv/bin/packwise"), help="default: %(default)s")
    parser.add_argument("--large", action="store_true", help="100,000 PodCliqueSets too, of packwise alone")
    parser.add_argument("--only-function", action="store_true", help="`packwise fn` beside the Go function, no more")
    parser.add_argument("--write", action="store_true", help="write docs/performance.md")
    options = parser.parse_args()
    CACHE.mkdir(parents=True, exist_ok=True)
    if options.only_function:
        print("\n".join(function_rows(options, go_function())))
        return
    text = page(options)
    if options.write:
        PAGE.write_text(with_later_sections(text), encoding="utf-8")


def with_later_sections(text: str) -> str:
    """Return the page, followed by the later sections of the existing page."""
    before = PAGE.read_text("utf-8") if PAGE.exists() else ""
    at = before.find(f"\n{LATER}\n")
    return text if at < 0 else f"{text}{before[at:]}"


if __name__ == "__main__":
    main()
