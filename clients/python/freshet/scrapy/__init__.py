"""Scrapy on Freshet: the server says what to fetch, and gets back results and links.

    ADDONS = {"freshet.scrapy.Addon": 0}
    FRESHET_SERVER = "127.0.0.1:7071"

in the settings of a project is all; spiders stay unchanged. docs/workers.md explains the settings, and how each kind
of request is handled.
"""

from freshet.scrapy.addon import Addon
from freshet.scrapy.bridge import Bridge
from freshet.scrapy.middleware import FreshetLinksMiddleware, FreshetMiddleware
from freshet.scrapy.robots import FreshetRobotParser, FreshetRobotsTxtMiddleware
from freshet.scrapy.scheduler import FreshetScheduler

__all__ = [
    "Addon",
    "Bridge",
    "FreshetLinksMiddleware",
    "FreshetMiddleware",
    "FreshetRobotParser",
    "FreshetRobotsTxtMiddleware",
    "FreshetScheduler",
]
