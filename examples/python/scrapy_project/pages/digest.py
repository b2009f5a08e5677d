"""What of a page counts as its content: advertisements and the date in its foot do not."""

import hashlib

from scrapy.http import HtmlResponse, Response


def main_part(response: Response) -> bytes:
    """The digest of the first texts of paragraphs; of everything where there are none."""
    if isinstance(response, HtmlResponse):
        # `p ::text` takes minutes for a page of many paragraphs.
        parts = response.xpath("(//text()[ancestor::p])[position() <= 10000]").getall()
        text = "\n".join(part.strip() for part in parts)
        if text:
            return hashlib.sha256(text.encode()).digest()
    return hashlib.sha256(response.body).digest()
