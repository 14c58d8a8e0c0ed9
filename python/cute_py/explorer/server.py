"""Hands out the explorer's pages: to this machine alone, and to who knows the token."""

from __future__ import annotations

import hmac
import secrets
import threading
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from cute_py.errors import OperandError
from cute_py.explorer.pages import Answer, Explorer

__all__ = ["Server", "serve"]

_LONGEST = 16384  # characters of an address
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; form-action 'self'; "
    "frame-ancestors 'none'; base-uri 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class Server(ThreadingHTTPServer):
    """An explorer at 127.0.0.1, below a path that begins with a random token.

    Parameters
    ----------
    port
        0 for any that is free. Raises OperandError for one that is none or that is taken.
    folders
        Of CUDA programs that may be opened, compiled and run. Raises OperandError for one that is none.
    """

    daemon_threads = True

    def __init__(self, port: int = 0, folders: Sequence[Path] = ()) -> None:
        self.explorer = Explorer(folders)
        if not 0 <= port < 1 << 16:
            raise OperandError(f"explore: port must be 0 to 65535, not {port}")
        try:
            super().__init__(("127.0.0.1", port), _Handler)
        except OSError as error:
            raise OperandError(
                f"explore: cannot listen at port {port}: {error.strerror}\n  next: another port, or 0 for any that is free"
            ) from None
        self.token = secrets.token_urlsafe(16)
        self.busy = threading.Lock()  # one answer at a time: they compute

    @property
    def url(self) -> str:
        """Where the explorer is."""
        return f"http://127.0.0.1:{self.server_port}/{self.token}/"


class _Handler(BaseHTTPRequestHandler):
    server: Server
    server_version = "cute-py"
    sys_version = ""

    def do_GET(self) -> None:
        self._respond(self._answer())

    def _answer(self) -> Answer:
        hosts = {f"{name}:{self.server.server_port}" for name in ("127.0.0.1", "localhost")}
        if self.headers.get("Host") not in hosts:  # a page elsewhere whose name was made to point here
            return Answer(403, "text/plain", "the explorer answers to 127.0.0.1 alone\n")
        if len(self.path) > _LONGEST:
            return Answer(414, "text/plain", f"an address has at most {_LONGEST} characters\n")
        try:
            parts = urlsplit(self.path)
        except ValueError:
            return Answer(400, "text/plain", "this is no address\n")
        _, token, *rest = [*parts.path.split("/", 2), ""]
        if not hmac.compare_digest(token.encode(), self.server.token.encode()):
            return Answer(403, "text/plain", "the address lacks the token that cute-py explore printed\n")
        if parts.path.count("/") == 1:
            return Answer(303, "text/plain", "", {"Location": f"/{token}/layout"})
        with self.server.busy:
            return self.server.explorer.answer(rest[0], dict(parse_qsl(parts.query, keep_blank_values=True)))

    def _respond(self, answer: Answer) -> None:
        body = answer.body.encode("utf-8", "backslashreplace")
        try:
            self.send_response(answer.status)
            for name, value in {**_HEADERS, **answer.headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Type", f"{answer.content_type}; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
        except (BrokenPipeError, ConnectionResetError):
            pass  # the browser asks for something else by now

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 - the base class's name
        pass


def serve(port: int = 0, folders: Sequence[Path] = ()) -> Server:
    """Start an explorer in a thread of its own and return it; ``server.url`` is its address, ``server.shutdown()`` ends
    it.
    """
    server = Server(port, folders)
    threading.Thread(target=server.serve_forever, name="cute-py explore", daemon=True).start()
    return server
