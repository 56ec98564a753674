"""kustomize in isolation for a fleet, on a copy of exactly the files that a kustomization names.

The copy is in a separate folder without links. Functions and plugins are disabled. PATH is empty, so that kustomize
finds no git to fetch with. HTTP uses a proxy that does not exist. If the system permits, the program is also confined:
it has no network and can read only the copy.

Source: kustomize v5.8.2, `build --help`, internal/loader; net/http, ProxyFromEnvironment.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from krmfn.hints import TYPE_CHECKING
from packwise.build.confinement import (
    NONE,
    Bounds,
    Confinement,
    Program,
    ProgramError,
    confinements,
    run,
)
from packwise.build.kustomization_files import as_json
from packwise.build.kustomizations import kustomize_complaint
from packwise.inputs.git import program_on_path

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from krmfn.value import Value

_ADVICE = (
    "is not on PATH, and packwise needs it to build kustomizations: "
    "https://kubectl.docs.kubernetes.io/installation/kustomize, or "
    "go install sigs.k8s.io/kustomize/kustomize/v5@v5.8.2"
)
_NO_FOLDER = "cannot write the files of a build to the folder in TMPDIR"
_BOUNDS = Bounds(processor_seconds=120, seconds=120)
"""Limits of one build. A fleet runs many builds at the same time."""

_LOCAL = b"config.kubernetes.io/local-config"
_KEPT = b"config.kubernetes.io/local-confih"
"""Replaces the annotation that makes a build drop an object. Functions within the build then still get the object."""


class KustomizeError(Exception):
    """Raised if kustomize is missing or fails. If it refuses a kustomization, the text is its own message."""


@cache
def kustomize_version() -> str:
    """Return the version of kustomize on PATH. Raise KustomizeError if it is missing."""
    return try_out(kustomize_program())[0]


def build(files: Mapping[str, bytes], path: str, kustomization: Value, data: Collection[str] = ()) -> bytes:
    """Return kustomize's output for `files`. `kustomization` replaces the kustomization at `path`.

    `data` are the paths of files with content for ConfigMaps and Secrets. This content stays unchanged, because
    generated names depend on it. The output includes objects of local configuration, which a build would drop at the
    end. Raise KustomizeError if the build fails.
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
                # If a file system treats two names as one, the second file would overwrite the first.
                with at.open("xb") as file:
                    file.write(content if name in data else content.replace(_LOCAL, _KEPT))
            built = _run(program, ["build", str((top / path).parent)], top, confinement)
    except OSError as error:
        raise KustomizeError(f"{_NO_FOLDER}: {error.strerror or error}") from None
    return built.replace(_KEPT, _LOCAL)


def kustomize_program() -> str:
    """Return the path of kustomize. Raise KustomizeError if it is not on PATH."""
    program = program_on_path("kustomize")
    if program is None:
        raise KustomizeError(f"kustomize {_ADVICE}")
    return program


@cache
def confinement_of(program: str) -> Confinement:
    """Return the confinement of the program on this system."""
    return try_out(program)[1]


def try_out(program: str) -> tuple[str, Confinement]:
    """Return the program's version, and the tightest confinement in which the program runs.

    The program runs unconfined if no confinement works. Its libraries may be outside the system's folders, or a
    container may forbid namespaces. Raise KustomizeError if the program does not run.
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
    reads = () if top is None else (top,)
    try:
        return run(Program(program, (), confinement), words, reads=reads, cwd=top, bounds=_BOUNDS)
    except ProgramError as error:
        if error.cause is not None:
            reason = error.cause.strerror or error.cause
            raise KustomizeError(f"cannot run {program}: {reason}") from None
        if not error.is_failure:
            raise KustomizeError(str(error)) from None
        raise KustomizeError(_complaint(error.complaint, top)) from None


def _complaint(text: str, top: Path | None) -> str:
    """Return kustomize's message, with paths of the repository instead of paths of the copy."""
    text = kustomize_complaint(text)
    if top is not None:
        text = text.replace(f"{top}{os.sep}", "").replace(str(top), ".")
    return text or "kustomize fails without a message"
