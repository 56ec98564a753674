"""kustomize, run where it reaches nothing: shut in by Linux, without a network or other files.

Landlock takes away files, and TCP since Linux 6.7; it needs no rights and holds for a thread and what that starts. So a
thread of its own restricts itself and starts the program. A network namespace without any network is `unshare`'s to
make, which needs root or namespaces of users; some systems and containers allow neither. Source: landlock(7),
unshare(1), include/uapi/linux/landlock.h.

The files are a copy of exactly those that the kustomization names, without links, in a folder of their own. Functions
and plugins are switched off, PATH is empty, so that no git is there to fetch with, and HTTP goes to a proxy that does
not exist. Where the system can, it is shut in as well: it has no network, and may read nothing else.

Source: kustomize v5.8.2, `build --help`, internal/loader; net/http, ProxyFromEnvironment.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from struct import pack
from tempfile import TemporaryDirectory
from threading import Thread

from krmfn.hints import TYPE_CHECKING
from krmfn.record import Record
from packwise.fleet.kustomization import as_json
from packwise.inputs.git import program_on_path

if TYPE_CHECKING:
    from collections.abc import Collection, Generator, Mapping, Sequence

    from krmfn.value import Value

_CREATE, _ADD, _RESTRICT = 444, 445, 446
"""System calls, of the same numbers on all processors that Python runs on."""

_VERSION = 1
_PATH_BENEATH = 1
_NO_NEW_PRIVILEGES = 38

_EXECUTE, _WRITE, _READ, _LIST = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_HANDLED = {1: 13, 2: 14, 3: 15, 5: 16}
"""Number of rights to files that Landlock knows, by the version from which it does."""

_NETWORK_SINCE, _SCOPES_SINCE = 4, 6
_BIND_AND_CONNECT = 0b11
_SOCKETS_AND_SIGNALS = 0b11

_LIBRARIES = ("/lib", "/lib32", "/lib64", "/usr/lib", "/usr/lib32", "/usr/lib64", "/nix/store", "/gnu/store")
"""Where programs have their libraries: no file of a user is there."""

_LIBRARY_CACHE = "/etc/ld.so.cache"


class Confinement(Record):
    """The confinement of a program: through the program `wrapper`, and by Landlock."""

    wrapper: tuple[str, ...] = ()
    landlock: bool = False


NONE = Confinement()


def confinements() -> list[Confinement]:
    """The confinements that may hold on this system, the tightest first and `NONE` last: only a try tells whether one
    does.
    """
    if sys.platform != "linux":
        return [NONE]
    unshare = program_on_path("unshare")
    flags = [("-U", "-n"), ("-n",)]
    wrappers = [] if unshare is None else [(unshare, *each, "--") for each in flags]
    landlock = [Confinement(wrapper, landlock=True) for wrapper in (*wrappers, ())] if _landlock_version() else []
    return [*landlock, *[Confinement(wrapper) for wrapper in wrappers], NONE]


def start(
    words: Sequence[str], confinement: Confinement, cwd: Path | None, env: Mapping[str, str]
) -> subprocess.Popen[bytes]:
    """Starts a program with pipes for its output, which may read files in `cwd` alone. Raises OSError."""
    started: list[subprocess.Popen[bytes] | OSError] = []

    def run() -> None:
        try:
            if confinement.landlock:
                files = [Path(words[0]), *[Path(each) for each in confinement.wrapper[:1]]]
                _restrict_thread(files, [cwd] if cwd is not None else [])
            process = subprocess.Popen(  # noqa: S603
                [*confinement.wrapper, *words],
                cwd=cwd,
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
            started.append(process)
        except OSError as error:
            started.append(error)

    thread = Thread(target=run)
    thread.start()
    thread.join()
    (process,) = started
    if isinstance(process, OSError):
        raise process
    return process


def _landlock_version() -> int:
    """The version of Landlock here; 0 where there is none."""
    return max(0, _call(_CREATE, None, 0, _VERSION))


def _restrict_thread(files: Sequence[Path], folders: Sequence[Path]) -> None:
    """Lets this thread, and what it starts, execute `files`, and read `folders` and libraries. Raises OSError."""
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
        _allow(ruleset, Path(os.devnull), _READ | _WRITE)
        libc = ctypes.CDLL(None, use_errno=True)
        words = [ctypes.c_ulong(word) for word in (_NO_NEW_PRIVILEGES, 1, 0, 0, 0)]
        _check_answer(libc.prctl(*words))
        _check_answer(_call(_RESTRICT, ruleset, 0))
    finally:
        os.close(ruleset)


def _allow(ruleset: int, path: Path, rights: int) -> None:
    """Allows what is at `path`, where anything is, and what is below."""
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
    """A system call; -1 where it fails."""
    libc = ctypes.CDLL(None, use_errno=True)
    typed = [ctypes.c_long(word) if isinstance(word, int) else word for word in words]
    answer: int = libc.syscall(ctypes.c_long(number), *typed)
    return answer


def _check_answer(answer: int) -> int:
    if answer < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return answer


_ADVICE = (
    "must be on PATH to build kustomizations: https://kubectl.docs.kubernetes.io/installation/kustomize, or "
    "go install sigs.k8s.io/kustomize/kustomize/v5@v5.8.2"
)
_NO_FOLDER = "TMPDIR must name a folder that can be written, with room for what kustomize builds"
_MOST_SECONDS = 120
_NOWHERE = "http://127.0.0.1:9"

_LOCAL = b"config.kubernetes.io/local-config"
_KEPT = b"config.kubernetes.io/local-confih"
"""In the place of the annotation for which a build drops objects: a function within the build sees them still."""


class KustomizeError(Exception):
    """Kustomize is not there, or refuses a kustomization; the text is its own."""


@cache
def kustomize_version() -> str:
    """The version of kustomize on PATH. Raises KustomizeError where there is none."""
    return try_out(kustomize_program())[0]


def build(files: Mapping[str, bytes], path: str, kustomization: Value, data: Collection[str] = ()) -> bytes:
    """The output of kustomize for `files`, in which `kustomization` takes the place of the one at `path`.

    `data` are the paths of files whose content goes into ConfigMaps and Secrets, and so into their names. Objects that
    a build would drop last, those of local configuration, are among the answer. Raises KustomizeError.
    """
    program = kustomize_program()
    confinement = confinement_of(program)
    try:
        with TemporaryDirectory(prefix="packwise-fleet-", ignore_cleanup_errors=True) as folder:
            top = Path(folder).resolve()
            written = as_json(kustomization).encode()
            for name, content in {**files, path: written}.items():
                at = top / name
                at.parent.mkdir(parents=True, exist_ok=True)
                # Where a file system takes two names for one, the second would replace what the first said.
                with at.open("xb") as file:
                    file.write(content if name in data else content.replace(_LOCAL, _KEPT))
            built = _run(program, ["build", str((top / path).parent)], top, confinement)
    except OSError as error:
        raise KustomizeError(f'{_NO_FOLDER}; got "{error.strerror or error}"') from None
    return built.replace(_KEPT, _LOCAL)


def kustomize_program() -> str:
    """Where kustomize is. Raises KustomizeError where it is not on PATH."""
    program = program_on_path("kustomize")
    if program is None:
        raise KustomizeError(f"kustomize {_ADVICE}")
    return program


@cache
def confinement_of(program: str) -> Confinement:
    """The confinement of the program on this system."""
    return try_out(program)[1]


def try_out(program: str) -> tuple[str, Confinement]:
    """The version of the program, and the tightest confinement in which it tells that. Raises KustomizeError.

    Its libraries may stand elsewhere, or a container may allow no namespaces: then it must run without.
    """
    for confinement in confinements():
        try:
            version = _run(program, ["version"], None, confinement).decode("utf-8", "replace").strip()
        except KustomizeError:
            if confinement == NONE:
                raise
        else:
            return version, confinement
    raise KustomizeError(f"kustomize {_ADVICE}")


def _run(program: str, words: list[str], top: Path | None, confinement: Confinement) -> bytes:
    try:
        started = start([program, *words], confinement, top, program_environment())
    except OSError as error:
        raise KustomizeError(f'{program} must be a program that runs here; got "{error.strerror or error}"') from None
    try:
        with started as process:
            try:
                output, complaint = process.communicate(timeout=_MOST_SECONDS)
            except BaseException:
                # Ctrl-C too: nothing outlives packwise.
                process.kill()
                raise
    except subprocess.TimeoutExpired:
        raise KustomizeError(f"kustomize must build it within {_MOST_SECONDS} seconds") from None
    if process.returncode != 0:
        raise KustomizeError(_complaint(complaint, top))
    return output


def _complaint(complaint: bytes, top: Path | None) -> str:
    """The complaint of kustomize, by the paths of the repository."""
    text = complaint.decode("utf-8", "replace").strip().removeprefix("Error: ")
    if top is not None:
        text = text.replace(f"{top}{os.sep}", "").replace(str(top), ".")
    return text or "kustomize ends without a word"


def program_environment() -> dict[str, str]:
    """The environment variables of kustomize: nothing of the user's, and proxies that lead nowhere."""
    return {
        "PATH": "",
        "HOME": os.devnull,
        "LC_ALL": "C",
        **dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), _NOWHERE),
        "NO_PROXY": "",
    }
