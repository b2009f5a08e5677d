"""A project that takes its requests from Freshet: with FRESHET_SERVER in the environment it needs only ADDONS."""

BOT_NAME = "pages"
SPIDER_MODULES = ["pages.spiders"]
USER_AGENT = "freshet-example/1.0"

ADDONS = {"freshet.scrapy.Addon": 0}
# FRESHET_SERVER = "127.0.0.1:7071"
# FRESHET_DIGEST = "pages.digest.main_part"

CONCURRENT_REQUESTS = 16
DOWNLOAD_TIMEOUT = 60
# The crawler's loop parses pages, and does nothing else meanwhile.
DOWNLOAD_MAXSIZE = 2 << 20
# Scrapy would keep all cookies of all sites.
COOKIES_ENABLED = False
TELNETCONSOLE_ENABLED = False
