"""Client of Freshet, which decides which known page a crawler fetches next.

`Worker` fetches pages, `Ingester` sends pages, signals and results, `Admin` operates a server. These block;
`freshet.aio` has the same for asyncio. `freshet.scrapy` connects Scrapy to a server, `freshet.http` makes results from
HTTP answers, and `freshet.v1` has the messages and stubs of the API itself.
"""

from importlib import metadata

from freshet import aio
from freshet._acks import Refusal, Summary
from freshet._session import WorkerStatistics
from freshet.admin import Admin
from freshet.backoff import Backoff
from freshet.errors import CallFailed, Denied, FreshetError, Stopped, Unavailable
from freshet.ingester import Ingester
from freshet.target import Target
from freshet.text import safe_text
from freshet.types import Assignment, Outcome, Page, Result, Signal
from freshet.worker import Worker

try:
    __version__ = metadata.version("freshet")
except metadata.PackageNotFoundError:  # used from a clone, not installed
    __version__ = "unknown"

__all__ = [
    "Admin",
    "Assignment",
    "Backoff",
    "CallFailed",
    "Denied",
    "FreshetError",
    "Ingester",
    "Outcome",
    "Page",
    "Refusal",
    "Result",
    "Signal",
    "Stopped",
    "Summary",
    "Target",
    "Unavailable",
    "Worker",
    "WorkerStatistics",
    "aio",
    "safe_text",
]
