"""Calls of operators, and reads of pages, for programs without asyncio. Do not edit: generate.py derives this file from
freshet/aio/admin.py."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from types import TracebackType

from freshet import aio
from freshet._loop import background_loop
from freshet.backoff import Backoff
from freshet.target import Target
from freshet.v1 import admin_pb2, auth_pb2, pages_pb2


class Admin:
    """Parameters, calls and promises are those of freshet.aio.Admin. Thread-safe."""

    def __init__(
        self,
        target: Target | str | Sequence[str] | None = None,
        *,
        patience: float = 10.0,
        timeout: float = 60.0,
        backoff: Backoff | None = None,
        connect_timeout: float = 5.0,
    ) -> None:
        self._loop = background_loop()
        self._admin = aio.Admin(
            target, patience=patience, timeout=timeout, backoff=backoff, connect_timeout=connect_timeout
        )

    def __enter__(self) -> Admin:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        return self._loop.run(self._admin.close())

    def crawl_rate(self) -> float:
        """Assignments per second."""
        return self._loop.run(self._admin.crawl_rate())

    def set_crawl_rate(self, crawls_per_second: float) -> float:
        """Returns the previous rate."""
        return self._loop.run(self._admin.set_crawl_rate(crawls_per_second))

    def policy(self) -> admin_pb2.GetPolicyResponse:
        return self._loop.run(self._admin.policy())

    def set_policy(self, policy: str) -> str:
        """Returns the previous policy, once the new one is in force."""
        return self._loop.run(self._admin.set_policy(policy))

    def pause(self, reason: str = "") -> bool:
        """Returns whether assignments were already paused."""
        return self._loop.run(self._admin.pause(reason))

    def resume(self) -> bool:
        """Returns whether assignments had been paused."""
        return self._loop.run(self._admin.resume())

    def fleet(self) -> admin_pb2.GetFleetResponse:
        """Which node serves each division of a cluster, and its state; divisions that do not answer are named."""
        return self._loop.run(self._admin.fleet())

    def drain_node(self, node: str) -> admin_pb2.DrainNodeResponse:
        """Moves what the node serves to its standbys; fleet() shows when they serve."""
        return self._loop.run(self._admin.drain_node(node))

    def host(self, host: str) -> pages_pb2.HostState:
        """Politeness and state of a host, by its name or any URL of it."""
        return self._loop.run(self._admin.host(host))

    def set_host_politeness(
        self,
        host: str,
        *,
        min_delay: timedelta | None = None,
        max_in_flight: int | None = None,
        min_page_interval: timedelta | None = None,
        blocked_until: datetime | None = None,
        hours: str | None = None,
        reset: bool = False,
    ) -> pages_pb2.HostState:
        """Changes the settings that are not None."""
        return self._loop.run(
            self._admin.set_host_politeness(
                host,
                min_delay=min_delay,
                max_in_flight=max_in_flight,
                min_page_interval=min_page_interval,
                blocked_until=blocked_until,
                hours=hours,
                reset=reset,
            )
        )

    def politeness_defaults(self) -> admin_pb2.PolitenessDefaults:
        return self._loop.run(self._admin.politeness_defaults())

    def set_politeness_defaults(
        self,
        *,
        min_delay: timedelta | None = None,
        max_in_flight: int | None = None,
        min_page_interval: timedelta | None = None,
        reset: bool = False,
    ) -> admin_pb2.PolitenessDefaults:
        """Changes the settings that are not None; returns once they apply to all hosts."""
        return self._loop.run(
            self._admin.set_politeness_defaults(
                min_delay=min_delay,
                max_in_flight=max_in_flight,
                min_page_interval=min_page_interval,
                reset=reset,
            )
        )

    def hosts(self, *, prefix: str = "", contains: str = "") -> Iterator[pages_pb2.HostState]:
        """Hosts that have pages or settings, in no order. Raises Unavailable at the end if a division is missing."""
        return self._loop.iterate(self._admin.hosts(prefix=prefix, contains=contains))

    def delete_host(self, host: str) -> pages_pb2.HostState:
        """Removes all pages and settings of a host."""
        return self._loop.run(self._admin.delete_host(host))

    def log_levels(self) -> dict[str, str]:
        """The lowest level that each module of the server logs."""
        return self._loop.run(self._admin.log_levels())

    def set_log_level(self, level: str, module: str = "") -> dict[str, str]:
        """Sets the level of all modules, or of one, until the server restarts. Returns the levels of all."""
        return self._loop.run(self._admin.set_log_level(level, module))

    def audit(self, *, limit: int = 100, since: datetime | None = None) -> list[admin_pb2.AuditEntry]:
        """Changes and refused attempts, with their callers, newest first."""
        return self._loop.run(self._admin.audit(limit=limit, since=since))

    def crawls(self, crawl_id: str = "") -> Iterator[admin_pb2.Crawl]:
        """Crawl ids that have pages or settings, by name. Raises Unavailable at the end if a division is missing."""
        return self._loop.iterate(self._admin.crawls(crawl_id))

    def set_crawl(
        self,
        crawl_id: str,
        *,
        share: float | None = None,
        max_rate_per_second: float | None = None,
        max_pages: int | None = None,
        min_delay: timedelta | None = None,
        max_in_flight: int | None = None,
        min_page_interval: timedelta | None = None,
        frontier_mode: str | None = None,
        reset: bool = False,
    ) -> admin_pb2.Crawl:
        """Changes the settings that are not None. `frontier_mode`: "dates", "shadow" or "scheduled"
        (crawl-frontier API)."""
        return self._loop.run(
            self._admin.set_crawl(
                crawl_id,
                share=share,
                max_rate_per_second=max_rate_per_second,
                max_pages=max_pages,
                min_delay=min_delay,
                max_in_flight=max_in_flight,
                min_page_interval=min_page_interval,
                frontier_mode=frontier_mode,
                reset=reset,
            )
        )

    def report_shadow(
        self,
        crawl_id: str,
        *,
        limit: int | None = None,
        examples: int | None = None,
    ) -> admin_pb2.ReportShadowResponse:
        """What a crawl id in shadow mode would gain if it were scheduled; waits as long as that takes."""
        return self._loop.run(self._admin.report_shadow(crawl_id, limit=limit, examples=examples))

    def delete_crawl(self, crawl_id: str) -> admin_pb2.Crawl:
        """Removes all pages and settings of a crawl id."""
        return self._loop.run(self._admin.delete_crawl(crawl_id))

    def run_epoch(self) -> admin_pb2.RunEpochResponse:
        """Re-estimates all pages, and returns when it is done; waits as long as that takes."""
        return self._loop.run(self._admin.run_epoch())

    def create_checkpoint(self, name: str) -> admin_pb2.CreateCheckpointResponse:
        return self._loop.run(self._admin.create_checkpoint(name))

    def compact_store(self) -> admin_pb2.CompactStoreResponse:
        return self._loop.run(self._admin.compact_store())

    def statistics(self) -> admin_pb2.GetStatisticsResponse:
        return self._loop.run(self._admin.statistics())

    def sources(self) -> list[str]:
        """Names of the sources of signals."""
        return self._loop.run(self._admin.sources())

    def register_source(self, source: str) -> None:
        """Makes a source of signals known."""
        return self._loop.run(self._admin.register_source(source))

    def unregister_source(self, source: str) -> None:
        """Makes the server refuse the signals of a source from now on."""
        return self._loop.run(self._admin.unregister_source(source))

    def trust_report(
        self,
        *,
        source: str = "",
        host: str = "",
        limit: int | None = None,
    ) -> admin_pb2.GetTrustReportResponse:
        """How far each source can be trusted."""
        return self._loop.run(self._admin.trust_report(source=source, host=host, limit=limit))

    def page(self, url: str, *, crawl_id: str = "") -> pages_pb2.GetPageResponse:
        """One page, with an explanation of why it is, or is not, crawled now."""
        return self._loop.run(self._admin.page(url, crawl_id=crawl_id))

    def pages(
        self,
        *,
        crawl_id: str | None = None,
        host: str | None = None,
        url_prefix: str | None = None,
        limit: int | None = None,
    ) -> Iterator[pages_pb2.Page]:
        """Pages of a crawl id, of a host, or with this start of their URLs; continues after a broken connection."""
        return self._loop.iterate(self._admin.pages(crawl_id=crawl_id, host=host, url_prefix=url_prefix, limit=limit))

    def export(
        self,
        *,
        crawl_id: str | None = None,
        host: str | None = None,
        url_prefix: str | None = None,
        limit: int | None = None,
    ) -> Iterator[pages_pb2.PageRecord]:
        """Like `pages`, with everything stored about each."""
        return self._loop.iterate(self._admin.export(crawl_id=crawl_id, host=host, url_prefix=url_prefix, limit=limit))

    def who_am_i(self) -> auth_pb2.WhoAmIResponse:
        """The server's name for the caller, and the calls that are allowed."""
        return self._loop.run(self._admin.who_am_i())
