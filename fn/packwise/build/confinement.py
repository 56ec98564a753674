"""Build programs run in isolation: no network, no other files, and limits on time, memory and output.

Landlock removes access to files, and to TCP since Linux 6.7. It needs no privileges and applies to a thread and its
child processes. A separate thread therefore restricts itself and starts the program. `unshare` makes a network
namespace without a network. It needs root or user namespaces, and some systems and containers allow neither. Source:
landlock(7), unshare(1), prlimit(2), include/uapi/linux/landlock.h.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import selectors
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from struct import pack
from tempfile import TemporaryDirectory
from threading import Thread

from krmfn.hints import TYPE_CHECKING, Record
from packwise.inputs.git import program_on_path

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

_CREATE, _ADD, _RESTRICT = 444, 445, 446
"""Numbers of Landlock's system calls. They are the same on all processors that Python supports."""

_VERSION = 1
_PATH_BENEATH = 1
_NO_NEW_PRIVILEGES = 38

_EXECUTE, _WRITE, _READ, _LIST = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_HANDLED = {1: 13, 2: 14, 3: 15, 5: 16}
"""The number of file rights that Landlock supports, by its version."""

_NETWORK_SINCE, _SCOPES_SINCE = 4, 6
_BIND_AND_CONNECT = 0b11
_SOCKETS_AND_SIGNALS = 0b11

_LIBRARIES = ("/lib", "/lib32", "/lib64", "/usr/lib", "/usr/lib32", "/usr/lib64", "/nix/store", "/gnu/store")
"""Folders with the libraries of programs. They contain no files of users."""

_LIBRARY_CACHE = "/etc/ld.so.cache"

_SIZE_OF_HUGE_PAGES = "/sys/kernel/mm/transparent_hugepage/hpage_pmd_size"
"""A file that the runtime of Go reads at its start."""

_NOWHERE = "http://127.0.0.1:9"


class Bounds(Record):
    """The limits of one run, as documented in docs/explanation/security.md."""

    processor_seconds: int = 30
    seconds: int = 60
    memory: int = 2 << 30
    output: int = 64 << 20


BOUNDS = Bounds()
_MAX_COMPLAINT = 1 << 20
"""The largest number of stderr bytes that are kept from a program."""


class Confinement(Record):
    """The confinement of a program: `wrapper` is a command that starts it, and `landlock` restricts its access to
    files.
    """

    wrapper: tuple[str, ...] = ()
    landlock: bool = False


NONE = Confinement()


class Program(Record):
    """A program to run: its path, the programs that it may start, and its confinement on this system."""

    path: str
    starts: tuple[str, ...] = ()
    confinement: Confinement = NONE


class ProgramError(Exception):
    """Raised if a program cannot start because of `cause`, exceeds a limit, or fails with an error text.

    `is_failure` is True if the program itself fails.
    """

    def __init__(
        self, message: str, complaint: str = "", *, cause: OSError | None = None, is_failure: bool = False
    ) -> None:
        super().__init__(message)
        self.complaint = complaint
        self.cause = cause
        self.is_failure = is_failure


def confinements() -> list[Confinement]:
    """Return the confinements that may work on this system, the tightest first and `NONE` last.

    Only a trial shows if a confinement works.
    """
    if sys.platform != "linux":
        return [NONE]
    unshare = program_on_path("unshare")
    flags = [("-U", "-n"), ("-n",)]
    wrappers = [] if unshare is None else [(unshare, *each, "--") for each in flags]
    landlock = [Confinement(wrapper, landlock=True) for wrapper in (*wrappers, ())] if _landlock_version() else []
    return [*landlock, *[Confinement(wrapper) for wrapper in wrappers], NONE]


def environment(folder: str | None = None) -> dict[str, str]:
    """Return the environment variables of a confined program.

    It has none of the user's variables, an empty home, temporary files in `folder`, and unreachable proxies.
    """
    at = {} if folder is None else {"TMPDIR": folder}
    return {
        "PATH": "",
        "HOME": os.devnull if folder is None else folder,
        "LC_ALL": "C",
        **dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), _NOWHERE),
        "NO_PROXY": "",
        **at,
    }


def run(
    program: Program,
    words: Sequence[str],
    *,
    reads: Sequence[Path] = (),
    writes: Path | None = None,
    cwd: Path | None = None,
    bounds: Bounds = BOUNDS,
) -> bytes:
    """Return the output of a program that may only read `reads` and write in `writes`.

    Raise ProgramError if it fails.
    """
    env = environment(None if writes is None else str(writes))
    name = Path(program.path).name
    try:
        process = _start(program, words, _Files(tuple(reads), writes, cwd), env)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise ProgramError(f"cannot run {program.path}: {reason}", cause=error) from None
    try:
        _limit(process, bounds)
        output, complaint, exceeded = _communicate(process, bounds)
    finally:
        # Also on Ctrl-C, so that no process outlives packwise.
        with suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
        process.kill()
        process.wait()
        for pipe in (process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()
    text = complaint.decode("utf-8", "replace").strip()
    if exceeded:
        raise ProgramError(f"{name} {exceeded}")
    if process.returncode == -signal.SIGXCPU or (process.returncode == -signal.SIGKILL and not text):
        raise ProgramError(f"{name} needs more than {bounds.processor_seconds} seconds of processor time")
    if process.returncode != 0 and any(each in text for each in _OUT_OF_MEMORY):
        raise ProgramError(f"{name} needs more than {bounds.memory >> 30} GiB of memory")
    if process.returncode != 0:
        raise ProgramError(f"{name} fails", text, is_failure=True)
    return output


_OUT_OF_MEMORY = (
    "fatal error: runtime: out of memory",
    "fatal error: runtime: cannot allocate memory",
    "pthread_create failed: Resource temporarily unavailable",
    "failed to create new OS thread",
    "cannot map pages in arena",
    "SIGABRT: abort",
)
"""Texts of Go's runtime if it cannot allocate memory."""


class _Files(Record):
    """The folders that a program may read, the folder that it may write, and its working folder."""

    reads: tuple[Path, ...]
    writes: Path | None
    cwd: Path | None


def _start(program: Program, words: Sequence[str], folders: _Files, env: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """Return the process of a started program, with pipes for its output. Raise OSError if it cannot start."""
    started: list[subprocess.Popen[bytes] | OSError] = []
    confinement = program.confinement

    def start() -> None:
        try:
            if confinement.landlock:
                files = [Path(each) for each in (program.path, *program.starts, *confinement.wrapper[:1])]
                _restrict_thread(files, folders.reads, folders.writes)
            process = subprocess.Popen(  # noqa: S603
                [*confinement.wrapper, program.path, *words],
                cwd=folders.cwd,
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                # A separate process group ends with the program, and only packwise gets Ctrl-C.
                start_new_session=True,
            )
            started.append(process)
        except OSError as error:
            started.append(error)

    thread = Thread(target=start)
    thread.start()
    thread.join()
    (process,) = started
    if isinstance(process, OSError):
        raise process
    return process


def _limit(process: subprocess.Popen[bytes], bounds: Bounds) -> None:
    """Limit the resources of the process. Only Linux can limit another process."""
    if sys.platform != "linux":
        return
    import resource

    limits = {
        resource.RLIMIT_CPU: bounds.processor_seconds,
        # Limit only the writable memory, because Go reserves many addresses and uses few of them.
        resource.RLIMIT_DATA: bounds.memory,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_FSIZE: bounds.output,
    }
    for kind, most in limits.items():
        with contextlib.suppress(OSError, ValueError):
            resource.prlimit(process.pid, kind, (most, most))


def _communicate(process: subprocess.Popen[bytes], bounds: Bounds) -> tuple[bytes, bytes, str]:
    """Return the process's stdout, its stderr, and the exceeded limit or ""."""
    until = time.monotonic() + bounds.seconds
    output, complaint = bytearray(), bytearray()
    with selectors.DefaultSelector() as selector:
        for pipe, kept, most in (
            (process.stdout, output, bounds.output),
            (process.stderr, complaint, _MAX_COMPLAINT),
        ):
            if pipe is not None:
                selector.register(pipe, selectors.EVENT_READ, (pipe.fileno(), kept, most))
        while selector.get_map():
            left = until - time.monotonic()
            ready = selector.select(left) if left > 0 else []
            if not ready:
                return b"", b"", f"runs longer than {bounds.seconds} seconds"
            for key, _ in ready:
                number, kept, most = key.data
                piece = os.read(number, 1 << 16)
                if not piece:
                    selector.unregister(key.fileobj)
                elif len(kept) + len(piece) <= most:
                    kept += piece
                elif kept is output:
                    return b"", b"", f"writes more than {bounds.output >> 20} MiB"
    try:
        process.wait(max(until - time.monotonic(), 1))
    except subprocess.TimeoutExpired:
        return b"", b"", f"runs longer than {bounds.seconds} seconds"
    return bytes(output), bytes(complaint), ""


@cache
def confine(path: str, version_words: tuple[str, ...], starts: tuple[str, ...] = ()) -> tuple[Program, str]:
    """Return a program in the tightest confinement that lets it print its version, and the printed version.

    A looser confinement is used if libraries are in other folders, or if a container forbids namespaces. Raise
    ProgramError if none works.
    """
    for confinement in confinements():
        program = Program(path, starts, confinement)
        try:
            with TemporaryDirectory(prefix="packwise-build-", ignore_cleanup_errors=True) as folder:
                version = run(program, version_words, writes=Path(folder)).decode("utf-8", "replace").strip()
        except ProgramError:
            if confinement == NONE:
                raise
        else:
            return program, version
    raise ProgramError(f"cannot run {path}")


def _landlock_version() -> int:
    """Return the version of Landlock on this system, or 0 without Landlock."""
    return max(0, _call(_CREATE, None, 0, _VERSION))


def _restrict_thread(files: Sequence[Path], folders: Sequence[Path], written: Path | None) -> None:
    """Restrict this thread and its child processes. They may execute `files`, read `folders` and libraries, and write
    in `written`.

    Raise OSError if Landlock fails.
    """
    version = _landlock_version()
    rights = (1 << max(count for since, count in _HANDLED.items() if since <= max(version, 1))) - 1
    fields = [rights]
    if version >= _NETWORK_SINCE:
        fields.append(_BIND_AND_CONNECT)
    if version >= _SCOPES_SINCE:
        fields.append(_SOCKETS_AND_SIGNALS)
    attributes = pack(f"={len(fields)}Q", *fields)
    ruleset = _check_answer(_call(_CREATE, attributes, len(attributes), 0))
    try:
        for file in (*files, Path(_LIBRARY_CACHE)):
            _allow(ruleset, file, _EXECUTE | _READ)
        for folder in _LIBRARIES:
            _allow(ruleset, Path(folder), _EXECUTE | _READ | _LIST)
        for folder in folders:
            _allow(ruleset, folder, _READ | _LIST)
        if written is not None:
            _allow(ruleset, written, rights & ~_EXECUTE)
        _allow(ruleset, Path(_SIZE_OF_HUGE_PAGES), _READ)
        _allow(ruleset, Path(os.devnull), _READ | _WRITE)
        libc = ctypes.CDLL(None, use_errno=True)
        words = [ctypes.c_ulong(word) for word in (_NO_NEW_PRIVILEGES, 1, 0, 0, 0)]
        _check_answer(libc.prctl(*words))
        _check_answer(_call(_RESTRICT, ruleset, 0))
    finally:
        os.close(ruleset)


def _allow(ruleset: int, path: Path, rights: int) -> None:
    """Allow access to `path` and everything below, if it exists."""
    with suppress(FileNotFoundError), _open_path(path) as number:
        _check_answer(_call(_ADD, ruleset, _PATH_BENEATH, pack("=Qi", rights, number), 0))


@contextmanager
def _open_path(path: Path) -> Generator[int]:
    number = os.open(path, getattr(os, "O_PATH", 0) | os.O_CLOEXEC)
    try:
        yield number
    finally:
        os.close(number)


def _call(number: int, *words: int | bytes | None) -> int:
    """Return the result of a system call, or -1 if it fails."""
    libc = ctypes.CDLL(None, use_errno=True)
    typed = [ctypes.c_long(word) if isinstance(word, int) else word for word in words]
    answer: int = libc.syscall(ctypes.c_long(number), *typed)
    return answer


def _check_answer(answer: int) -> int:
    if answer < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return answer
