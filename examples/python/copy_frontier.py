#!/usr/bin/env python3
"""Copies the URLs of a crawl frontier, with their metadata and dates, to another frontier or to a file.

    copy_frontier.py old:7071 new:7071          ListURLs here, PutURLs there
    copy_frontier.py old:7071 urls.jsonl.gz     one URLItem as JSON a line, as DumpURLs writes them
    copy_frontier.py urls.jsonl.gz new:7071     those, or documents of StormCrawler's status index

A frontier speaks the crawl-frontier API (`urlfrontier.URLFrontier`) in plain text: the reference service of
crawler-commons, or Freshet. Copying again is harmless: the target keeps the newer item. Exit code: 0 all accepted, 1
some refused, 2 one side did not answer or could not be read.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import gzip
import json
import sys
from collections.abc import Iterator
from datetime import datetime
from typing import IO, Any, cast

import grpc

SERVICE = "/urlfrontier.URLFrontier/"
ALL = 2**31 - 1
STATUS = {0: "taken", 1: "skipped", 2: "failed"}

# --- The messages of the API, as Protobuf writes them: Item is a URLItem as JSON has it

Item = dict[str, Any]


def varint(value: int) -> bytes:
    low = value & 0x7F
    return bytes([low]) if value < 0x80 else bytes([low | 0x80]) + varint(value >> 7)


def field(number: int, value: int | str | bytes) -> bytes:
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def fields(message: bytes) -> Iterator[tuple[int, Any]]:
    """Numbers and values (int or bytes) of the fields of a message."""
    at = 0

    def read() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(message):
        tag = read()
        value = read()
        if tag & 7 == 0:
            yield tag >> 3, value
        else:
            yield tag >> 3, message[at : at + value]
            at += value


def encoded(item: Item) -> bytes:
    kind = "known" if "known" in item else "discovered"
    info = item[kind]["info"]
    message = field(1, info["url"]) + field(2, info.get("key", ""))
    for key, values in info.get("metadata", {}).items():
        texts = b"".join(field(1, text) for text in values.get("values", []))
        message += field(3, field(1, key) + field(2, texts))
    message = field(1, message + field(4, info.get("crawlID", "")))
    if kind == "discovered":
        return field(1, message)
    return field(2, message + field(2, int(item[kind].get("refetchableFromDate", 0))))


def decoded(message: bytes) -> Item:
    item: Item = {}
    for number, value in fields(message):
        if number in (1, 2):
            parts = dict(fields(value))
            content: Item = {"info": info_of(parts.get(1, b""))}
            if number == 2:
                content["refetchableFromDate"] = str(parts.get(2, 0))
            item["known" if number == 2 else "discovered"] = content
        elif number == 4:
            item["creationDate"] = str(value)
    return item


def info_of(message: bytes) -> Item:
    info: Item = {"metadata": {}}
    for number, value in fields(message):
        if number == 3:
            entry = dict(fields(value))
            texts = [text.decode() for _, text in fields(entry.get(2, b""))]
            info["metadata"][entry.get(1, b"").decode()] = {"values": texts}
        else:
            info[{1: "url", 2: "key", 4: "crawlID"}[number]] = value.decode()
    return info


# --- Files


def item_of_storm(document: Item) -> Item:
    """Converts a document of StormCrawler's status index."""
    document = document.get("_source", document)
    metadata = {}
    for key, values in document.get("metadata", {}).items():
        metadata[key.replace("%2E", ".")] = {"values": [values] if isinstance(values, str) else values}
    info = {"url": document["url"], "metadata": metadata}
    if document.get("status") == "DISCOVERED":
        return {"discovered": {"info": info}}
    date = document.get("nextFetchDate")
    seconds = int(datetime.fromisoformat(date.replace("Z", "+00:00")).timestamp()) if date else 0
    return {"known": {"info": info, "refetchableFromDate": seconds}}


def is_file(name: str) -> bool:
    return "/" in name or name.endswith((".json", ".jsonl", ".gz"))


def opened(name: str, mode: str) -> IO[str]:
    return cast("IO[str]", gzip.open(name, mode) if name.endswith(".gz") else open(name, mode))


def items_of_file(name: str, crawl: str) -> Iterator[bytes]:
    with opened(name, "rt") as lines:
        for line in lines:
            if not line.strip():
                continue
            item = json.loads(line)
            if "known" not in item and "discovered" not in item:
                item = item_of_storm(item)
                item[next(iter(item))]["info"]["crawlID"] = crawl
            yield encoded(item)


# --- The copy


def crawls_of(source: grpc.Channel) -> list[str]:
    answer = source.unary_unary(SERVICE + "ListCrawls", bytes, bytes)(b"")
    return [value.decode() for number, value in fields(answer) if number == 1]


def items_of(source: grpc.Channel, crawls: list[str]) -> Iterator[bytes]:
    for crawl in crawls or crawls_of(source):
        yield from source.unary_stream(SERVICE + "ListURLs", bytes, bytes)(field(2, ALL) + field(4, crawl))


class Reader:
    """Passes items on and keeps an error in them, which gRPC would not report since it reads them on a thread of its
    own."""

    def __init__(self, items: Iterator[bytes]) -> None:
        self._items = items
        self.failure: Exception | None = None

    def __iter__(self) -> Iterator[bytes]:
        try:
            yield from self._items
        except (grpc.RpcError, OSError, ValueError, KeyError) as failure:
            self.failure = failure


def put(items: Reader, target: grpc.Channel) -> collections.Counter[str]:
    """Returns how many items were accepted, skipped, failed."""
    counts: collections.Counter[str] = collections.Counter()
    for answer in target.stream_stream(SERVICE + "PutURLs", bytes, bytes)(iter(items)):
        # A missing field means zero.
        counts[STATUS[dict(fields(answer)).get(2, 0)]] += 1
    return counts


def write(items: Reader, name: str) -> collections.Counter[str]:
    counts: collections.Counter[str] = collections.Counter()
    with opened(name, "wt") as output:
        for item in items:
            output.write(json.dumps(decoded(item), ensure_ascii=False) + "\n")
            counts["taken"] += 1
    return counts


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("source", help="host:port of a frontier, or a file (*.json, *.jsonl, *.gz)")
    parser.add_argument("target", help="host:port of a frontier, or a file")
    parser.add_argument(
        "--crawl-id",
        action="append",
        default=[],
        help="of a frontier: only this crawl id, repeatable (all); of StormCrawler: where its URLs go (DEFAULT)",
    )
    options = parser.parse_args()
    try:
        with contextlib.ExitStack() as stack:
            if is_file(options.source):
                items = Reader(items_of_file(options.source, "".join(options.crawl_id[:1])))
            else:
                source = stack.enter_context(grpc.insecure_channel(options.source))
                items = Reader(items_of(source, options.crawl_id))
            if is_file(options.target):
                counts = write(items, options.target)
            else:
                counts = put(items, stack.enter_context(grpc.insecure_channel(options.target)))
            if items.failure:
                raise items.failure
    except (grpc.RpcError, OSError, ValueError, KeyError) as error:
        problem = error.details() if isinstance(error, grpc.Call) else error
        print(f"{sys.argv[0]}: {ascii(str(problem))[1:-1]}", file=sys.stderr)
        return 2
    print(f"{counts['taken']:,} taken, {counts['skipped']:,} skipped, {counts['failed']:,} failed")
    return 1 if counts["skipped"] or counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
