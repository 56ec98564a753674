"""Measure time and memory of `packwise fleet`, and compare the output of all kinds of workers byte by byte.

    python benchmarks/fleet.py generate DIR [--clusters 2000] [--workloads 20] [--seed 0]
    python benchmarks/fleet.py measure DIR [--small DIR] [--sample 40] [--only check,render,dask,loop,memory] [--write]

`generate` writes the synthetic fleet of `fleet_files.py`. `measure` prints a table, and `--write` puts it into
docs/performance.md. Processor seconds include a run's child processes. Workers of Dask start before the run, so their
rows have only wall time. The figures of a warm run are relative to the cold run with the same number of processes.
`--small` is a fleet with a tenth of the clusters, for the memory of the driver.

Each render writes into a separate folder. The folders are removed at the end, because ext4 is slow for minutes after
many removals.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from time import perf_counter, sleep

sys.path.insert(0, str(Path(__file__).resolve().parent))
from bench import machine
from fleet_files import generate
from krmfn.hints import Record

__all__ = ["main"]

ROOT = Path(__file__).resolve().parents[1]
SCRATCH = ROOT / ".cache" / "bench" / "fleet"
PAGE = ROOT / "docs" / "performance.md"
BIN = Path(sys.executable).parent
TITLE = "## A fleet"
HEAD = ("", "processes", "wall s", "CPU s", "of cold, wall", "CPU", "driver, MiB", "bytes")
PORT = 18786
WARM_RUNS = 3
DROP_CACHES = Path("/proc/sys/vm/drop_caches")


class Run(Record):
    """Figures of one run: wall seconds, processor seconds, and the peak MiB of the driver alone.

    `bytes` is "the same" if the output equals the output of the first run of the same verb, and "" for that run.
    """

    seconds: float
    cpu: float
    memory: float
    bytes: str


class Bench:
    """Runs of `packwise fleet` on the packages in a folder. `loads` has the load of the machine before each run."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._environment = {**os.environ, "PATH": f"{kustomize().parent}{os.pathsep}{os.environ['PATH']}"}
        self._first: dict[str, str] = {}
        self.loads: list[float] = []

    def check(self, *options: str) -> Run:
        """Run `fleet check` once."""
        return self._runs(1, None, "check", "-o", "json", *options)[0]

    def checks(self, *options: str) -> list[Run]:
        """Run `fleet check` several times in a row."""
        return self._runs(WARM_RUNS, None, "check", "-o", "json", *options)

    def render(self, output: str, *options: str, meanwhile: Callable[[], None] | None = None) -> Run:
        """Run `fleet render` once, into the folder `output`."""
        return self._renders(1, output, options, meanwhile)[0]

    def renders(self, output: str, *options: str) -> list[Run]:
        """Run `fleet render` several times in a row, into the folder `output`.

        No other file is read between two runs.
        """
        return self._renders(WARM_RUNS, output, options)

    def _renders(
        self, times: int, output: str, options: tuple[str, ...], meanwhile: Callable[[], None] | None = None
    ) -> list[Run]:
        into = SCRATCH / "outputs" / output
        return self._runs(times, into, "render", "-o", str(into), "--report", "json", *options, meanwhile=meanwhile)

    def _runs(
        self, times: int, output: Path | None, *words: str, meanwhile: Callable[[], None] | None = None
    ) -> list[Run]:
        runs = [self._run(words, meanwhile) for _ in range(times)]
        digest = sha256((SCRATCH / "report.json").read_bytes()).hexdigest() if output is None else digest_of(output)
        is_first = words[0] not in self._first
        same = "the same" if self._first.setdefault(words[0], digest) == digest else "OTHER"
        return [run.replace(bytes="" if is_first else same) for run in runs]

    def _run(self, words: tuple[str, ...], meanwhile: Callable[[], None] | None) -> Run:
        command = [BIN / "packwise", "fleet", words[0], self._folder, *words[1:]]
        self.loads.append(os.getloadavg()[0])
        started, memory = perf_counter(), 0.0
        with (SCRATCH / "report.json").open("wb") as report, (SCRATCH / "stderr").open("wb") as errors:
            process = subprocess.Popen(command, stdout=report, stderr=errors, env=self._environment)
            if meanwhile is not None:
                meanwhile()
            while True:
                memory = max(memory, _peak(process.pid))
                number, status, usage = os.wait4(process.pid, os.WNOHANG)
                if number:
                    break
                sleep(0.02)
        seconds = perf_counter() - started
        if status != 0:
            # The time of a failed run means nothing.
            raise SystemExit(f"{command} ended with {status}: {(SCRATCH / 'stderr').read_text()[-2000:]}")
        return Run(seconds, usage.ru_utime + usage.ru_stime, memory, "")


def digest_of(folder: Path) -> str:
    """Return a digest of the paths and contents of all files in a folder."""
    digest = sha256()
    for file in sorted(folder.rglob("*")):
        if file.is_file():
            digest.update(f"{file.relative_to(folder)} {file.stat().st_size}\0".encode() + file.read_bytes())
    return digest.hexdigest()


def _peak(process: int) -> float:
    """Return the peak memory of a process so far, in MiB, without its child processes."""
    try:
        status = Path(f"/proc/{process}/status").read_text(encoding="ascii")
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmHWM:")), 0.0)


def kustomize() -> Path:
    """Return the kustomize of `make tools`, else the one on PATH. Raise SystemExit if there is none."""
    built = sorted((ROOT / ".cache" / "tools").glob("kustomize-v*/kustomize"))
    found = str(built[-1]) if built else shutil.which("kustomize")
    if found is None:
        raise SystemExit("kustomize must be on PATH, or built: make tools")
    return Path(found)


@contextmanager
def dask(workers: int) -> Generator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """Yield the address of a Dask scheduler on this machine, and its workers with one thread each."""
    address = f"tcp://127.0.0.1:{PORT}"
    environment = {**os.environ, "PATH": f"{kustomize().parent}{os.pathsep}{os.environ['PATH']}"}
    with ExitStack() as stack:
        log = stack.enter_context((SCRATCH / "dask.log").open("wb"))

        def start(*words: str) -> subprocess.Popen[bytes]:
            command = [BIN / "dask", *words, "--no-dashboard"]
            process = subprocess.Popen(command, stdout=log, stderr=log, env=environment)
            stack.callback(process.wait)
            stack.callback(process.kill)
            return process

        start("scheduler", "--host", "127.0.0.1", "--port", str(PORT))
        more = ["--nthreads", "1", "--no-nanny", "--local-directory", str(SCRATCH)]
        yield address, [start("worker", address, *more) for _ in range(workers)]


# --- The rows of the table ---


def _row(name: str, processes: str, run: Run, cold: Run | None = None, *, by_clock: bool = False) -> str:
    """Return the row of a run. Its figures are also given as a share of `cold`."""
    shares = ("", "") if cold is None else _shares(run, cold)
    cpu = "" if by_clock else f"{run.cpu:.1f}"
    return _line(name, processes, f"{run.seconds:.1f}", cpu, *shares, f"{run.memory:.0f}", run.bytes)


def _median(runs: list[Run]) -> Run:
    """Return the run with the median time. If the output of any run differs, the returned run reports this."""
    run = sorted(runs, key=lambda run: run.seconds)[len(runs) // 2]
    return run.replace(bytes=next((each.bytes for each in runs if each.bytes != "the same"), run.bytes))


def _shares(run: Run, whole: Run) -> tuple[str, str]:
    return f"{100 * run.seconds / whole.seconds:.1f} %", f"{100 * run.cpu / whole.cpu:.1f} %"


def _line(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def check_rows(bench: Bench) -> Iterator[str]:
    """Yield the rows about `fleet check` with one process and with two."""
    for jobs in ("1", "2"):
        options = ("--jobs", jobs, "--cache", str(SCRATCH / f"check-{jobs}"))
        cold = bench.check(*options)
        yield _row("`check`, cold", jobs, cold)
        yield _row("`check`, warm", jobs, _median(bench.checks(*options)), cold)


def render_rows(bench: Bench) -> Iterator[str]:
    """Yield the rows about `fleet render` with one process and with two.

    Each renders into a new folder, into the same folder again, and from the cache into another folder.
    """
    for jobs in ("1", "2"):
        options = ("--jobs", jobs, "--cache", str(SCRATCH / f"render-{jobs}"))
        cold = bench.render(f"cold-{jobs}", *options)
        yield _row("`render`, cold", jobs, cold)
        # The disk is still writing the files of the cold run, and the files of the packages are no longer in memory.
        bench.render(f"cold-{jobs}", *options)
        again = _median(bench.renders(f"cold-{jobs}", *options))
        yield _row("`render`, warm, into the folder that is up to date", jobs, again, cold)
        if os.access(DROP_CACHES, os.W_OK):
            os.sync()
            DROP_CACHES.write_text("3")
            from_disk = bench.render(f"cold-{jobs}", *options)
            yield _row("the same, after the system forgot all files", jobs, from_disk, cold)
        yield _row("`render`, warm, into an empty folder", jobs, bench.render(f"warm-{jobs}", *options), cold)


def dask_rows(bench: Bench) -> Iterator[str]:
    """Yield the rows about `fleet render` on workers of Dask. In the second run, one worker is killed halfway."""
    with dask(2) as (address, _):
        both = bench.render("dask", "--no-cache", "--scheduler", address)
    yield _row("`render`, cold, Dask", "2 workers", both, by_clock=True)
    with dask(2) as (address, workers):

        def kill_halfway() -> None:
            sleep(both.seconds / 2)
            workers[0].send_signal(signal.SIGKILL)

        survived = bench.render("dask-killed", "--no-cache", "--scheduler", address, meanwhile=kill_halfway)
    yield _row("the same, one worker killed halfway", "2 workers", survived, by_clock=True)


def loop_rows(folder: Path, sample: int) -> Iterator[str]:
    """Yield the row about a shell loop of `kustomize build` over all overlays, extrapolated from a sample."""
    overlays = sorted(folder.glob("clusters/*/*/kustomization.yaml"))
    chosen = overlays[:: max(1, len(overlays) // sample)][:sample]
    environment = {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}
    words = [kustomize(), "build", "--enable-alpha-plugins", "--enable-exec"]
    started, before = perf_counter(), os.times()
    for each in chosen:
        subprocess.run([*words, each.parent], stdout=subprocess.DEVNULL, env=environment, check=True)
    after = os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    times = [f"{spent / len(chosen) * len(overlays):.0f}" for spent in (perf_counter() - started, cpu)]
    name = f"`kustomize build` in a shell loop, {len(overlays):,} overlays, extrapolated from {len(chosen)}"
    yield _line(name, "1", *times, "", "", "", "")


def memory_rows(bench: Bench, folder: Path, few: Path) -> Iterator[str]:
    """Yield the rows about `fleet render` with all packages and with a tenth of them."""
    for each, at in ((Bench(few), few), (bench, folder)):
        run = each.render(f"memory-{at.name}", "--jobs", "2", "--no-cache")
        yield _row(f"`render`, cold, {_packages(at):,} packages", "2", run)


def _packages(folder: Path) -> int:
    return len(list(folder.glob("clusters/*/*")))


def measure(options: argparse.Namespace) -> Iterator[str]:
    """Yield the lines of the section as soon as they are measured."""
    folder: Path = options.folder
    only: frozenset[str] = frozenset(options.only.split(","))
    bench = Bench(folder)
    files = sum(1 for path in folder.rglob("*") if path.is_file())
    yield f"{TITLE}\n"
    yield f"The table shows `packwise fleet` on {_packages(folder):,} packages in {files:,} files."
    yield "`benchmarks/fleet.py` generates them and measures one run of each row. For warm runs without a change it"
    yield "shows the median of three. The driver is the process that you start, without its workers."
    yield f"{datetime.now(UTC):%Y-%m-%d}; {machine()}.\n"
    yield _line(*HEAD)
    yield "|" + "---|" * len(HEAD)
    rows: dict[str, Callable[[], Iterator[str]]] = {
        "check": lambda: check_rows(bench),
        "render": lambda: render_rows(bench),
        "dask": lambda: dask_rows(bench),
        "loop": lambda: loop_rows(folder, options.sample),
        "memory": lambda: memory_rows(bench, folder, options.small) if options.small else iter(()),
    }
    for name, measured in rows.items():
        if name in only:
            yield from measured()
    loads = f"{min(bench.loads):.1f} to {max(bench.loads):.1f}" if bench.loads else "not looked at"
    yield f"\nLoad of the machine before each run, by all programs: {loads}.\n"


def with_section(page: str, section: str) -> str:
    """Return the page with `section` instead of the old section, or with `section` at the end."""
    at = page.find(f"{TITLE}\n")
    if at < 0:
        return f"{page}\n{section}"
    end = re.compile(r"^## ", re.MULTILINE).search(page, at + len(TITLE))
    return page[:at] + section + (page[end.start() :] if end else "")


def main() -> None:
    """Generate a fleet, or measure a fleet."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    generating = verbs.add_parser("generate")
    generating.add_argument("folder", type=Path)
    generating.add_argument("--clusters", type=int, default=2000)
    generating.add_argument("--workloads", type=int, default=20)
    generating.add_argument("--seed", type=int, default=0)
    measuring = verbs.add_parser("measure")
    measuring.add_argument("folder", type=Path)
    measuring.add_argument("--small", type=Path)
    measuring.add_argument("--sample", type=int, default=40)
    measuring.add_argument("--only", default="check,render,dask,loop,memory", help="default: %(default)s")
    measuring.add_argument("--write", action="store_true", help="write docs/performance.md")
    options = parser.parse_args()
    if options.verb == "generate":
        written = generate(options.folder, options.clusters, options.workloads, options.seed)
        print(f"{options.folder}: {written:,} files")
        return
    shutil.rmtree(SCRATCH, ignore_errors=True)
    SCRATCH.mkdir(parents=True)
    lines: list[str] = []
    try:
        for line in measure(options):
            print(line, flush=True)
            lines.append(f"{line}\n")
    finally:
        shutil.rmtree(SCRATCH, ignore_errors=True)
    if options.write:
        PAGE.write_text(with_section(PAGE.read_text("utf-8"), "".join(lines)), encoding="utf-8")


if __name__ == "__main__":
    main()
