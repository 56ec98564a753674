"""A build of kustomize that can run nothing and reach nothing but what it is given.

The files are a copy of exactly those that the kustomization names, without links, in a folder of their own. Functions
and plugins are switched off, PATH is empty, so that no git is there to fetch with, and HTTP goes to a proxy that does
not exist. Where the system can, it is shut in as well: it has no network, and may read nothing else.

Source: kustomize v5.8.2, `build --help`, internal/loader; net/http, ProxyFromEnvironment.
"""

from __future__ import annotations

import os
import subprocess
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from krmfn.hints import TYPE_CHECKING
from packwise.cli.fleet.confinement import NONE, Confinement, confinements, start
from packwise.cli.git import program_on_path
from packwise.commands.fleet.kustomization import as_json

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from krmfn.value import Value

__all__ = [
    "KustomizeError",
    "build",
    "confinement_of",
    "kustomize_program",
    "kustomize_version",
    "program_environment",
    "try_out",
]

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
    """What kustomize builds of `files`, in which `kustomization` takes the place of the one at `path`.

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
    """How the program is shut in on this system."""
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
    """What kustomize says, by the paths of the repository."""
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
