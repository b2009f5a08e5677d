from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from server import Server

# Each page once, as fast as the rate allows: so what is counted of a page says what became of its result.
# An assignment that is on its way when the server is killed comes back when its lease ends.
ONCE = """\
politeness: {min_delay: 0s, max_in_flight: 0, min_page_interval: 1h}
leases: {backoff: 10ms}
"""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """A server that hands out each page once, a thousand a second."""
    with Server(tmp_path, "--crawl-rate", "1000", config=ONCE) as running:
        yield running
