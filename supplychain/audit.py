"""Look up known vulnerabilities of the locked libraries with pip-audit: `make audit`.

The exit code is 0 if every library was looked up and none is vulnerable. It is 1 if some are vulnerable, and 2 if some
could not be looked up.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable
from typing import Any, NamedTuple

from supplychain.locks import ROOT

__all__ = ["LOCKS", "Audit", "main", "read_report", "verdict"]

LOCKS = ("requirements.lock", "requirements-build.lock", "requirements-native.lock", "requirements-dev.lock")


class Audit(NamedTuple):
    """The answer of pip-audit for one lock: the number of looked-up libraries, the vulnerable libraries and the
    failures.
    """

    lock: str
    audited: int
    vulnerable: tuple[str, ...]
    failures: tuple[str, ...]


def read_report(lock: str, stdout: str, stderr: str) -> Audit:
    """Return the answer of `pip-audit --format json`.

    If pip-audit prints nothing, it did not reach the database, and the answer has this failure.
    """
    if not stdout.strip():
        reason = (stderr.strip().splitlines() or ["pip-audit printed nothing"])[-1]
        return Audit(lock, 0, (), (f"the database was not reached: {reason}",))
    libraries: list[dict[str, Any]] = json.loads(stdout)["dependencies"]
    vulnerable = [
        f"{library['name']} {library['version']}: {found['id']}, fixed in {', '.join(found['fix_versions']) or 'none'}"
        for library in libraries
        for found in library.get("vulns", ())
    ]
    failures = [f"{library['name']}: {library['skip_reason']}" for library in libraries if "skip_reason" in library]
    return Audit(lock, len(libraries) - len(failures), tuple(vulnerable), tuple(failures))


def verdict(audits: Iterable[Audit]) -> tuple[int, str]:
    """Return the exit code and the text for all audits. The text names each vulnerable library and each failure."""
    lines: list[str] = []
    code = 0
    for audit in audits:
        lines.append(f"{audit.lock}: {audit.audited} looked up, {len(audit.vulnerable)} vulnerable")
        lines.extend(f"  vulnerable: {each}" for each in audit.vulnerable)
        lines.extend(f"  NOT AUDITED: {each}" for each in audit.failures)
        if audit.vulnerable:
            code = 1
        elif audit.failures and code == 0:
            code = 2
    return code, "".join(f"{line}\n" for line in lines)


def _ask(lock: str, service: str) -> Audit:
    words = ["--disable-pip", "--no-deps", "--require-hashes", "--progress-spinner", "off", "--format", "json"]
    command = [sys.executable, "-m", "pip_audit", *words, "--vulnerability-service", service, "--requirement", lock]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S603
    return read_report(lock, done.stdout, done.stderr)


def main() -> None:
    """Audit every lock with the service of the first argument: osv or pypi."""
    code, text = verdict(_ask(lock, sys.argv[1]) for lock in LOCKS)
    sys.stdout.write(text)
    sys.exit(code)


if __name__ == "__main__":
    main()
