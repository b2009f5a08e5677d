"""Links that wait to be added. The site whose pages name a link pays for it, wherever the link leads: sites take turns,
and each has a share of the places."""

from __future__ import annotations

from collections import OrderedDict, deque

from tldextract import TLDExtract

from freshet.types import Page

# Public suffixes as the library knows them; it asks nobody for newer ones.
_split = TLDExtract(cache_dir=None, suffix_list_urls=(), include_psl_private_domains=True)


def site_of(url: str) -> str:
    """The registrable domain, since its owner makes as many hosts of it as they want; else the host."""
    parts = _split(url.lower())
    named = (parts.domain, parts.suffix) if parts.suffix else (parts.subdomain, parts.domain)
    return ".".join(part for part in named if part)


class FoundLinks:
    """A bounded queue. As the server shares its tables (core/base/shares.h): a site takes at most as many places of
    three quarters as are free of them, and a site that has none finds one in the last quarter. What names no site is
    the operator's, who may take all."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._taken = 0
        self._by_site: OrderedDict[str, deque[Page]] = OrderedDict()

    def __len__(self) -> int:
        return self._taken

    def add(self, page: Page, site: str) -> bool:
        """False when the site has its share already."""
        if not self._has_place(site):
            return False
        self._by_site.setdefault(site, deque()).append(page)
        self._taken += 1
        return True

    def take(self, most: int) -> list[Page]:
        """The next ones, one of each site in turn."""
        batch: list[Page] = []
        while self._by_site and len(batch) < most:
            site, pages = self._by_site.popitem(last=False)
            batch.append(pages.popleft())
            if pages:
                self._by_site[site] = pages
        self._taken -= len(batch)
        return batch

    def _has_place(self, site: str) -> bool:
        if self._taken >= self._most:
            return False
        held = len(self._by_site.get(site, ()))
        return not site or held == 0 or held < self._most - self._most // 4 - self._taken
