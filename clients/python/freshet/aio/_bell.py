"""Wakes tasks that wait for a change of state. Unlike a condition it needs no lock: there is one event loop."""

from __future__ import annotations

import asyncio


class Bell:
    """A bell that wakes all waiting tasks. Owner thread only: that of the event loop."""

    def __init__(self) -> None:
        self._waiters: set[asyncio.Future[None]] = set()

    def ring(self) -> None:
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)
        self._waiters.clear()

    async def wait(self, timeout: float | None = None) -> None:
        """Returns with the next ring, or once `timeout` seconds have passed."""
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters.add(waiter)
        try:
            await asyncio.wait({waiter}, timeout=timeout)
        finally:
            self._waiters.discard(waiter)
