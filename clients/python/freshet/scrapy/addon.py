"""Puts the parts in their places."""

from __future__ import annotations

import logging

from scrapy.settings import BaseSettings

# Outside of all others: it sees what is left of an answer when redirects and robots.txt have had their say, and what
# the spider's other middlewares leave of links.
MIDDLEWARE_ORDER = 10
SCRAPYS_ROBOTS = "scrapy.downloadermiddlewares.robotstxt.RobotsTxtMiddleware"
ROBOTS_ORDER = 100


class Addon:
    """Settings of the project win over those of the add-on, but for SCHEDULER, which is what it is about."""

    def update_settings(self, settings: BaseSettings) -> None:
        # Scrapy logs at DEBUG unless told otherwise, where gRPC says several times a page which loop it runs in.
        grpc_logger = logging.getLogger("grpc._cython.cygrpc")
        if grpc_logger.level == logging.NOTSET:
            grpc_logger.setLevel(logging.INFO)
        settings.set("SCHEDULER", "freshet.scrapy.FreshetScheduler", "addon")
        middlewares = settings["DOWNLOADER_MIDDLEWARES"]
        middlewares.setdefault("freshet.scrapy.FreshetMiddleware", MIDDLEWARE_ORDER)
        settings["SPIDER_MIDDLEWARES"].setdefault("freshet.scrapy.FreshetLinksMiddleware", MIDDLEWARE_ORDER)
        # In the place of the one that it is made of.
        if SCRAPYS_ROBOTS not in middlewares:
            middlewares[SCRAPYS_ROBOTS] = None
            middlewares.setdefault("freshet.scrapy.FreshetRobotsTxtMiddleware", ROBOTS_ORDER)
        for name, value in {
            "ROBOTSTXT_OBEY": True,
            "ROBOTSTXT_PARSER": "freshet.scrapy.FreshetRobotParser",
            # When a host is fetched is the server's decision; a delay here would only hold up what it has released.
            "DOWNLOAD_DELAY": 0,
            "CONCURRENT_REQUESTS_PER_DOMAIN": settings.getint("CONCURRENT_REQUESTS"),
            "AUTOTHROTTLE_ENABLED": False,
            # Scrapy takes so many bytes of an answer, and decodes it to as many.
            "DOWNLOAD_MAXSIZE": 10 << 20,
            "TWISTED_REACTOR": "twisted.internet.asyncioreactor.AsyncioSelectorReactor",
        }.items():
            settings.set(name, value, "addon")
