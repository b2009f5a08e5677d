"""A crawler that speaks the crawl-frontier API without knowing Freshet, like existing ones: it gets URLs, fetches
them, and reports results with the metadata that StormCrawler sends."""

from __future__ import annotations

import hashlib
import queue
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import grpc

LEASE_SECONDS = 30
# The date of a crawler without its own schedule; a scheduled crawl id ignores it.
NEXT_YEAR = 365 * 86400


class NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        return None


class Crawler:
    """`with Crawler(address, stubs) as crawler` crawls until its end. Thread-safe."""

    def __init__(self, address: str, stubs: tuple[ModuleType, ModuleType]) -> None:
        self.messages = stubs[0]
        self._channel = grpc.insecure_channel(address)
        self._frontier = stubs[1].URLFrontierStub(self._channel)
        self._opener = urllib.request.build_opener(NoRedirect)
        self._news: queue.Queue[Any] = queue.Queue()
        self._stopping = threading.Event()
        self.failed: list[str] = []
        self._threads = [threading.Thread(target=self._report), threading.Thread(target=self._crawl)]

    def __enter__(self) -> Crawler:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._threads[1].join()
        self._news.put(None)
        self._threads[0].join()
        self._channel.close()

    def discover(self, urls: list[str]) -> None:
        for url in urls:
            item = self.messages.URLItem(ID=url)
            item.discovered.info.url = url
            self._news.put(item)

    def status(self, url: str) -> Any:
        return self._frontier.GetURLStatus(self.messages.URLStatusRequest(url=url)).known.info

    def _report(self) -> None:
        """Sends results on one stream for its whole lifetime."""

        def items() -> Iterator[Any]:
            while (item := self._news.get()) is not None:
                yield item

        for ack in self._frontier.PutURLs(items()):
            if ack.status != self.messages.AckMessage.OK:
                self.failed.append(ack.ID)

    def _crawl(self) -> None:
        params = self.messages.GetParams(max_urls_per_queue=1, max_queues=10, delay_requestable=LEASE_SECONDS)
        params.crawlID = "DEFAULT"
        while not self._stopping.is_set():
            for info in self._frontier.GetURLs(params):
                self._news.put(self._fetch(info))

    def _fetch(self, info: Any) -> Any:
        request = urllib.request.Request(info.url)
        if etag := info.metadata["etag"].values if "etag" in info.metadata else None:
            request.add_header("If-None-Match", etag[0])
        try:
            with self._opener.open(request, timeout=10) as response:
                status, body, headers = response.status, response.read(), response.headers
        except urllib.error.HTTPError as error:
            status, body, headers = error.code, b"", error.headers
        item = self.messages.URLItem(ID=info.url)
        item.known.refetchable_from_date = int(time.time()) + NEXT_YEAR
        known = item.known.info
        known.CopyFrom(info)
        values = {"fetch.statusCode": str(status)}
        if status == 200:
            values |= {"signature": hashlib.md5(body).hexdigest(), "etag": headers["ETag"]}
        for key, value in values.items():
            known.metadata[key].CopyFrom(self.messages.StringList(values=[value]))
        return item
