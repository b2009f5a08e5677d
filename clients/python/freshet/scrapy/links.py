"""Links to be added. A link counts for the site whose page names it, wherever the link leads: sites take turns, and
each has a share of the places."""

from __future__ import annotations

from collections import OrderedDict, deque

from tldextract import TLDExtract

from freshet.types import Page

# Public suffixes from the library itself, which downloads no newer ones.
_split = TLDExtract(cache_dir=None, suffix_list_urls=(), include_psl_private_domains=True)


def site_of(url: str) -> str:
    """The registrable domain, since its owner can make any number of hosts in it; else the host."""
    parts = _split(url.lower())
    named = (parts.domain, parts.suffix) if parts.suffix else (parts.subdomain, parts.domain)
    return ".".join(part for part in named if part)


class FoundLinks:
    """A bounded queue, shared like the server's tables (core/base/shares.h). A site gets at most as many of three
    quarters of the places as are free of them; the last quarter is for sites that have none. Links without a site
    are the operator's, who may use all places."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._taken = 0
        self._by_site: OrderedDict[str, deque[Page]] = OrderedDict()

    def __len__(self) -> int:
        return self._taken

    def add(self, page: Page, site: str) -> bool:
        """Returns False if the site already has its share."""
        if not self._has_place(site):
            return False
        self._by_site.setdefault(site, deque()).append(page)
        self._taken += 1
        return True

    def take(self, most: int) -> list[Page]:
        """Removes and returns the next links, one of each site in turn."""
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
