#!/usr/bin/env python3
"""Polls sitemaps, and tells Freshet what has changed.

Each poll of a sitemap is one poll to the server, which learns from it how far the sitemap can be trusted. Pages that
are listed for the first time are added; a page whose `lastmod` differs from that of the poll before is signalled. What
was seen is kept in a state file, so that a restart signals nothing twice.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import zlib
from collections.abc import Iterator
from contextlib import aclosing
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import httpx

import freshet
from freshet import Page, Signal
from freshet.http import ACCEPT_ENCODING, Body, parse_last_modified

MOST_BYTES = 64 << 20
MOST_REDIRECTS = 5
MOST_SITEMAPS = 10_000
# For a document, redirects included: a site may send a byte whenever a client would give up.
MOST_SECONDS = 60.0
MOST_SHOWN = 200
# What a site may cause.
FAILURES = (
    httpx.HTTPError,
    httpx.InvalidURL,
    ValueError,
    OSError,
    asyncio.TimeoutError,
    zlib.error,
    ElementTree.ParseError,
)


class State:
    """What was seen at the last poll: validators by sitemap, and `lastmod` by URL. Written as a whole, or not."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        known: dict[str, Any] = json.loads(path.read_text()) if path is not None and path.exists() else {}
        self.validators: dict[str, dict[str, str]] = known.get("validators", {})
        self.pages: dict[str, str] = known.get("pages", {})

    def save(self) -> None:
        if self._path is not None:
            temporary = self._path.with_suffix(".new")
            temporary.write_text(json.dumps({"validators": self.validators, "pages": self.pages}))
            os.replace(temporary, self._path)


async def ask(client: httpx.AsyncClient, url: str, headers: dict[str, str]) -> httpx.Response:
    """Follows redirects without their bodies, which httpx would decode whatever their size."""
    request = client.build_request("GET", url, headers=headers)
    for _ in range(MOST_REDIRECTS + 1):
        response = await client.send(request, stream=True)
        if response.next_request is None:
            return response
        await response.aclose()
        request = response.next_request
    raise ValueError(f"{url} has more than {MOST_REDIRECTS} redirects")


async def download(
    client: httpx.AsyncClient, url: str, validators: dict[str, str]
) -> tuple[bytes, dict[str, str]] | None:
    """The text of a sitemap and what to ask with next time; None when it is the same as before."""
    async with aclosing(await ask(client, url, validators)) as response:
        if response.status_code == 304:
            return None
        response.raise_for_status()
        body = Body(response.headers.get("Content-Encoding", ""), MOST_BYTES)
        async for part in response.aiter_raw():
            if body.add(part):
                raise ValueError(f"{url} has {MOST_BYTES} bytes or more")
        names = {"ETag": "If-None-Match", "Last-Modified": "If-Modified-Since"}
        found = {names[name]: response.headers[name] for name in names if name in response.headers}
        # A site that says 1970 or 2099 would answer for ever that nothing has changed since.
        if parse_last_modified(found.get("If-Modified-Since", ""), datetime.now(timezone.utc)) is None:
            found.pop("If-Modified-Since", None)
    text = body.read()
    if text.startswith(b"\x1f\x8b"):
        # What comes behind the compressed data is none of it.
        text = zlib.decompressobj(16 + zlib.MAX_WBITS).decompress(text, MOST_BYTES)
    return text, found


def entries(text: bytes) -> Iterator[tuple[str, str, str]]:
    """Kind (`sitemap` or `url`), location and lastmod of each entry."""
    for element in ElementTree.fromstring(text):
        kind = element.tag.rpartition("}")[2]
        fields = {child.tag.rpartition("}")[2]: (child.text or "").strip() for child in element}
        if kind in ("sitemap", "url") and fields.get("loc"):
            yield kind, fields["loc"], fields.get("lastmod", "")


def instant(lastmod: str) -> datetime | None:
    """A day alone says too little: the page may have been crawled on that day before it changed."""
    try:
        time_of_change = datetime.fromisoformat(lastmod.replace("Z", "+00:00"))
    except ValueError:
        return None
    if len(lastmod) <= 10:
        return None
    return time_of_change if time_of_change.tzinfo else time_of_change.replace(tzinfo=timezone.utc)


def signals_of(changed: list[tuple[str, str]]) -> list[Signal]:
    """A time that is ahead of the clock would be refused, and is left out."""
    latest = datetime.now(timezone.utc) + timedelta(minutes=4)
    found = []
    for url, lastmod in changed:
        when = instant(lastmod)
        identifier = f"{lastmod}" if lastmod.isascii() and len(lastmod) <= 100 else ""
        found.append(Signal(url, change_time=when if when and when <= latest else None, signal_id=identifier))
    return found


async def poll(
    client: httpx.AsyncClient, ingester: freshet.aio.Ingester, options: argparse.Namespace, state: State
) -> None:
    """All sitemaps once, those that an index names as well."""
    waiting, seen = list(options.sitemaps), set(options.sitemaps)
    new: list[str] = []
    changed: list[tuple[str, str]] = []
    while waiting and len(seen) <= MOST_SITEMAPS:
        url = waiting.pop()
        try:
            answer = await asyncio.wait_for(download(client, url, state.validators.get(url, {})), MOST_SECONDS)
            listed = [] if answer is None else list(entries(answer[0]))
        except FAILURES as error:
            print(f"{url[:MOST_SHOWN]}: {error or 'it takes too long'}"[: 3 * MOST_SHOWN], file=sys.stderr)
            continue
        for kind, location, lastmod in listed:
            if kind == "sitemap" and location not in seen:
                seen.add(location)
                waiting.append(location)
            elif kind == "url":
                before = state.pages.get(location)
                if before is None:
                    new.append(location)
                elif before != lastmod:
                    changed.append((location, lastmod))
                state.pages[location] = lastmod
        # An index that is the same says nothing of what it names, so it is read in full each time.
        if answer is not None and all(kind == "url" for kind, _, _ in listed):
            state.validators[url] = answer[1]
    pages = (Page(url, crawl_id=options.crawl_id) for url in new)
    added = await ingester.upsert(pages) if new else freshet.Summary()
    sent = await ingester.signal(options.source, signals_of(changed)) if changed else freshet.Summary()
    state.save()
    print(
        f"{len(new)} new ({added.applied} added), {len(changed)} changed "
        f"({sent.applied} signals taken, {sent.stale} of pages crawled since)",
        flush=True,
    )
    for refusal in added.refusals + sent.refusals:
        print(f"refused: {refusal.item[:MOST_SHOWN]}: {refusal.reason}", file=sys.stderr)


async def watch(options: argparse.Namespace) -> None:
    state = State(options.state)
    async with (
        httpx.AsyncClient(headers={"User-Agent": options.agent} | ACCEPT_ENCODING, trust_env=False) as client,
        freshet.aio.Ingester(options.server) as ingester,
    ):
        while True:
            await poll(client, ingester, options, state)
            if options.every is None:
                return
            await asyncio.sleep(options.every)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("sitemaps", nargs="+", metavar="URL", help="sitemap or index of sitemaps")
    parser.add_argument("--server", help="address, or several by commas (FRESHET_SERVER, else 127.0.0.1:7071)")
    parser.add_argument("--source", default="sitemap", help="name of the source of signals (sitemap)")
    parser.add_argument("--crawl-id", default="", help="namespace of the pages (DEFAULT)")
    parser.add_argument("--state", type=Path, help="file that remembers what was seen")
    parser.add_argument("--every", type=float, help="poll again after so many seconds; otherwise once")
    parser.add_argument("--agent", default="freshet-example/1.0", help="User-Agent, with a way to reach you")
    options = parser.parse_args()
    try:
        asyncio.run(watch(options))
        return 0
    except freshet.FreshetError as error:
        print(f"{sys.argv[0]}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
