"""The client for programs that use asyncio. Each object belongs to the event loop in which it is entered."""

from freshet.aio.admin import Admin
from freshet.aio.ingester import Ingester
from freshet.aio.worker import Worker

__all__ = ["Admin", "Ingester", "Worker"]
