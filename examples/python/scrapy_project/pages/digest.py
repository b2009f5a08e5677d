"""Decides which part of a page counts as its content: not advertisements, nor the date in the footer."""

import hashlib
from itertools import islice

from scrapy.http import HtmlResponse, Response


def main_part(response: Response) -> bytes:
    """The digest of the first paragraphs' texts, or of the whole page if there are none."""
    if isinstance(response, HtmlResponse):
        # `p ::text` can take minutes for a page of many paragraphs.
        texts = (part for paragraph in response.selector.root.iter("p") for part in paragraph.itertext())
        text = "\n".join(part.strip() for part in islice(texts, 10_000))
        if text:
            return hashlib.sha256(text.encode()).digest()
    return hashlib.sha256(response.body).digest()
