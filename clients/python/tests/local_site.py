"""A web site of several hosts on this machine, with pages that really change, which records how it is crawled.

Hosts are addresses of the loopback network: each is a host of its own to a crawler, and all have the same port. Pages
have ETag and Last-Modified, hosts a robots.txt and a sitemap.xml; one host answers that it is fetched too often.
"""

from __future__ import annotations

import io
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timezone
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from xml.sax.saxutils import escape


@dataclass
class Request:
    """A request, except for robots.txt and sitemaps, and its answer."""

    host: str
    path: str
    time: float
    status: int
    version: int
    open_on_host: int


@dataclass
class Host:
    """A host. `pages` maps a path to a version and the time of its change. A `busy` host answers everything with
    429. Each answer takes `delay` seconds."""

    pages: dict[str, tuple[int, datetime]] = field(default_factory=dict)
    robots: str = "User-agent: *\nDisallow: /private/\n"
    busy: bool = False
    # Long enough to reveal requests that should not overlap.
    delay: float = 0.004
    moved: dict[str, str] = field(default_factory=dict)
    found: dict[str, str] = field(default_factory=dict)
    # Status, headers and body of the answer at a path, before anything else.
    answers: dict[str, tuple[int, dict[str, str], bytes]] = field(default_factory=dict)


def begun() -> datetime:
    """When unchanged pages were made."""
    return datetime(2026, 1, 1, tzinfo=timezone.utc)


class Site:
    """The site; its host names are addresses such as 127.0.0.2. `with Site(hosts) as site`. Thread-safe."""

    def __init__(self, hosts: dict[str, Host], retry_after: int = 1) -> None:
        self.hosts = hosts
        self.requests: list[Request] = []
        self.robots_requests = 0
        self._retry_after = retry_after
        self._open: dict[str, int] = dict.fromkeys(hosts, 0)
        self._changed = threading.Condition()
        self._servers: list[ThreadingHTTPServer] = []
        self.port = 0

    def __enter__(self) -> Site:
        for name in self.hosts:
            server = ThreadingHTTPServer((name, self.port), self._handler(name))
            server.daemon_threads = True
            self.port = server.server_address[1]
            self._servers.append(server)
            threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        for server in self._servers:
            server.shutdown()
            server.server_close()

    def url(self, host: str, path: str) -> str:
        return f"http://{host}:{self.port}{path}"

    def urls(self) -> list[str]:
        """The URLs of all pages that exist, or seem to."""
        return [
            self.url(name, path)
            for name, host in self.hosts.items()
            for path in (*host.pages, *host.moved, *host.found)
        ]

    def change(self, host: str, path: str) -> None:
        with self._changed:
            version, _ = self.hosts[host].pages[path]
            self.hosts[host].pages[path] = (version + 1, datetime.now(timezone.utc))

    def remove(self, host: str, path: str) -> None:
        with self._changed:
            del self.hosts[host].pages[path]

    def wait_for(self, condition: Callable[[list[Request]], bool], seconds: float = 150.0) -> None:
        """Waits until the requests so far satisfy the condition."""
        with self._changed:
            assert self._changed.wait_for(lambda: condition(self.requests), seconds), self.summary()

    def summary(self) -> str:
        counts: dict[tuple[str, int], int] = {}
        for request in self.requests:
            counts[request.host, request.status] = counts.get((request.host, request.status), 0) + 1
        return f"requests by host and status: {counts}"

    # --- Serving -----------------------------------------------------------------------------------------------------

    def _handler(self, name: str) -> type[BaseHTTPRequestHandler]:
        site = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:  # noqa: N802
                # Sends headers and body in one segment: otherwise the client's delayed acknowledgement costs 40 ms.
                self.wfile = io.BytesIO()
                real = self.connection
                site._answer(name, self)
                real.sendall(self.wfile.getvalue())

            def log_message(self, format: str, *arguments: object) -> None:
                pass

        return Handler

    def _answer(self, name: str, handler: BaseHTTPRequestHandler) -> None:
        host = self.hosts[name]
        if handler.path in host.answers:
            threading.Event().wait(host.delay)
            status, headers, body = host.answers[handler.path]
            return send(handler, status, body, headers)
        if handler.path == "/robots.txt":
            self.robots_requests += 1
            return send(handler, 200, host.robots.encode(), {"Content-Type": "text/plain"})
        if handler.path == "/sitemap.xml":
            return send(handler, 200, self._sitemap(name), {"Content-Type": "application/xml"})
        with self._changed:
            self._open[name] += 1
            begun = time.monotonic()
            open_on_host = self._open[name]
        try:
            status, version = self._page(host, handler)
        finally:
            with self._changed:
                self._open[name] -= 1
        with self._changed:
            self.requests.append(Request(name, handler.path, begun, status, version, open_on_host))
            self._changed.notify_all()
        return None

    def _page(self, host: Host, handler: BaseHTTPRequestHandler) -> tuple[int, int]:
        path = handler.path
        threading.Event().wait(host.delay)
        if host.busy:
            send(handler, 429, b"slowly", {"Retry-After": str(self._retry_after)})
            return 429, 0
        if path in host.moved:
            send(handler, 301, b"", {"Location": host.moved[path]})
            return 301, 0
        if path in host.found:
            send(handler, 302, b"", {"Location": host.found[path]})
            return 302, 0
        with self._changed:
            page = host.pages.get(path)
        if page is None:
            send(handler, 404, b"nothing here", {})
            return 404, 0
        version, changed = page
        headers = {"ETag": f'"{version}"', "Last-Modified": format_datetime(changed, usegmt=True)}
        if handler.headers.get("If-None-Match") == headers["ETag"]:
            send(handler, 304, None, headers)
            return 304, version
        text = f"<html><title>{path}</title><p>Version {version} of {path}</p>{self._links(host, path)}</html>"
        send(handler, 200, text.encode(), {**headers, "Content-Type": "text/html"})
        return 200, version

    def _links(self, host: Host, path: str) -> str:
        """Links to all other pages from the first page of a host, even those on other hosts."""
        if path != "/0":
            return ""
        with self._changed:
            return "".join(f'<a href="{path}">{path}</a>' for path in (*host.pages, *host.moved, *host.found))

    def _sitemap(self, name: str) -> bytes:
        with self._changed:
            pages = dict(self.hosts[name].pages)
        rows = (
            f"<url><loc>{escape(self.url(name, path))}</loc><lastmod>{changed.isoformat()}</lastmod></url>"
            for path, (_, changed) in pages.items()
        )
        space = "http://www.sitemaps.org/schemas/sitemap/0.9"
        return f'<?xml version="1.0"?><urlset xmlns="{space}">{"".join(rows)}</urlset>'.encode()


def send(handler: BaseHTTPRequestHandler, status: int, body: bytes | None, headers: dict[str, str]) -> None:
    handler.send_response(status)
    for name, value in headers.items():
        handler.send_header(name, value)
    if body is not None:
        handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    if body:
        handler.wfile.write(body)
