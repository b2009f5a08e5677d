#!/usr/bin/env python3
"""Adds pages to Freshet by the million, in bounded memory.

Each file (or standard input) has one page a line: a URL; a URL and its importance, separated by a tab or a space; or a
JSON object with those fields of PageSpec that the client knows (`url`, `importance`, `crawl_id`, ...; spans in seconds,
times in ISO 8601). Under a header that begins with `url`, these fields are columns separated by tabs, and other
columns are ignored: `freshet export --format tsv` writes such files. Files that end in .gz are unpacked. Refused lines
are listed on standard error; then the exit code is 1.
"""

from __future__ import annotations

import argparse
import dataclasses
import gzip
import json
import sys
import time
import zlib
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import IO, Any

import freshet
from freshet import Page, safe_text

EVERY = 5.0
MOST_LINE_BYTES = 1 << 20


def lines_of(file: IO[bytes]) -> Iterator[bytes]:
    """The lines of a file; a line longer than MOST_LINE_BYTES is cut there, and its rest skipped."""
    while line := file.readline(MOST_LINE_BYTES):
        rest = line
        while len(rest) == MOST_LINE_BYTES and not rest.endswith(b"\n"):
            rest = file.readline(MOST_LINE_BYTES)
        yield line


SETTINGS = {field.name for field in dataclasses.fields(Page)}


def row_of(line: str, columns: list[str]) -> dict[str, Any]:
    """Reads the page of a line of a table; ignores empty cells."""
    cells = {name: cell for name, cell in zip(columns, line.split("\t"), strict=False) if cell and name in SETTINGS}
    fields: dict[str, Any] = dict(cells)
    for name in ("importance", "known_change_rate_per_day"):
        if name in cells:
            fields[name] = float(cells[name])
    if "complete_signals" in cells:
        fields["complete_signals"] = cells["complete_signals"].lower() in ("true", "1")
    return fields


def page_of(line: str, crawl_id: str, columns: list[str]) -> Page:
    """Parses a line. Raises ValueError if it is not a page."""
    if line.startswith("{") or columns:
        fields: dict[str, Any] = row_of(line, columns) if columns else json.loads(line)
        for name in ("min_interval", "max_interval"):
            if name in fields:
                fields[name] = timedelta(seconds=float(str(fields[name]).removesuffix("s")))
        for name in ("not_before", "last_crawl_time"):
            if name in fields:
                fields[name] = datetime.fromisoformat(fields[name].replace("Z", "+00:00"))
        fields.setdefault("crawl_id", crawl_id)
        try:
            page = Page(**fields)
        except TypeError as error:
            raise ValueError(str(error)) from None
        page.to_proto()
        return page
    url, _, importance = line.partition("\t") if "\t" in line else line.partition(" ")
    return Page(url, crawl_id=crawl_id, importance=float(importance) if importance.strip() else None)


class Loader:
    """Reads lines, counts invalid ones, and prints its progress every few seconds."""

    def __init__(self, crawl_id: str) -> None:
        self._crawl_id = crawl_id
        self.read = 0
        self.malformed = 0

    def pages(self, names: list[str]) -> Iterator[Page]:
        next_word = time.monotonic() + EVERY
        for name in names:
            with self._open(name) as lines:
                columns: list[str] = []
                for number, raw in enumerate(lines_of(lines), 1):
                    try:
                        if len(raw) == MOST_LINE_BYTES:
                            raise ValueError("the line is too long")
                        # Some editors begin a text with the byte order mark of UTF-8.
                        line = raw.decode("utf-8-sig" if number == 1 else "utf-8").strip()
                        if not line or line.startswith("#"):
                            continue
                        if number == 1 and line.split("\t")[0] == "url":
                            columns = line.split("\t")
                            continue
                        page = page_of(line, self._crawl_id, columns)
                    except (ValueError, TypeError, OverflowError, AttributeError, RecursionError) as error:
                        self.malformed += 1
                        print(safe_text(f"{name}:{number}: {error}"), file=sys.stderr)
                        continue
                    yield page
                    self.read += 1
                    if time.monotonic() > next_word:
                        next_word = time.monotonic() + EVERY
                        print(f"{self.read:,} pages", file=sys.stderr)

    def _open(self, name: str) -> IO[bytes]:
        if name == "-":
            return sys.stdin.buffer
        return gzip.open(name) if name.endswith(".gz") else open(name, "rb")  # type: ignore[return-value]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("files", nargs="*", default=["-"], metavar="FILE", help="files of pages; - is standard input")
    parser.add_argument("--server", help="address, or several by commas (FRESHET_SERVER, else 127.0.0.1:7071)")
    parser.add_argument("--crawl-id", default="", help="namespace of pages that name none (DEFAULT)")
    parser.add_argument("--reset", action="store_true", help="settings that a line does not have go back to defaults")
    options = parser.parse_args()
    loader = Loader(options.crawl_id)
    start = time.monotonic()
    try:
        with freshet.Ingester(options.server) as ingester:
            summary = ingester.upsert(loader.pages(options.files), reset_unset_settings=options.reset)
    except (OSError, EOFError, zlib.error, freshet.FreshetError) as error:
        print(safe_text(f"{sys.argv[0]}: {error}"), file=sys.stderr)
        return 2
    seconds = time.monotonic() - start
    for refusal in summary.refusals:
        print(safe_text(f"refused: {refusal.item}: {refusal.field}: {refusal.reason}"), file=sys.stderr)
    refused = summary.refused + loader.malformed
    print(f"{summary.applied:,} pages taken in {seconds:.1f} s, {refused:,} refused")
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main())
