#!/usr/bin/env python3
"""Polls sitemaps, and tells Freshet what has changed.

Each poll of a sitemap is one poll to the server, which learns from it how far to trust the sitemap. Pages that are
listed for the first time are added; a page whose `lastmod` differs from the previous poll is signalled. A state file
keeps what was seen, so that a restart signals nothing twice.

Sitemaps of the command line are polled one after the other. The time, memory and disk that one site can cost the
others are bounded. `freshet sitemap` reads larger sites.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import time
import zlib
from contextlib import aclosing
from datetime import datetime, timedelta, timezone
from http.cookiejar import CookieJar, DefaultCookiePolicy
from pathlib import Path
from typing import TypedDict
from xml.parsers import expat

import httpx

import freshet
from freshet import Page, Signal, safe_text
from freshet.http import ACCEPT_ENCODING, Body, parse_last_modified

MOST_BYTES = 64 << 20
MOST_REDIRECTS = 5
# Seconds for a document, redirects included: a site may send a byte each time before a client gives up.
MOST_SECONDS = 60.0
# The limit of the sitemap protocol.
MOST_ENTRIES = 50_000
MOST_URL_BYTES = 2_048
# Characters of a lastmod that the state keeps beside the URL.
MOST_LASTMOD = 100
MOST_VALIDATOR = 1_000
# An XML parser keeps all names of a document, the open elements, and each whole tag.
MOST_NAMES = 1_000
MOST_DEPTH = 100
PART_BYTES = 1 << 20
# Limits in each poll for a sitemap of the command line and all documents that it names, checked before each document.
MOST_SITEMAPS = 1_000
MOST_SITE_SECONDS = 600.0
MOST_SITE_BYTES = 128 << 20
# Approximate memory of a page in addition to its URL.
PAGE_BYTES = 200
MOST_SHOWN = 200
# Errors that a site can cause.
FAILURES = (
    httpx.HTTPError,
    httpx.InvalidURL,
    ValueError,
    LookupError,  # an unknown encoding
    OSError,
    asyncio.TimeoutError,
    zlib.error,
    expat.ExpatError,
)


class Document(TypedDict):
    """Validators for the next request, and the `lastmod` of each page that the document lists."""

    validators: dict[str, str]
    pages: dict[str, str]


class State:
    """The documents of the last poll by URL, for each sitemap of the command line. Written completely or not at all."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self.sites: dict[str, dict[str, Document]] = {}
        if path is not None and path.exists():
            self.sites = json.loads(path.read_text())

    def save(self) -> None:
        if self._path is not None:
            temporary = self._path.with_suffix(".new")
            temporary.write_text(json.dumps(self.sites))
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
    """Returns the text of a sitemap and the validators for the next request; None if it is unchanged."""
    async with aclosing(await ask(client, url, validators)) as response:
        if response.status_code == 304:
            return None
        response.raise_for_status()
        body = Body(response.headers.get("Content-Encoding", ""), MOST_BYTES)
        if await body.add_all(response.aiter_raw()):
            raise ValueError(f"{url} has {MOST_BYTES} bytes or more")
        names = {"ETag": "If-None-Match", "Last-Modified": "If-Modified-Since"}
        headers = {name: response.headers.get(name, "") for name in names}
        found = {names[name]: value for name, value in headers.items() if 0 < len(value) <= MOST_VALIDATOR}
        # After a date in 1970 or 2099 the site would answer for ever that nothing has changed.
        if parse_last_modified(found.get("If-Modified-Since", ""), datetime.now(timezone.utc)) is None:
            found.pop("If-Modified-Since", None)
    text = body.read()
    if text.startswith(b"\x1f\x8b"):
        # Bytes behind the compressed data do not belong to it.
        text = zlib.decompressobj(16 + zlib.MAX_WBITS).decompress(text, MOST_BYTES)
    return text, found


class Entries:
    """Reads kind (`sitemap` or `url`), location and lastmod of each entry, and keeps nothing else of the document."""

    def __init__(self, text: bytes) -> None:
        self.found: list[tuple[str, str, str]] = []
        self._path: list[str] = []
        self._names: set[str] = set()
        self._fields: dict[str, str] = {}
        self._text = ""
        self._heard = False
        parser = expat.ParserCreate()
        parser.StartDoctypeDeclHandler = self._doctype
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._data
        for at in range(0, len(text), PART_BYTES):
            self._heard = False
            parser.Parse(text[at : at + PART_BYTES], False)
            if not self._heard:
                raise ValueError(f"{PART_BYTES} bytes without an element")
        parser.Parse(b"", True)

    def _doctype(self, *_: object) -> None:
        raise ValueError("it has a document type, which can make gigabytes of a line")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._heard = True
        self._text = ""
        self._path.append(name.rpartition(":")[2])
        self._names.update((name, *attributes))
        if len(self._path) > MOST_DEPTH or len(self._names) > MOST_NAMES:
            raise ValueError(f"more than {MOST_NAMES} names, or {MOST_DEPTH} elements within each other")

    def _data(self, text: str) -> None:
        self._heard = True
        self._text = (self._text + text)[: MOST_URL_BYTES + 1]

    def _end(self, _: str) -> None:
        name = self._path.pop()
        if len(self._path) == 2 and name in ("loc", "lastmod"):
            self._fields[name] = self._text.strip()
        elif len(self._path) == 1:
            location, lastmod = self._fields.get("loc", ""), self._fields.get("lastmod", "")
            self._fields = {}
            if name in ("sitemap", "url") and location and len(location.encode()) <= MOST_URL_BYTES:
                self.found.append((name, location, lastmod[:MOST_LASTMOD]))
            if len(self.found) > MOST_ENTRIES:
                raise ValueError(f"more than {MOST_ENTRIES} entries")


def instant(lastmod: str) -> datetime | None:
    """Returns None for a mere day: the page may have been crawled on that day before it changed."""
    try:
        time_of_change = datetime.fromisoformat(lastmod.replace("Z", "+00:00"))
    except ValueError:
        return None
    if len(lastmod) <= 10:
        return None
    return time_of_change if time_of_change.tzinfo else time_of_change.replace(tzinfo=timezone.utc)


def signals_of(changed: list[tuple[str, str]]) -> list[Signal]:
    """Makes signals; leaves out times ahead of the clock, which would be refused."""
    latest = datetime.now(timezone.utc) + timedelta(minutes=4)
    found = []
    for url, lastmod in changed:
        when = instant(lastmod)
        identifier = lastmod if lastmod.isascii() else ""
        found.append(Signal(url, change_time=when if when and when <= latest else None, signal_id=identifier))
    return found


async def read(client: httpx.AsyncClient, url: str, before: Document | None) -> tuple[list[str], Document]:
    """Returns the sitemaps that a document names, and what to keep of it."""
    answer = await asyncio.wait_for(download(client, url, before["validators"] if before else {}), MOST_SECONDS)
    if answer is None:
        return [], before or {"validators": {}, "pages": {}}
    found = Entries(answer[0]).found
    named = [location for kind, location, _ in found if kind == "sitemap"]
    pages = {location: lastmod for kind, location, lastmod in found if kind == "url"}
    # An unchanged index says nothing about its documents, so it is read in full each time.
    return named, {"validators": {} if named else answer[1], "pages": pages}


async def read_site(client: httpx.AsyncClient, sitemap: str, before: dict[str, Document]) -> dict[str, Document]:
    """Returns the documents of a sitemap: itself and those that it names. An unreadable one keeps its previous
    state."""
    until = time.monotonic() + MOST_SITE_SECONDS
    left = MOST_SITE_BYTES
    sitemaps = [sitemap]
    documents: dict[str, Document] = {}
    for url in sitemaps:
        if left <= 0 or time.monotonic() > until or len(documents) >= MOST_SITEMAPS:
            print(f"{sitemap[:MOST_SHOWN]}: {len(documents)} documents are read, and no more", file=sys.stderr)
            break
        try:
            named, documents[url] = await read(client, url, before.get(url))
        except FAILURES as error:
            problem = f"{url[:MOST_SHOWN]}: {error or 'it takes too long'}"
            print(safe_text(problem[: 3 * MOST_SHOWN]), file=sys.stderr)
            if url == sitemap:
                return before
            named, documents[url] = [], before.get(url, {"validators": {}, "pages": {}})
        left -= sum(len(page) + PAGE_BYTES for page in documents[url]["pages"])
        known = set(sitemaps)
        sitemaps += [name for name in dict.fromkeys(named) if name not in known][: MOST_SITEMAPS + 1 - len(sitemaps)]
    return documents


async def poll(
    client: httpx.AsyncClient, ingester: freshet.aio.Ingester, options: argparse.Namespace, state: State, sitemap: str
) -> None:
    before = state.sites.get(sitemap, {})
    documents = await read_site(client, sitemap, before)
    known = {url: lastmod for document in before.values() for url, lastmod in document["pages"].items()}
    listed = {url: lastmod for document in documents.values() for url, lastmod in document["pages"].items()}
    new = [url for url in listed if url not in known]
    changed = [(url, lastmod) for url, lastmod in listed.items() if known.get(url, lastmod) != lastmod]
    pages = (Page(url, crawl_id=options.crawl_id) for url in new)
    added = await ingester.upsert(pages) if new else freshet.Summary()
    sent = await ingester.signal(options.source, signals_of(changed)) if changed else freshet.Summary()
    state.sites[sitemap] = documents
    state.save()
    print(
        f"{sitemap[:MOST_SHOWN]}: {len(new)} new ({added.applied} added), {len(changed)} changed "
        f"({sent.applied} signals taken, {sent.stale} of pages crawled since)",
        flush=True,
    )
    for refusal in added.refusals + sent.refusals:
        print(safe_text(f"refused: {refusal.item[:MOST_SHOWN]}: {refusal.reason}"), file=sys.stderr)


async def watch(options: argparse.Namespace) -> None:
    state = State(options.state)
    async with (
        httpx.AsyncClient(
            headers={"User-Agent": options.agent} | ACCEPT_ENCODING,
            # The client would keep all cookies of all sites.
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
            trust_env=False,
        ) as client,
        freshet.aio.Ingester(options.server) as ingester,
    ):
        while True:
            for sitemap in options.sitemaps:
                await poll(client, ingester, options, state, sitemap)
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
        print(safe_text(f"{sys.argv[0]}: {error}"), file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
