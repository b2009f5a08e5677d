#!/usr/bin/env python3
"""A fetch worker: fetches the pages that Freshet hands out, and reports what it found.

It obeys robots.txt (RFC 9309) and reports its Crawl-delay, asks conditionally, follows temporary redirects, reports
permanent ones, and limits the size and the time of an answer. Only the server decides when a host is fetched. On
SIGTERM or Ctrl-C it gives back pages not begun, and finishes and reports the others.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import logging
import signal
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta
from http.cookiejar import CookieJar, DefaultCookiePolicy
from pathlib import Path
from urllib.parse import urljoin

import httpx
from protego import Protego

import freshet
from freshet import Assignment, Outcome, Result, safe_text
from freshet.http import ACCEPT_ENCODING, MOVED_PERMANENTLY, Body, conditional_headers, result_of
from freshet.robots import KeptRobots, bounded, origin_of
from freshet.types import is_long

logger = logging.getLogger("fetch_worker")

TEMPORARY = {302, 303, 307}
MOST_REDIRECTS = 5
MOST_ROBOTS_BYTES = 500 << 10
ROBOTS_LIFE = 86_400.0
ROBOTS_RETRY = 60.0
# The worker keeps robots.txt this long for an origin to which only redirects lead so far.
ROBOTS_LIFE_ELSEWHERE = 600.0
# Threads for name look-ups, for each page at a time: a page needs one, but a look-up may outlast its page.
NAMES_PER_PAGE = 4
PARSERS = 4
# Errors that a site can cause. It may name an invalid URL, which httpx does not count among its errors.
FAILURES = (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError, asyncio.TimeoutError)


@dataclass
class Answer:
    status: int
    headers: httpx.Headers
    body: bytes
    address: str


@dataclass
class Rules:
    """The rules of an origin's robots.txt, or that it cannot be read: then nothing may be fetched for now."""

    parsed: Protego | None
    until: float
    size: int = 1024


class Fetcher:
    """Fetches pages with one client. Belongs to its event loop."""

    def __init__(self, agent: str, *, most_bytes: int, timeout: float, save: Path | None) -> None:
        self._agent = agent
        self._most_bytes = most_bytes
        self._timeout = timeout
        self._save = save
        self._rules: dict[str, asyncio.Task[Rules]] = {}
        self._kept = KeptRobots()
        # Parsing has its own threads, since slow name look-ups can occupy all others.
        self._parsers = ThreadPoolExecutor(PARSERS, "robots")
        # Freshet limits the pages of a host at a time.
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=200, keepalive_expiry=30)
        self._client = httpx.AsyncClient(
            headers={"User-Agent": agent} | ACCEPT_ENCODING,
            # The client would keep all cookies of all sites.
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
            timeout=timeout,
            limits=limits,
            follow_redirects=False,
            trust_env=False,
        )

    async def close(self) -> None:
        await self._client.aclose()
        self._parsers.shutdown(wait=False)

    async def fetch(self, page: Assignment) -> Result:
        """Fetches a page and returns the result; never raises for anything that a site does."""
        try:
            return await asyncio.wait_for(self._fetch(page), self._timeout)
        except FAILURES as error:
            logger.info("%s: %s: %s", safe_text(page.url), type(error).__name__, safe_text(error))
            return Result(outcome=Outcome.ERROR)

    async def _fetch(self, page: Assignment) -> Result:
        url = page.url
        for _ in range(MOST_REDIRECTS + 1):
            if is_long(url):
                return Result(outcome=Outcome.ERROR)
            rules = await self._rules_of(url, ROBOTS_LIFE if url == page.url else ROBOTS_LIFE_ELSEWHERE)
            if rules.parsed is None:
                return Result(outcome=Outcome.ERROR)
            delay = rules.parsed.crawl_delay(self._agent)
            crawl_delay = timedelta(seconds=min(delay, 366 * 86_400.0)) if delay is not None else timedelta(0)
            if not rules.parsed.can_fetch(url, self._agent):
                return Result(outcome=Outcome.ROBOTS_DENIED, crawl_delay=crawl_delay)
            answer = await self._get(url, conditional_headers(page), self._most_bytes)
            # A page with a temporary redirect has not moved itself, whatever happens at the target.
            followed = TEMPORARY if url == page.url else TEMPORARY | MOVED_PERMANENTLY
            if answer.status not in followed or "Location" not in answer.headers:
                self._keep(page, answer)
                return result_of(
                    answer.status,
                    answer.headers,
                    answer.body,
                    url=url,
                    # The address of the page itself, not of a redirect's target.
                    server_address=answer.address if url == page.url else "",
                    crawl_delay=crawl_delay if url == page.url else None,
                )
            url = urljoin(url, answer.headers["Location"])
        return Result(outcome=Outcome.ERROR, http_status=302)

    async def _get(self, url: str, headers: dict[str, str], most: int) -> Answer:
        """Returns an answer of at most so many bytes; cuts longer ones, so that an endless page has a digest."""
        async with self._client.stream("GET", url, headers=headers) as response:
            body = Body(response.headers.get("Content-Encoding", ""), most)
            await body.add_all(response.aiter_raw())
            stream = response.extensions.get("network_stream")
            address = stream.get_extra_info("server_addr") if stream is not None else None
            return Answer(response.status_code, response.headers, body.read(), address[0] if address else "")

    async def _rules_of(self, url: str, life: float) -> Rules:
        origin = origin_of(url)
        task = self._rules.get(origin)
        if task is None or (task.done() and task.result().until <= time.monotonic()):
            task = self._rules[origin] = asyncio.create_task(self._read_and_keep(origin, life))
        return await asyncio.shield(task)

    async def _read_and_keep(self, origin: str, life: float) -> Rules:
        rules = await self._read_rules(origin, life)
        for other in self._kept.keep(origin, rules.size, rules.until, time.monotonic()):
            self._rules.pop(other, None)
        return rules

    async def _read_rules(self, origin: str, life: float) -> Rules:
        try:
            answer = await asyncio.wait_for(self._get_robots(origin + "/robots.txt"), self._timeout)
        except FAILURES as error:
            logger.info("%s/robots.txt: %s: %s", safe_text(origin), type(error).__name__, safe_text(error))
            return Rules(None, time.monotonic() + ROBOTS_RETRY)
        if answer.status >= 500:
            return Rules(None, time.monotonic() + ROBOTS_RETRY)
        # A robots.txt that is missing, or behind too many redirects, forbids nothing (RFC 9309, section 2.3.1). Some
        # editors begin a text with the byte order mark of UTF-8.
        text = answer.body.decode("utf-8-sig", "replace") if 200 <= answer.status < 300 else ""
        # Parsing a long text here would delay other pages.
        loop = asyncio.get_running_loop()
        read = await loop.run_in_executor(self._parsers, bounded, text)
        parsed = await loop.run_in_executor(self._parsers, Protego.parse, read.text)
        return Rules(parsed, time.monotonic() + life, read.size)

    async def _get_robots(self, url: str) -> Answer:
        """Follows redirects, even to other hosts: the text found there applies to the host that was asked first."""
        for _ in range(MOST_REDIRECTS):
            answer = await self._get(url, {}, MOST_ROBOTS_BYTES)
            if answer.status not in TEMPORARY | MOVED_PERMANENTLY or "Location" not in answer.headers:
                return answer
            url = urljoin(url, answer.headers["Location"])
        return await self._get(url, {}, MOST_ROBOTS_BYTES)

    def _keep(self, page: Assignment, answer: Answer) -> None:
        if self._save is not None and answer.status == 200:
            name = hashlib.sha256(page.url.encode()).hexdigest()
            temporary = self._save / f".{name}.new"
            temporary.write_bytes(answer.body)
            temporary.rename(self._save / name)


async def work(options: argparse.Namespace) -> None:
    loop = asyncio.get_running_loop()
    # This executor looks names up. By default it has six threads on two processors, and six slow names would occupy it.
    loop.set_default_executor(ThreadPoolExecutor(NAMES_PER_PAGE * options.concurrency, "names"))
    fetcher = Fetcher(options.agent, most_bytes=options.most_bytes, timeout=options.timeout, save=options.save)
    worker = freshet.aio.Worker(options.server, name=options.name, capacity=options.concurrency)
    try:
        async with worker:
            stopping: list[asyncio.Task[None]] = []
            for number in (signal.SIGTERM, signal.SIGINT):
                loop.add_signal_handler(number, lambda: stopping.append(loop.create_task(worker.stop())))
            print(f"{options.name} works", flush=True)
            await worker.run(fetcher.fetch, concurrency=options.concurrency)
            await asyncio.gather(*stopping)
    finally:
        await fetcher.close()
    done = worker.statistics
    print(
        f"{options.name}: {done.assignments} pages, {done.results.items} results, {done.returned} returned, "
        f"{done.results.refused} refused, {len(worker.unacknowledged())} not acknowledged"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--server", help="address, or several by commas (FRESHET_SERVER, else 127.0.0.1:7071)")
    parser.add_argument("--name", default=socket.gethostname(), help="the same at each start (this host's name)")
    parser.add_argument("--agent", default="freshet-example/1.0", help="User-Agent, with a way to reach you")
    parser.add_argument("--concurrency", type=int, default=32, help="pages at a time (32)")
    parser.add_argument("--timeout", type=float, default=60.0, help="seconds for a page, robots.txt included (60)")
    parser.add_argument("--most-bytes", type=int, default=10 << 20, help="what is read of a page (10 MiB)")
    parser.add_argument("--save", type=Path, help="directory for the bodies, by the SHA-256 of their URLs")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO if options.verbose else logging.WARNING)
    logging.getLogger("httpx").setLevel(logging.WARNING)
    asyncio.run(work(options))


if __name__ == "__main__":
    main()
