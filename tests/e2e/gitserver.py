"""A Git server, `git http-backend`, and clones of it. The controllers do not support Git's dumb protocol."""

from __future__ import annotations

import os
import subprocess
import threading
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

__all__ = ["Clone", "GitServer"]

_IDENTITY = {
    f"GIT_{role}_{part}": value
    for role in ("AUTHOR", "COMMITTER")
    for part, value in (("NAME", "tests"), ("EMAIL", "tests@example.com"))
}


@dataclass(frozen=True)
class Clone:
    """A work tree. Its git commands, and scripts that run in it, use `environment`."""

    folder: Path
    environment: dict[str, str]

    def git(self, *words: str) -> str:
        """Return the output of a git command."""
        return self.run("git", *words).stdout.strip()

    def run(self, *command: str | Path, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run a command. With `check`, raise AssertionError with its stderr if it fails."""
        done = subprocess.run(
            list(map(str, command)),
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert done.returncode == 0 or not check, done.stderr
        return done

    def push(self, message: str) -> str:
        """Commit everything, push the branch, and return the commit."""
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", message)
        return self.push_commits()

    def push_commits(self) -> str:
        """Push the commits, and return the newest one."""
        self.git("push", "--quiet", "origin", "HEAD")
        return self.git("rev-parse", "HEAD")


class GitServer:
    """A server of the repositories in a folder, on the loopback address, until it is stopped."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(folder))
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def create(self, name: str, clone: Path, path: str) -> Clone:
        """Create a repository, and return a clone of it. `path` is first on the PATH of its commands."""
        bare = self._folder / name
        subprocess.run(["git", "init", "--quiet", "--bare", "--initial-branch=main", bare], check=True)
        subprocess.run(["git", "-C", bare, "config", "http.receivepack", "true"], check=True)
        environment = {**os.environ, **_IDENTITY, "PATH": f"{path}{os.pathsep}{os.environ['PATH']}"}
        subprocess.run(
            ["git", "clone", "--quiet", self.url(name), clone], check=True, capture_output=True, env=environment
        )
        return Clone(clone, environment)

    def url(self, name: str) -> str:
        """Return the URL that clients clone."""
        return f"http://127.0.0.1:{self._server.server_port}/{name}"

    def stop(self) -> None:
        """Stop answering."""
        self._server.shutdown()
        self._server.server_close()


def _handler(folder: Path) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer(b"")

        def do_POST(self) -> None:
            self._answer(self._body())

        def _body(self) -> bytes:
            if self.headers.get("Transfer-Encoding") != "chunked":
                return self.rfile.read(int(self.headers.get("Content-Length", 0)))
            body = b""
            while size := int(self.rfile.readline(), 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            return body

        def _answer(self, body: bytes) -> None:
            path, _, query = self.path.partition("?")
            environment = {
                **os.environ,
                "GIT_PROJECT_ROOT": str(folder),
                "GIT_HTTP_EXPORT_ALL": "1",
                "PATH_INFO": path,
                "QUERY_STRING": query,
                "REQUEST_METHOD": self.command,
                "CONTENT_TYPE": self.headers.get("Content-Type", ""),
                "CONTENT_LENGTH": str(len(body)),
                "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
                "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
                "REMOTE_USER": "tests",
            }
            done = subprocess.run(
                ["git", "http-backend"], input=body, env=environment, capture_output=True, check=False
            )
            head, _, content = done.stdout.partition(b"\r\n\r\n")
            headers = [line.partition(": ")[::2] for line in head.decode().split("\r\n")]
            status = next((value for name, value in headers if name == "Status"), "200 OK")
            self.send_response(int(status.split()[0]))
            for name, value in headers:
                if name != "Status":
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Write no log, because the clients have logs."""

    return Handler
