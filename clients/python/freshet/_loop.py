"""The event loop in which blocking objects run their asyncio counterparts: one thread for the whole process."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Coroutine, Iterator
from typing import Any, TypeVar

T = TypeVar("T")

_lock = threading.Lock()
_current: BackgroundLoop | None = None


class BackgroundLoop:
    """An event loop on a daemon thread, which keeps no program alive. Thread-safe."""

    def __init__(self) -> None:
        self.process = os.getpid()
        self.loop = asyncio.new_event_loop()
        threading.Thread(target=self.loop.run_forever, name="freshet", daemon=True).start()

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Runs the coroutine on the loop and waits for it. An end of the wait, such as Ctrl-C, cancels the
        coroutine."""
        future = asyncio.run_coroutine_threadsafe(coroutine, self.loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def iterate(self, items: AsyncIterator[T]) -> Iterator[T]:
        done = object()

        async def step() -> Any:
            return await anext(items, done)

        while (item := self.run(step())) is not done:
            yield item


def background_loop() -> BackgroundLoop:
    """The loop of this process, since a thread does not survive a fork."""
    global _current
    with _lock:
        if _current is None or _current.process != os.getpid():
            _current = BackgroundLoop()
        return _current
