"""What of a page counts as its content: advertisements and the date in its foot do not."""

import hashlib

from scrapy.http import HtmlResponse, Response


def main_part(response: Response) -> bytes:
    """The digest of the text of paragraphs; of everything where there are none."""
    if isinstance(response, HtmlResponse):
        text = "\n".join(part.strip() for part in response.css("p ::text").getall())
        if text:
            return hashlib.sha256(text.encode()).digest()
    return hashlib.sha256(response.body).digest()
