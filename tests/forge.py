"""A fake forge for bots: the comments of one pull request on GitHub, and the notes of one merge request on GitLab."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

__all__ = ["BOT", "Forge", "forge"]

BOT = "github-actions[bot]"
_USER = 7
"""The number of the token's user on GitLab."""

_GITHUB = re.compile(r"/repos/team/apps/issues/(?:9/comments|comments/(?P<id>\d+))")
_GITLAB = re.compile(r"/api/v4/projects/3/merge_requests/9/notes(?:/(?P<id>\d+))?")


@dataclass
class Forge:
    """The state of a forge, and its requests as methods with paths. Only `token` has access."""

    token: str = "secret"  # noqa: S105
    comments: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    requests: list[str] = field(default_factory=list[str])
    address: str = ""
    status: int = 0
    """The status code of every answer, unless it is 0."""

    def add(self, body: str, login: str = BOT, user: int = _USER) -> None:
        """Add a comment."""
        identity = len(self.comments) + 100
        self.comments.append({
            "id": identity, "body": body, "user": {"login": login, "type": "Bot"}, "author": {"id": user},
        })  # fmt: skip

    @property
    def bodies(self) -> list[str]:
        """Return the texts of all comments."""
        return [comment["body"] for comment in self.comments]

    def answer(self, method: str, path: str, query: dict[str, list[str]], body: bytes) -> tuple[int, Any]:
        if path == "/api/v4/user":
            return 200, {"id": _USER}
        match = _GITHUB.fullmatch(path) or _GITLAB.fullmatch(path)
        if match is None:
            return 404, {"message": "Not Found"}
        if method == "GET" and match["id"] is None:
            size, page = int(query.get("per_page", ["30"])[0]), int(query.get("page", ["1"])[0])
            return 200, self.comments[size * (page - 1) : size * page]
        text = json.loads(body)["body"]
        if method == "POST" and match["id"] is None:
            self.add(text)
            return 201, self.comments[-1]
        if method == ("PATCH" if "/repos/" in path else "PUT") and match["id"] is not None:
            (comment,) = [comment for comment in self.comments if comment["id"] == int(match["id"])]
            comment["body"] = text
            return 200, comment
        return 405, {}


@contextmanager
def forge() -> Generator[Forge]:
    """Yield a forge that answers on this machine only."""
    held = Forge()

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            held.requests.append(f"{self.command} {self.path}")
            parts = urlsplit(self.path)
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            tokens = (f"Bearer {held.token}", held.token)
            given = self.headers.get("Authorization") or self.headers.get("PRIVATE-TOKEN")
            status, value = (403, {"message": "Resource not accessible by integration"})
            if held.status:
                status, value = held.status, {}
            elif given in tokens:
                status, value = held.answer(self.command, parts.path, parse_qs(parts.query), body)
            data = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = do_PATCH = do_PUT = answer  # noqa: N815

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    held.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield held
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
