"""Calls of operators, and reads of pages. Answers are messages of the API; spans are timedelta, instants datetime."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator, Sequence
from datetime import datetime, timedelta
from types import TracebackType
from typing import Any

import grpc
import grpc.aio

from freshet.aio._connections import Connections, failure
from freshet.backoff import Backoff
from freshet.errors import Unavailable
from freshet.target import Target
from freshet.types import to_duration, to_timestamp
from freshet.v1 import admin_pb2, auth_pb2, pages_pb2
from freshet.v1.admin_pb2_grpc import AdminServiceStub
from freshet.v1.auth_pb2_grpc import AuthServiceStub
from freshet.v1.pages_pb2_grpc import PagesServiceStub


def _set(message: Any, **fields: Any) -> Any:
    """Sets the fields that are not None."""
    for name, value in fields.items():
        if isinstance(value, timedelta):
            getattr(message, name).CopyFrom(to_duration(value))
        elif isinstance(value, datetime):
            getattr(message, name).CopyFrom(to_timestamp(value))
        elif value is not None:
            setattr(message, name, value)
    return message


class Admin:
    """The calls of operators, and reads of pages. If no server answers a call, tries the next address, for `patience`
    seconds in all, and then raises Unavailable; calls whose repetition could do harm are not retried. A server's
    refusal
    raises Denied or CallFailed, with the code, for example NOT_FOUND.

    Belongs to the event loop in which it is used.
    """

    def __init__(
        self,
        target: Target | str | Sequence[str] | None = None,
        *,
        patience: float = 10.0,
        timeout: float = 60.0,
        backoff: Backoff | None = None,
        connect_timeout: float = 5.0,
    ) -> None:
        self._connections = Connections(Target.of(target), backoff or Backoff(), connect_timeout, random.Random())
        self._patience = patience
        self._timeout = timeout
        self._channel: grpc.aio.Channel | None = None
        self._metadata: Any = ()

    async def __aenter__(self) -> Admin:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        if self._channel is not None:
            channel, self._channel = self._channel, None
            await channel.close()

    # --- Rate, policy, pause -----------------------------------------------------------------------------------------

    async def crawl_rate(self) -> float:
        """Assignments per second."""
        response = await self._call(AdminServiceStub, "GetCrawlRate", admin_pb2.GetCrawlRateRequest())
        return float(response.crawl_rate_per_second)

    async def set_crawl_rate(self, crawls_per_second: float) -> float:
        """Returns the previous rate."""
        request = admin_pb2.SetCrawlRateRequest(crawl_rate_per_second=crawls_per_second)
        return float((await self._call(AdminServiceStub, "SetCrawlRate", request)).previous_crawl_rate_per_second)

    async def policy(self) -> admin_pb2.GetPolicyResponse:
        return await self._call(AdminServiceStub, "GetPolicy", admin_pb2.GetPolicyRequest())

    async def set_policy(self, policy: str) -> str:
        """Returns the previous policy, once the new one is in force."""
        request = admin_pb2.SetPolicyRequest(policy=policy)
        return str((await self._call(AdminServiceStub, "SetPolicy", request)).previous_policy)

    async def pause(self, reason: str = "") -> bool:
        """Returns whether assignments were already paused."""
        return bool((await self._call(AdminServiceStub, "Pause", admin_pb2.PauseRequest(reason=reason))).was_paused)

    async def resume(self) -> bool:
        """Returns whether assignments had been paused."""
        return bool((await self._call(AdminServiceStub, "Resume", admin_pb2.ResumeRequest())).was_paused)

    async def fleet(self) -> admin_pb2.GetFleetResponse:
        """Which node serves each division of a cluster, and its state; divisions that do not answer are named."""
        return await self._call(AdminServiceStub, "GetFleet", admin_pb2.GetFleetRequest())

    async def drain_node(self, node: str) -> admin_pb2.DrainNodeResponse:
        """Moves what the node serves to its standbys; fleet() shows when they serve."""
        request = admin_pb2.DrainNodeRequest(node=node)
        return await self._call(AdminServiceStub, "DrainNode", request, once=True)

    # --- Politeness and hosts ----------------------------------------------------------------------------------------

    async def host(self, host: str) -> pages_pb2.HostState:
        """Politeness and state of a host, by its name or any URL of it."""
        response = await self._call(AdminServiceStub, "GetHost", admin_pb2.GetHostRequest(host=host))
        return response.host_state

    async def set_host_politeness(
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
        request = _set(
            admin_pb2.SetHostPolitenessRequest(host=host, reset=reset),
            min_delay=min_delay,
            max_in_flight=max_in_flight,
            min_page_interval=min_page_interval,
            blocked_until=blocked_until,
            hours=hours,
        )
        return (await self._call(AdminServiceStub, "SetHostPoliteness", request)).host_state

    async def politeness_defaults(self) -> admin_pb2.PolitenessDefaults:
        request = admin_pb2.GetPolitenessDefaultsRequest()
        return (await self._call(AdminServiceStub, "GetPolitenessDefaults", request)).defaults

    async def set_politeness_defaults(
        self,
        *,
        min_delay: timedelta | None = None,
        max_in_flight: int | None = None,
        min_page_interval: timedelta | None = None,
        reset: bool = False,
    ) -> admin_pb2.PolitenessDefaults:
        """Changes the settings that are not None; returns once they apply to all hosts."""
        request = _set(
            admin_pb2.SetPolitenessDefaultsRequest(reset=reset),
            min_delay=min_delay,
            max_in_flight=max_in_flight,
            min_page_interval=min_page_interval,
        )
        return (await self._call(AdminServiceStub, "SetPolitenessDefaults", request)).defaults

    async def hosts(self, *, prefix: str = "", contains: str = "") -> AsyncIterator[pages_pb2.HostState]:
        """Hosts that have pages or settings, in no order. Raises Unavailable at the end if a division is missing."""
        async for response in self._parts("ListHosts", admin_pb2.ListHostsRequest(prefix=prefix, contains=contains)):
            for host in response.hosts:
                yield host

    async def delete_host(self, host: str) -> pages_pb2.HostState:
        """Removes all pages and settings of a host."""
        response = await self._call(AdminServiceStub, "DeleteHost", admin_pb2.DeleteHostRequest(host=host))
        return response.host_state

    # --- Logs --------------------------------------------------------------------------------------------------------

    async def log_levels(self) -> dict[str, str]:
        """The lowest level that each module of the server logs."""
        response = await self._call(AdminServiceStub, "GetLogLevels", admin_pb2.GetLogLevelsRequest())
        return {module.module: module.level for module in response.modules}

    async def set_log_level(self, level: str, module: str = "") -> dict[str, str]:
        """Sets the level of all modules, or of one, until the server restarts. Returns the levels of all."""
        request = admin_pb2.SetLogLevelRequest(module=module, level=level)
        response = await self._call(AdminServiceStub, "SetLogLevel", request)
        return {entry.module: entry.level for entry in response.modules}

    async def audit(self, *, limit: int = 100, since: datetime | None = None) -> list[admin_pb2.AuditEntry]:
        """Changes and refused attempts, with their callers, newest first."""
        request = admin_pb2.ListAuditRequest(limit=limit)
        if since is not None:
            request.since.CopyFrom(to_timestamp(since))
        return list((await self._call(AdminServiceStub, "ListAudit", request)).entries)

    # --- Crawl ids ---------------------------------------------------------------------------------------------------

    async def crawls(self, crawl_id: str = "") -> AsyncIterator[admin_pb2.Crawl]:
        """Crawl ids that have pages or settings, by name. Raises Unavailable at the end if a division is missing."""
        async for response in self._parts("ListCrawls", admin_pb2.ListCrawlsRequest(crawl_id=crawl_id)):
            for crawl in response.crawls:
                yield crawl

    async def set_crawl(
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
        mode = None if frontier_mode is None else admin_pb2.FrontierMode.Value(f"FRONTIER_MODE_{frontier_mode.upper()}")
        request = _set(
            admin_pb2.SetCrawlRequest(crawl_id=crawl_id, reset=reset),
            share=share,
            max_rate_per_second=max_rate_per_second,
            max_pages=max_pages,
            min_delay=min_delay,
            max_in_flight=max_in_flight,
            min_page_interval=min_page_interval,
            frontier_mode=mode,
        )
        return (await self._call(AdminServiceStub, "SetCrawl", request)).crawl

    async def report_shadow(
        self, crawl_id: str, *, limit: int | None = None, examples: int | None = None
    ) -> admin_pb2.ReportShadowResponse:
        """What a crawl id in shadow mode would gain if it were scheduled; waits as long as that takes."""
        request = _set(admin_pb2.ReportShadowRequest(crawl_id=crawl_id), limit=limit, examples=examples)
        return await self._call(AdminServiceStub, "ReportShadow", request, bounded=False)

    async def delete_crawl(self, crawl_id: str) -> admin_pb2.Crawl:
        """Removes all pages and settings of a crawl id."""
        request = admin_pb2.DeleteCrawlRequest(crawl_id=crawl_id)
        return (await self._call(AdminServiceStub, "DeleteCrawl", request)).crawl

    # --- Maintenance and numbers -------------------------------------------------------------------------------------

    async def run_epoch(self) -> admin_pb2.RunEpochResponse:
        """Re-estimates all pages, and returns when it is done; waits as long as that takes."""
        return await self._call(AdminServiceStub, "RunEpoch", admin_pb2.RunEpochRequest(), once=True, bounded=False)

    async def create_checkpoint(self, name: str) -> admin_pb2.CreateCheckpointResponse:
        request = admin_pb2.CreateCheckpointRequest(name=name)
        return await self._call(AdminServiceStub, "CreateCheckpoint", request, once=True, bounded=False)

    async def compact_store(self) -> admin_pb2.CompactStoreResponse:
        return await self._call(AdminServiceStub, "CompactStore", admin_pb2.CompactStoreRequest(), bounded=False)

    async def statistics(self) -> admin_pb2.GetStatisticsResponse:
        request = admin_pb2.GetStatisticsRequest()
        return await self._call(AdminServiceStub, "GetStatistics", request)

    # --- Sources of signals ------------------------------------------------------------------------------------------

    async def sources(self) -> list[str]:
        """Names of the sources of signals."""
        response = await self._call(AdminServiceStub, "ListSources", admin_pb2.ListSourcesRequest())
        return [source.source for source in response.sources]

    async def register_source(self, source: str) -> None:
        """Makes a source of signals known."""
        await self._call(AdminServiceStub, "RegisterSource", admin_pb2.RegisterSourceRequest(source=source))

    async def unregister_source(self, source: str) -> None:
        """Makes the server refuse the signals of a source from now on."""
        await self._call(AdminServiceStub, "UnregisterSource", admin_pb2.UnregisterSourceRequest(source=source))

    async def trust_report(
        self, *, source: str = "", host: str = "", limit: int | None = None
    ) -> admin_pb2.GetTrustReportResponse:
        """How far each source can be trusted."""
        request = _set(admin_pb2.GetTrustReportRequest(source=source, host=host), limit=limit)
        return await self._call(AdminServiceStub, "GetTrustReport", request)

    # --- Pages -------------------------------------------------------------------------------------------------------

    async def page(self, url: str, *, crawl_id: str = "") -> pages_pb2.GetPageResponse:
        """One page, with an explanation of why it is, or is not, crawled now."""
        request = pages_pb2.GetPageRequest(url=url, crawl_id=crawl_id)
        return await self._call(PagesServiceStub, "GetPage", request)

    async def pages(
        self,
        *,
        crawl_id: str | None = None,
        host: str | None = None,
        url_prefix: str | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[pages_pb2.Page]:
        """Pages of a crawl id, of a host, or with this start of their URLs; continues after a broken connection."""
        request = pages_pb2.ListPagesRequest(filter=_filter(crawl_id, host, url_prefix))
        async for page in self._list("ListPages", request, limit):
            yield page

    async def export(
        self,
        *,
        crawl_id: str | None = None,
        host: str | None = None,
        url_prefix: str | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[pages_pb2.PageRecord]:
        """Like `pages`, with everything stored about each."""
        request = pages_pb2.ExportPagesRequest(filter=_filter(crawl_id, host, url_prefix))
        async for record in self._list("ExportPages", request, limit):
            yield record

    async def who_am_i(self) -> auth_pb2.WhoAmIResponse:
        """The server's name for the caller, and the calls that are allowed."""
        return await self._call(AuthServiceStub, "WhoAmI", auth_pb2.WhoAmIRequest())

    # --- Calling -----------------------------------------------------------------------------------------------------

    async def _call(self, stub: Any, method: str, request: Any, *, once: bool = False, bounded: bool = True) -> Any:
        end = time.monotonic() + self._patience
        while True:
            try:
                channel = await self._connected()
                call = getattr(stub(channel), method)
                response = await call(request, metadata=self._metadata, timeout=self._timeout if bounded else None)
                self._connections.succeeded()
                return response
            except grpc.aio.AioRpcError as error:
                if error.code() != grpc.StatusCode.UNAVAILABLE or once:
                    raise failure(error.code(), error.details() or "") from None
                await self._elsewhere(end, f"{error.code().name}: {error.details()}")
            except OSError as error:
                await self._elsewhere(end, str(error))

    async def _parts(self, method: str, request: Any) -> AsyncIterator[Any]:
        """All responses of a list; raises Unavailable at the end if divisions of a fleet have not answered."""
        missing: dict[int, str] = {}
        while True:
            response = await self._call(AdminServiceStub, method, request)
            yield response
            missing.update({each.division: each.reason for each in response.unanswered})
            request.page_token = response.next_page_token
            if not request.page_token:
                break
        if missing:
            raise Unavailable("; ".join(f"division {division}: {reason}" for division, reason in missing.items()))

    async def _list(self, method: str, request: Any, limit: int | None) -> AsyncIterator[Any]:
        end = time.monotonic() + self._patience
        left = limit
        while left is None or left > 0:
            if left is not None:
                request.limit = left
            try:
                channel = await self._connected()
                async for response in getattr(PagesServiceStub(channel), method)(request, metadata=self._metadata):
                    end = time.monotonic() + self._patience
                    request.page_token = response.next_page_token
                    left = None if left is None else left - len(response.pages)
                    for page in response.pages:
                        yield page
                return
            except grpc.aio.AioRpcError as error:
                if error.code() != grpc.StatusCode.UNAVAILABLE:
                    raise failure(error.code(), error.details() or "") from None
                await self._elsewhere(end, f"{error.code().name}: {error.details()}")
            except OSError as error:
                await self._elsewhere(end, str(error))

    async def _connected(self) -> grpc.aio.Channel:
        if self._channel is None:
            self._channel, self._metadata = await self._connections.open()
        return self._channel

    async def _elsewhere(self, end: float, problem: str) -> None:
        """Closes the connection and waits for the next attempt; raises if that would be too late."""
        await self.close()
        self._connections.failed()
        pause = self._connections.pause()
        if time.monotonic() + pause > end:
            raise Unavailable(problem)
        await asyncio.sleep(pause)


def _filter(crawl_id: str | None, host: str | None, url_prefix: str | None) -> pages_pb2.PageFilter:
    if host is not None and url_prefix is not None:
        raise ValueError("give host or url_prefix, not both")
    message: pages_pb2.PageFilter = _set(pages_pb2.PageFilter(), crawl_id=crawl_id, host=host, url_prefix=url_prefix)
    return message
