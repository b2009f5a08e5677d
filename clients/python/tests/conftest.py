from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from server import Server

# Each page is assigned once, as fast as the rate allows: so a page's counts show what happened to its result. An
# assignment on its way when the server is killed returns when its lease ends.
ONCE = """\
politeness: {min_delay: 0s, max_in_flight: 0, min_page_interval: 1h}
leases: {backoff: 10ms}
"""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """A server that assigns each page once, at a thousand a second."""
    with Server(tmp_path, "--crawl-rate", "1000", config=ONCE) as running:
        yield running
