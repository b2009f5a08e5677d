"""Installs the parts of this package in a Scrapy project."""

from __future__ import annotations

import logging

from scrapy.settings import BaseSettings

# Outside of all others: it sees answers after redirects and robots.txt, and links after the spider's other middlewares.
MIDDLEWARE_ORDER = 10
SCRAPYS_ROBOTS = "scrapy.downloadermiddlewares.robotstxt.RobotsTxtMiddleware"
ROBOTS_ORDER = 100


class Addon:
    """Settings of the project win over those of the add-on, except SCHEDULER, its purpose."""

    def update_settings(self, settings: BaseSettings) -> None:
        # Scrapy logs at DEBUG by default, where gRPC names its event loop several times a page.
        grpc_logger = logging.getLogger("grpc._cython.cygrpc")
        if grpc_logger.level == logging.NOTSET:
            grpc_logger.setLevel(logging.INFO)
        settings.set("SCHEDULER", "freshet.scrapy.FreshetScheduler", "addon")
        middlewares = settings["DOWNLOADER_MIDDLEWARES"]
        middlewares.setdefault("freshet.scrapy.FreshetMiddleware", MIDDLEWARE_ORDER)
        settings["SPIDER_MIDDLEWARES"].setdefault("freshet.scrapy.FreshetLinksMiddleware", MIDDLEWARE_ORDER)
        # Replaces the middleware from which it is derived.
        if SCRAPYS_ROBOTS not in middlewares:
            middlewares[SCRAPYS_ROBOTS] = None
            middlewares.setdefault("freshet.scrapy.FreshetRobotsTxtMiddleware", ROBOTS_ORDER)
        for name, value in {
            "ROBOTSTXT_OBEY": True,
            "ROBOTSTXT_PARSER": "freshet.scrapy.FreshetRobotParser",
            # The server decides when a host is fetched; a delay here would only hold up assigned pages.
            "DOWNLOAD_DELAY": 0,
            "CONCURRENT_REQUESTS_PER_DOMAIN": settings.getint("CONCURRENT_REQUESTS"),
            "AUTOTHROTTLE_ENABLED": False,
            # Scrapy limits both the received bytes of an answer, and its decoded ones.
            "DOWNLOAD_MAXSIZE": 10 << 20,
            "TWISTED_REACTOR": "twisted.internet.asyncioreactor.AsyncioSelectorReactor",
        }.items():
            settings.set(name, value, "addon")
