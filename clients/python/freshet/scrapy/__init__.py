"""Scrapy on Freshet: what to fetch comes from the server, what was found goes back to it, and so do links.

    ADDONS = {"freshet.scrapy.Addon": 0}
    FRESHET_SERVER = "127.0.0.1:7071"

in the settings of a project is all; spiders stay as they are. See docs/workers.md for the settings and for what
becomes of which request.
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
