"""Collects titles and links of pages. Freshet decides when and how often a page is fetched."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import scrapy
from scrapy.http import HtmlResponse, Response


class PagesSpider(scrapy.Spider):
    """A spider; `-a start=URL,URL` adds first pages, later runs need none."""

    name = "pages"

    def __init__(self, start: str = "", **arguments: Any) -> None:
        super().__init__(**arguments)
        self.start_urls = [url for url in start.split(",") if url]

    def parse(self, response: Response, **_: Any) -> Iterator[Any]:
        if not isinstance(response, HtmlResponse):
            return
        yield {
            "url": response.url,
            # A Python object for each of a million elements would take gigabytes: so XPath chooses the first.
            "title": response.xpath("(//title/text())[1]").get(default=""),
            "text": response.xpath("(//p/text())[1]").get(default=""),
            "known_since": str(response.meta["freshet"].last_crawl_time or ""),
        }
        # Links become pages that Freshet knows, and return when due.
        yield from response.follow_all(xpath="(//a[@href])[position() <= 1000]")
