"""Pages with their titles, and the links of each. When a page is fetched, and how often, is Freshet's decision."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import scrapy
from scrapy.http import HtmlResponse, Response


class PagesSpider(scrapy.Spider):
    """`-a start=URL,URL` adds pages to begin with; later runs need none."""

    name = "pages"

    def __init__(self, start: str = "", **arguments: Any) -> None:
        super().__init__(**arguments)
        self.start_urls = [url for url in start.split(",") if url]

    def parse(self, response: Response, **_: Any) -> Iterator[Any]:
        if not isinstance(response, HtmlResponse):
            return
        yield {
            "url": response.url,
            # An object of Python for each of a million elements takes gigabytes: so XPath chooses the first.
            "title": response.xpath("(//title/text())[1]").get(default=""),
            "text": response.xpath("(//p/text())[1]").get(default=""),
            "known_since": str(response.meta["freshet"].last_crawl_time or ""),
        }
        # Links are added to the pages that Freshet knows, and come back when it is their turn.
        yield from response.follow_all(xpath="(//a[@href])[position() <= 1000]")
