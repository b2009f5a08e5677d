"""The client for programs that use asyncio. Each object belongs to the event loop that it is entered in."""

from freshet.aio.admin import Admin
from freshet.aio.ingester import Ingester
from freshet.aio.worker import Worker

__all__ = ["Admin", "Ingester", "Worker"]
