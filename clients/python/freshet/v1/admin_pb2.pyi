from freshet.v1 import pages_pb2 as _pages_pb2
from freshet.v1 import types_pb2 as _types_pb2
from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor
FRONTIER_MODE_DATES: FrontierMode
FRONTIER_MODE_SCHEDULED: FrontierMode
FRONTIER_MODE_SHADOW: FrontierMode
FRONTIER_MODE_UNSPECIFIED: FrontierMode

class AuditEntry(_message.Message):
    __slots__ = ["action", "after", "at", "before", "outcome", "repeats", "request", "request_id", "who"]
    ACTION_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    AT_FIELD_NUMBER: _ClassVar[int]
    BEFORE_FIELD_NUMBER: _ClassVar[int]
    FROM_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    REPEATS_FIELD_NUMBER: _ClassVar[int]
    REQUEST_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    WHO_FIELD_NUMBER: _ClassVar[int]
    action: str
    after: str
    at: _timestamp_pb2.Timestamp
    before: str
    outcome: str
    repeats: int
    request: str
    request_id: str
    who: str
    def __init__(self, at: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., request_id: _Optional[str] = ..., who: _Optional[str] = ..., action: _Optional[str] = ..., request: _Optional[str] = ..., before: _Optional[str] = ..., after: _Optional[str] = ..., outcome: _Optional[str] = ..., repeats: _Optional[int] = ..., **kwargs) -> None: ...

class CompactStoreRequest(_message.Message):
    __slots__ = []
    def __init__(self) -> None: ...

class CompactStoreResponse(_message.Message):
    __slots__ = ["bytes_after", "bytes_before", "duration"]
    BYTES_AFTER_FIELD_NUMBER: _ClassVar[int]
    BYTES_BEFORE_FIELD_NUMBER: _ClassVar[int]
    DURATION_FIELD_NUMBER: _ClassVar[int]
    bytes_after: int
    bytes_before: int
    duration: _duration_pb2.Duration
    def __init__(self, bytes_before: _Optional[int] = ..., bytes_after: _Optional[int] = ..., duration: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class Crawl(_message.Message):
    __slots__ = ["assignments", "changes", "crawl_id", "crawls", "deleting", "errors", "frontier_mode", "gone", "hosts", "out", "pages", "robots_denied", "settings"]
    ASSIGNMENTS_FIELD_NUMBER: _ClassVar[int]
    CHANGES_FIELD_NUMBER: _ClassVar[int]
    CRAWLS_FIELD_NUMBER: _ClassVar[int]
    CRAWL_ID_FIELD_NUMBER: _ClassVar[int]
    DELETING_FIELD_NUMBER: _ClassVar[int]
    ERRORS_FIELD_NUMBER: _ClassVar[int]
    FRONTIER_MODE_FIELD_NUMBER: _ClassVar[int]
    GONE_FIELD_NUMBER: _ClassVar[int]
    HOSTS_FIELD_NUMBER: _ClassVar[int]
    OUT_FIELD_NUMBER: _ClassVar[int]
    PAGES_FIELD_NUMBER: _ClassVar[int]
    ROBOTS_DENIED_FIELD_NUMBER: _ClassVar[int]
    SETTINGS_FIELD_NUMBER: _ClassVar[int]
    assignments: int
    changes: int
    crawl_id: str
    crawls: int
    deleting: bool
    errors: int
    frontier_mode: FrontierMode
    gone: int
    hosts: int
    out: int
    pages: int
    robots_denied: int
    settings: CrawlSettings
    def __init__(self, crawl_id: _Optional[str] = ..., settings: _Optional[_Union[CrawlSettings, _Mapping]] = ..., deleting: bool = ..., pages: _Optional[int] = ..., hosts: _Optional[int] = ..., out: _Optional[int] = ..., assignments: _Optional[int] = ..., crawls: _Optional[int] = ..., changes: _Optional[int] = ..., errors: _Optional[int] = ..., gone: _Optional[int] = ..., robots_denied: _Optional[int] = ..., frontier_mode: _Optional[_Union[FrontierMode, str]] = ...) -> None: ...

class CrawlSettings(_message.Message):
    __slots__ = ["frontier_mode", "max_in_flight", "max_pages", "max_rate_per_second", "min_delay", "min_page_interval", "share"]
    FRONTIER_MODE_FIELD_NUMBER: _ClassVar[int]
    MAX_IN_FLIGHT_FIELD_NUMBER: _ClassVar[int]
    MAX_PAGES_FIELD_NUMBER: _ClassVar[int]
    MAX_RATE_PER_SECOND_FIELD_NUMBER: _ClassVar[int]
    MIN_DELAY_FIELD_NUMBER: _ClassVar[int]
    MIN_PAGE_INTERVAL_FIELD_NUMBER: _ClassVar[int]
    SHARE_FIELD_NUMBER: _ClassVar[int]
    frontier_mode: FrontierMode
    max_in_flight: int
    max_pages: int
    max_rate_per_second: float
    min_delay: _duration_pb2.Duration
    min_page_interval: _duration_pb2.Duration
    share: float
    def __init__(self, share: _Optional[float] = ..., max_rate_per_second: _Optional[float] = ..., max_pages: _Optional[int] = ..., min_delay: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ..., max_in_flight: _Optional[int] = ..., min_page_interval: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ..., frontier_mode: _Optional[_Union[FrontierMode, str]] = ...) -> None: ...

class CreateCheckpointRequest(_message.Message):
    __slots__ = ["name"]
    NAME_FIELD_NUMBER: _ClassVar[int]
    name: str
    def __init__(self, name: _Optional[str] = ...) -> None: ...

class CreateCheckpointResponse(_message.Message):
    __slots__ = ["bytes", "duration", "path"]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    DURATION_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    bytes: int
    duration: _duration_pb2.Duration
    path: str
    def __init__(self, path: _Optional[str] = ..., bytes: _Optional[int] = ..., duration: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class DeleteCrawlRequest(_message.Message):
    __slots__ = ["crawl_id"]
    CRAWL_ID_FIELD_NUMBER: _ClassVar[int]
    crawl_id: str
    def __init__(self, crawl_id: _Optional[str] = ...) -> None: ...

class DeleteCrawlResponse(_message.Message):
    __slots__ = ["crawl"]
    CRAWL_FIELD_NUMBER: _ClassVar[int]
    crawl: Crawl
    def __init__(self, crawl: _Optional[_Union[Crawl, _Mapping]] = ...) -> None: ...

class DeleteHostRequest(_message.Message):
    __slots__ = ["host"]
    HOST_FIELD_NUMBER: _ClassVar[int]
    host: str
    def __init__(self, host: _Optional[str] = ...) -> None: ...

class DeleteHostResponse(_message.Message):
    __slots__ = ["host_state"]
    HOST_STATE_FIELD_NUMBER: _ClassVar[int]
    host_state: _pages_pb2.HostState
    def __init__(self, host_state: _Optional[_Union[_pages_pb2.HostState, _Mapping]] = ...) -> None: ...

class DrainNodeRequest(_message.Message):
    __slots__ = ["node"]
    NODE_FIELD_NUMBER: _ClassVar[int]
    node: str
    def __init__(self, node: _Optional[str] = ...) -> None: ...

class DrainNodeResponse(_message.Message):
    __slots__ = ["divisions", "unanswered"]
    DIVISIONS_FIELD_NUMBER: _ClassVar[int]
    UNANSWERED_FIELD_NUMBER: _ClassVar[int]
    divisions: _containers.RepeatedCompositeFieldContainer[DrainedDivision]
    unanswered: _containers.RepeatedCompositeFieldContainer[UnansweredDivision]
    def __init__(self, divisions: _Optional[_Iterable[_Union[DrainedDivision, _Mapping]]] = ..., unanswered: _Optional[_Iterable[_Union[UnansweredDivision, _Mapping]]] = ...) -> None: ...

class DrainedDivision(_message.Message):
    __slots__ = ["division", "refused", "standbys"]
    DIVISION_FIELD_NUMBER: _ClassVar[int]
    REFUSED_FIELD_NUMBER: _ClassVar[int]
    STANDBYS_FIELD_NUMBER: _ClassVar[int]
    division: int
    refused: str
    standbys: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, division: _Optional[int] = ..., refused: _Optional[str] = ..., standbys: _Optional[_Iterable[str]] = ...) -> None: ...

class FleetDivision(_message.Message):
    __slots__ = ["address", "crawl_rate_per_second", "division", "leads", "node", "open_leases", "pages", "paused", "price", "serves_since", "standbys", "sure", "unanswered", "waiting_partitions"]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    CRAWL_RATE_PER_SECOND_FIELD_NUMBER: _ClassVar[int]
    DIVISION_FIELD_NUMBER: _ClassVar[int]
    LEADS_FIELD_NUMBER: _ClassVar[int]
    NODE_FIELD_NUMBER: _ClassVar[int]
    OPEN_LEASES_FIELD_NUMBER: _ClassVar[int]
    PAGES_FIELD_NUMBER: _ClassVar[int]
    PAUSED_FIELD_NUMBER: _ClassVar[int]
    PRICE_FIELD_NUMBER: _ClassVar[int]
    SERVES_SINCE_FIELD_NUMBER: _ClassVar[int]
    STANDBYS_FIELD_NUMBER: _ClassVar[int]
    SURE_FIELD_NUMBER: _ClassVar[int]
    UNANSWERED_FIELD_NUMBER: _ClassVar[int]
    WAITING_PARTITIONS_FIELD_NUMBER: _ClassVar[int]
    address: str
    crawl_rate_per_second: float
    division: int
    leads: bool
    node: str
    open_leases: int
    pages: int
    paused: bool
    price: float
    serves_since: _timestamp_pb2.Timestamp
    standbys: _containers.RepeatedCompositeFieldContainer[FleetStandby]
    sure: bool
    unanswered: str
    waiting_partitions: int
    def __init__(self, division: _Optional[int] = ..., unanswered: _Optional[str] = ..., node: _Optional[str] = ..., address: _Optional[str] = ..., serves_since: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., sure: bool = ..., leads: bool = ..., pages: _Optional[int] = ..., open_leases: _Optional[int] = ..., crawl_rate_per_second: _Optional[float] = ..., price: _Optional[float] = ..., waiting_partitions: _Optional[int] = ..., paused: bool = ..., standbys: _Optional[_Iterable[_Union[FleetStandby, _Mapping]]] = ...) -> None: ...

class FleetStandby(_message.Message):
    __slots__ = ["address", "behind", "loaded", "node", "ready", "rows"]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    BEHIND_FIELD_NUMBER: _ClassVar[int]
    LOADED_FIELD_NUMBER: _ClassVar[int]
    NODE_FIELD_NUMBER: _ClassVar[int]
    READY_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    address: str
    behind: _duration_pb2.Duration
    loaded: bool
    node: str
    ready: bool
    rows: int
    def __init__(self, node: _Optional[str] = ..., address: _Optional[str] = ..., ready: bool = ..., behind: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ..., rows: _Optional[int] = ..., loaded: bool = ...) -> None: ...

class GetCrawlRateRequest(_message.Message):
    __slots__ = []
    def __init__(self) -> None: ...

class GetCrawlRateResponse(_message.Message):
    __slots__ = ["crawl_rate_per_second"]
    CRAWL_RATE_PER_SECOND_FIELD_NUMBER: _ClassVar[int]
    crawl_rate_per_second: float
    def __init__(self, crawl_rate_per_second: _Optional[float] = ...) -> None: ...

class GetFleetRequest(_message.Message):
    __slots__ = []
    def __init__(self) -> None: ...

class GetFleetResponse(_message.Message):
    __slots__ = ["cluster", "crawl_rate_per_second", "divisions"]
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
    CRAWL_RATE_PER_SECOND_FIELD_NUMBER: _ClassVar[int]
    DIVISIONS_FIELD_NUMBER: _ClassVar[int]
    cluster: str
    crawl_rate_per_second: float
    divisions: _containers.RepeatedCompositeFieldContainer[FleetDivision]
    def __init__(self, cluster: _Optional[str] = ..., divisions: _Optional[_Iterable[_Union[FleetDivision, _Mapping]]] = ..., crawl_rate_per_second: _Optional[float] = ...) -> None: ...

class GetHostRequest(_message.Message):
    __slots__ = ["host"]
    HOST_FIELD_NUMBER: _ClassVar[int]
    host: str
    def __init__(self, host: _Optional[str] = ...) -> None: ...

class GetHostResponse(_message.Message):
    __slots__ = ["host_state"]
    HOST_STATE_FIELD_NUMBER: _ClassVar[int]
    host_state: _pages_pb2.HostState
    def __init__(self, host_state: _Optional[_Union[_pages_pb2.HostState, _Mapping]] = ...) -> None: ...

class GetLogLevelsRequest(_message.Message):
    __slots__ = []
    def __init__(self) -> None: ...

class GetLogLevelsResponse(_message.Message):
    __slots__ = ["modules"]
    MODULES_FIELD_NUMBER: _ClassVar[int]
    modules: _containers.RepeatedCompositeFieldContainer[ModuleLogLevel]
    def __init__(self, modules: _Optional[_Iterable[_Union[ModuleLogLevel, _Mapping]]] = ...) -> None: ...

class GetPolicyRequest(_message.Message):
    __slots__ = []
    def __init__(self) -> None: ...

class GetPolicyResponse(_message.Message):
    __slots__ = ["available_policies", "pending_policy", "policy"]
    AVAILABLE_POLICIES_FIELD_NUMBER: _ClassVar[int]
    PENDING_POLICY_FIELD_NUMBER: _ClassVar[int]
    POLICY_FIELD_NUMBER: _ClassVar[int]
    available_policies: _containers.RepeatedScalarFieldContainer[str]
    pending_policy: str
    policy: str
    def __init__(self, policy: _Optional[str] = ..., available_policies: _Optional[_Iterable[str]] = ..., pending_policy: _Optional[str] = ...) -> None: ...

class GetPolitenessDefaultsRequest(_message.Message):
    __slots__ = []
    def __init__(self) -> None: ...

class GetPolitenessDefaultsResponse(_message.Message):
    __slots__ = ["configured", "defaults"]
    CONFIGURED_FIELD_NUMBER: _ClassVar[int]
    DEFAULTS_FIELD_NUMBER: _ClassVar[int]
    configured: PolitenessDefaults
    defaults: PolitenessDefaults
    def __init__(self, defaults: _Optional[_Union[PolitenessDefaults, _Mapping]] = ..., configured: _Optional[_Union[PolitenessDefaults, _Mapping]] = ...) -> None: ...

class GetStatisticsRequest(_message.Message):
    __slots__ = []
    def __init__(self) -> None: ...

class GetStatisticsResponse(_message.Message):
    __slots__ = ["ingest", "pages", "schedule", "server", "store", "unanswered"]
    INGEST_FIELD_NUMBER: _ClassVar[int]
    PAGES_FIELD_NUMBER: _ClassVar[int]
    SCHEDULE_FIELD_NUMBER: _ClassVar[int]
    SERVER_FIELD_NUMBER: _ClassVar[int]
    STORE_FIELD_NUMBER: _ClassVar[int]
    UNANSWERED_FIELD_NUMBER: _ClassVar[int]
    ingest: IngestStatistics
    pages: PageStatistics
    schedule: ScheduleStatistics
    server: ServerStatistics
    store: StoreStatistics
    unanswered: _containers.RepeatedCompositeFieldContainer[UnansweredDivision]
    def __init__(self, server: _Optional[_Union[ServerStatistics, _Mapping]] = ..., pages: _Optional[_Union[PageStatistics, _Mapping]] = ..., schedule: _Optional[_Union[ScheduleStatistics, _Mapping]] = ..., ingest: _Optional[_Union[IngestStatistics, _Mapping]] = ..., store: _Optional[_Union[StoreStatistics, _Mapping]] = ..., unanswered: _Optional[_Iterable[_Union[UnansweredDivision, _Mapping]]] = ...) -> None: ...

class GetTrustReportRequest(_message.Message):
    __slots__ = ["host", "limit", "source"]
    HOST_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    host: str
    limit: int
    source: str
    def __init__(self, source: _Optional[str] = ..., host: _Optional[str] = ..., limit: _Optional[int] = ...) -> None: ...

class GetTrustReportResponse(_message.Message):
    __slots__ = ["hosts", "sources", "unanswered"]
    HOSTS_FIELD_NUMBER: _ClassVar[int]
    SOURCES_FIELD_NUMBER: _ClassVar[int]
    UNANSWERED_FIELD_NUMBER: _ClassVar[int]
    hosts: _containers.RepeatedCompositeFieldContainer[HostTrust]
    sources: _containers.RepeatedCompositeFieldContainer[SourceTrust]
    unanswered: _containers.RepeatedCompositeFieldContainer[UnansweredDivision]
    def __init__(self, sources: _Optional[_Iterable[_Union[SourceTrust, _Mapping]]] = ..., hosts: _Optional[_Iterable[_Union[HostTrust, _Mapping]]] = ..., unanswered: _Optional[_Iterable[_Union[UnansweredDivision, _Mapping]]] = ...) -> None: ...

class HostTrust(_message.Message):
    __slots__ = ["believed_precision", "host", "precision", "quarantined_since", "recall", "recent_precision", "recent_signals", "signals", "source"]
    BELIEVED_PRECISION_FIELD_NUMBER: _ClassVar[int]
    HOST_FIELD_NUMBER: _ClassVar[int]
    PRECISION_FIELD_NUMBER: _ClassVar[int]
    QUARANTINED_SINCE_FIELD_NUMBER: _ClassVar[int]
    RECALL_FIELD_NUMBER: _ClassVar[int]
    RECENT_PRECISION_FIELD_NUMBER: _ClassVar[int]
    RECENT_SIGNALS_FIELD_NUMBER: _ClassVar[int]
    SIGNALS_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    believed_precision: float
    host: str
    precision: _types_pb2.Estimate
    quarantined_since: _timestamp_pb2.Timestamp
    recall: float
    recent_precision: float
    recent_signals: float
    signals: float
    source: str
    def __init__(self, host: _Optional[str] = ..., source: _Optional[str] = ..., signals: _Optional[float] = ..., precision: _Optional[_Union[_types_pb2.Estimate, _Mapping]] = ..., recall: _Optional[float] = ..., recent_signals: _Optional[float] = ..., recent_precision: _Optional[float] = ..., believed_precision: _Optional[float] = ..., quarantined_since: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class IngestStatistics(_message.Message):
    __slots__ = ["results_changed", "results_duplicate", "results_error", "results_gone", "results_observed_only", "results_refused", "results_robots_denied", "results_throttled", "results_unchanged", "signals_applied", "signals_duplicate", "signals_refused", "signals_stale", "signals_unknown_page", "upserts_applied", "upserts_refused"]
    RESULTS_CHANGED_FIELD_NUMBER: _ClassVar[int]
    RESULTS_DUPLICATE_FIELD_NUMBER: _ClassVar[int]
    RESULTS_ERROR_FIELD_NUMBER: _ClassVar[int]
    RESULTS_GONE_FIELD_NUMBER: _ClassVar[int]
    RESULTS_OBSERVED_ONLY_FIELD_NUMBER: _ClassVar[int]
    RESULTS_REFUSED_FIELD_NUMBER: _ClassVar[int]
    RESULTS_ROBOTS_DENIED_FIELD_NUMBER: _ClassVar[int]
    RESULTS_THROTTLED_FIELD_NUMBER: _ClassVar[int]
    RESULTS_UNCHANGED_FIELD_NUMBER: _ClassVar[int]
    SIGNALS_APPLIED_FIELD_NUMBER: _ClassVar[int]
    SIGNALS_DUPLICATE_FIELD_NUMBER: _ClassVar[int]
    SIGNALS_REFUSED_FIELD_NUMBER: _ClassVar[int]
    SIGNALS_STALE_FIELD_NUMBER: _ClassVar[int]
    SIGNALS_UNKNOWN_PAGE_FIELD_NUMBER: _ClassVar[int]
    UPSERTS_APPLIED_FIELD_NUMBER: _ClassVar[int]
    UPSERTS_REFUSED_FIELD_NUMBER: _ClassVar[int]
    results_changed: int
    results_duplicate: int
    results_error: int
    results_gone: int
    results_observed_only: int
    results_refused: int
    results_robots_denied: int
    results_throttled: int
    results_unchanged: int
    signals_applied: int
    signals_duplicate: int
    signals_refused: int
    signals_stale: int
    signals_unknown_page: int
    upserts_applied: int
    upserts_refused: int
    def __init__(self, results_changed: _Optional[int] = ..., results_unchanged: _Optional[int] = ..., results_error: _Optional[int] = ..., results_gone: _Optional[int] = ..., results_duplicate: _Optional[int] = ..., results_observed_only: _Optional[int] = ..., results_refused: _Optional[int] = ..., signals_applied: _Optional[int] = ..., signals_stale: _Optional[int] = ..., signals_duplicate: _Optional[int] = ..., signals_unknown_page: _Optional[int] = ..., signals_refused: _Optional[int] = ..., upserts_applied: _Optional[int] = ..., upserts_refused: _Optional[int] = ..., results_throttled: _Optional[int] = ..., results_robots_denied: _Optional[int] = ...) -> None: ...

class ListAuditRequest(_message.Message):
    __slots__ = ["limit", "since"]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    SINCE_FIELD_NUMBER: _ClassVar[int]
    limit: int
    since: _timestamp_pb2.Timestamp
    def __init__(self, limit: _Optional[int] = ..., since: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class ListAuditResponse(_message.Message):
    __slots__ = ["entries"]
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    entries: _containers.RepeatedCompositeFieldContainer[AuditEntry]
    def __init__(self, entries: _Optional[_Iterable[_Union[AuditEntry, _Mapping]]] = ...) -> None: ...

class ListCrawlsRequest(_message.Message):
    __slots__ = ["crawl_id", "page_size", "page_token"]
    CRAWL_ID_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    crawl_id: str
    page_size: int
    page_token: str
    def __init__(self, crawl_id: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListCrawlsResponse(_message.Message):
    __slots__ = ["crawls", "next_page_token", "unanswered"]
    CRAWLS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    UNANSWERED_FIELD_NUMBER: _ClassVar[int]
    crawls: _containers.RepeatedCompositeFieldContainer[Crawl]
    next_page_token: str
    unanswered: _containers.RepeatedCompositeFieldContainer[UnansweredDivision]
    def __init__(self, crawls: _Optional[_Iterable[_Union[Crawl, _Mapping]]] = ..., next_page_token: _Optional[str] = ..., unanswered: _Optional[_Iterable[_Union[UnansweredDivision, _Mapping]]] = ...) -> None: ...

class ListHostsRequest(_message.Message):
    __slots__ = ["contains", "page_size", "page_token", "prefix"]
    CONTAINS_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    PREFIX_FIELD_NUMBER: _ClassVar[int]
    contains: str
    page_size: int
    page_token: str
    prefix: str
    def __init__(self, prefix: _Optional[str] = ..., contains: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListHostsResponse(_message.Message):
    __slots__ = ["hosts", "next_page_token", "unanswered"]
    HOSTS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    UNANSWERED_FIELD_NUMBER: _ClassVar[int]
    hosts: _containers.RepeatedCompositeFieldContainer[_pages_pb2.HostState]
    next_page_token: str
    unanswered: _containers.RepeatedCompositeFieldContainer[UnansweredDivision]
    def __init__(self, hosts: _Optional[_Iterable[_Union[_pages_pb2.HostState, _Mapping]]] = ..., next_page_token: _Optional[str] = ..., unanswered: _Optional[_Iterable[_Union[UnansweredDivision, _Mapping]]] = ...) -> None: ...

class ListSourcesRequest(_message.Message):
    __slots__ = []
    def __init__(self) -> None: ...

class ListSourcesResponse(_message.Message):
    __slots__ = ["sources", "unanswered"]
    SOURCES_FIELD_NUMBER: _ClassVar[int]
    UNANSWERED_FIELD_NUMBER: _ClassVar[int]
    sources: _containers.RepeatedCompositeFieldContainer[Source]
    unanswered: _containers.RepeatedCompositeFieldContainer[UnansweredDivision]
    def __init__(self, sources: _Optional[_Iterable[_Union[Source, _Mapping]]] = ..., unanswered: _Optional[_Iterable[_Union[UnansweredDivision, _Mapping]]] = ...) -> None: ...

class ModuleLogLevel(_message.Message):
    __slots__ = ["level", "module"]
    LEVEL_FIELD_NUMBER: _ClassVar[int]
    MODULE_FIELD_NUMBER: _ClassVar[int]
    level: str
    module: str
    def __init__(self, module: _Optional[str] = ..., level: _Optional[str] = ...) -> None: ...

class PageStatistics(_message.Message):
    __slots__ = ["believed_freshness", "epoch", "gone_pages", "hosts", "importance", "last_epoch_duration", "last_epoch_time", "pages", "weighted_believed_freshness"]
    BELIEVED_FRESHNESS_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    GONE_PAGES_FIELD_NUMBER: _ClassVar[int]
    HOSTS_FIELD_NUMBER: _ClassVar[int]
    IMPORTANCE_FIELD_NUMBER: _ClassVar[int]
    LAST_EPOCH_DURATION_FIELD_NUMBER: _ClassVar[int]
    LAST_EPOCH_TIME_FIELD_NUMBER: _ClassVar[int]
    PAGES_FIELD_NUMBER: _ClassVar[int]
    WEIGHTED_BELIEVED_FRESHNESS_FIELD_NUMBER: _ClassVar[int]
    believed_freshness: float
    epoch: int
    gone_pages: int
    hosts: int
    importance: float
    last_epoch_duration: _duration_pb2.Duration
    last_epoch_time: _timestamp_pb2.Timestamp
    pages: int
    weighted_believed_freshness: float
    def __init__(self, pages: _Optional[int] = ..., hosts: _Optional[int] = ..., importance: _Optional[float] = ..., believed_freshness: _Optional[float] = ..., weighted_believed_freshness: _Optional[float] = ..., epoch: _Optional[int] = ..., last_epoch_time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., last_epoch_duration: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ..., gone_pages: _Optional[int] = ...) -> None: ...

class PauseRequest(_message.Message):
    __slots__ = ["reason"]
    REASON_FIELD_NUMBER: _ClassVar[int]
    reason: str
    def __init__(self, reason: _Optional[str] = ...) -> None: ...

class PauseResponse(_message.Message):
    __slots__ = ["was_paused"]
    WAS_PAUSED_FIELD_NUMBER: _ClassVar[int]
    was_paused: bool
    def __init__(self, was_paused: bool = ...) -> None: ...

class PolitenessDefaults(_message.Message):
    __slots__ = ["max_in_flight", "min_delay", "min_page_interval"]
    MAX_IN_FLIGHT_FIELD_NUMBER: _ClassVar[int]
    MIN_DELAY_FIELD_NUMBER: _ClassVar[int]
    MIN_PAGE_INTERVAL_FIELD_NUMBER: _ClassVar[int]
    max_in_flight: int
    min_delay: _duration_pb2.Duration
    min_page_interval: _duration_pb2.Duration
    def __init__(self, min_delay: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ..., max_in_flight: _Optional[int] = ..., min_page_interval: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class RegisterSourceRequest(_message.Message):
    __slots__ = ["source"]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    source: str
    def __init__(self, source: _Optional[str] = ...) -> None: ...

class RegisterSourceResponse(_message.Message):
    __slots__ = ["created", "source"]
    CREATED_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    created: bool
    source: Source
    def __init__(self, source: _Optional[_Union[Source, _Mapping]] = ..., created: bool = ...) -> None: ...

class ReportShadowRequest(_message.Message):
    __slots__ = ["crawl_id", "examples", "limit"]
    CRAWL_ID_FIELD_NUMBER: _ClassVar[int]
    EXAMPLES_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    crawl_id: str
    examples: int
    limit: int
    def __init__(self, crawl_id: _Optional[str] = ..., limit: _Optional[int] = ..., examples: _Optional[int] = ...) -> None: ...

class ReportShadowResponse(_message.Message):
    __slots__ = ["believed_freshness", "changes", "compared_crawls", "compared_pages", "comparison", "crawl_id", "crawls", "gone_pages", "never_crawled_pages", "pages", "pages_read", "too_often", "too_rarely", "why_not"]
    BELIEVED_FRESHNESS_FIELD_NUMBER: _ClassVar[int]
    CHANGES_FIELD_NUMBER: _ClassVar[int]
    COMPARED_CRAWLS_FIELD_NUMBER: _ClassVar[int]
    COMPARED_PAGES_FIELD_NUMBER: _ClassVar[int]
    COMPARISON_FIELD_NUMBER: _ClassVar[int]
    CRAWLS_FIELD_NUMBER: _ClassVar[int]
    CRAWL_ID_FIELD_NUMBER: _ClassVar[int]
    GONE_PAGES_FIELD_NUMBER: _ClassVar[int]
    NEVER_CRAWLED_PAGES_FIELD_NUMBER: _ClassVar[int]
    PAGES_FIELD_NUMBER: _ClassVar[int]
    PAGES_READ_FIELD_NUMBER: _ClassVar[int]
    TOO_OFTEN_FIELD_NUMBER: _ClassVar[int]
    TOO_RARELY_FIELD_NUMBER: _ClassVar[int]
    WHY_NOT_FIELD_NUMBER: _ClassVar[int]
    believed_freshness: float
    changes: int
    compared_crawls: int
    compared_pages: int
    comparison: ShadowComparison
    crawl_id: str
    crawls: int
    gone_pages: int
    never_crawled_pages: int
    pages: int
    pages_read: int
    too_often: _containers.RepeatedCompositeFieldContainer[ShadowPage]
    too_rarely: _containers.RepeatedCompositeFieldContainer[ShadowPage]
    why_not: str
    def __init__(self, crawl_id: _Optional[str] = ..., pages: _Optional[int] = ..., pages_read: _Optional[int] = ..., gone_pages: _Optional[int] = ..., never_crawled_pages: _Optional[int] = ..., compared_pages: _Optional[int] = ..., crawls: _Optional[int] = ..., compared_crawls: _Optional[int] = ..., changes: _Optional[int] = ..., believed_freshness: _Optional[float] = ..., comparison: _Optional[_Union[ShadowComparison, _Mapping]] = ..., why_not: _Optional[str] = ..., too_often: _Optional[_Iterable[_Union[ShadowPage, _Mapping]]] = ..., too_rarely: _Optional[_Iterable[_Union[ShadowPage, _Mapping]]] = ...) -> None: ...

class ResumeRequest(_message.Message):
    __slots__ = []
    def __init__(self) -> None: ...

class ResumeResponse(_message.Message):
    __slots__ = ["was_paused"]
    WAS_PAUSED_FIELD_NUMBER: _ClassVar[int]
    was_paused: bool
    def __init__(self, was_paused: bool = ...) -> None: ...

class RunEpochRequest(_message.Message):
    __slots__ = []
    def __init__(self) -> None: ...

class RunEpochResponse(_message.Message):
    __slots__ = ["duration", "epoch", "pages"]
    DURATION_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    PAGES_FIELD_NUMBER: _ClassVar[int]
    duration: _duration_pb2.Duration
    epoch: int
    pages: int
    def __init__(self, epoch: _Optional[int] = ..., pages: _Optional[int] = ..., duration: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class ScheduleStatistics(_message.Message):
    __slots__ = ["assignments", "crawl_rate_per_second", "expired_leases", "given_up_leases", "open_leases", "pause_reason", "paused", "pending_policy", "policy", "price", "returned_leases", "ticks_late", "ticks_without_credit", "ticks_without_page"]
    ASSIGNMENTS_FIELD_NUMBER: _ClassVar[int]
    CRAWL_RATE_PER_SECOND_FIELD_NUMBER: _ClassVar[int]
    EXPIRED_LEASES_FIELD_NUMBER: _ClassVar[int]
    GIVEN_UP_LEASES_FIELD_NUMBER: _ClassVar[int]
    OPEN_LEASES_FIELD_NUMBER: _ClassVar[int]
    PAUSED_FIELD_NUMBER: _ClassVar[int]
    PAUSE_REASON_FIELD_NUMBER: _ClassVar[int]
    PENDING_POLICY_FIELD_NUMBER: _ClassVar[int]
    POLICY_FIELD_NUMBER: _ClassVar[int]
    PRICE_FIELD_NUMBER: _ClassVar[int]
    RETURNED_LEASES_FIELD_NUMBER: _ClassVar[int]
    TICKS_LATE_FIELD_NUMBER: _ClassVar[int]
    TICKS_WITHOUT_CREDIT_FIELD_NUMBER: _ClassVar[int]
    TICKS_WITHOUT_PAGE_FIELD_NUMBER: _ClassVar[int]
    assignments: int
    crawl_rate_per_second: float
    expired_leases: int
    given_up_leases: int
    open_leases: int
    pause_reason: str
    paused: bool
    pending_policy: str
    policy: str
    price: float
    returned_leases: int
    ticks_late: int
    ticks_without_credit: int
    ticks_without_page: int
    def __init__(self, crawl_rate_per_second: _Optional[float] = ..., policy: _Optional[str] = ..., paused: bool = ..., pause_reason: _Optional[str] = ..., price: _Optional[float] = ..., assignments: _Optional[int] = ..., ticks_without_credit: _Optional[int] = ..., ticks_without_page: _Optional[int] = ..., ticks_late: _Optional[int] = ..., open_leases: _Optional[int] = ..., expired_leases: _Optional[int] = ..., returned_leases: _Optional[int] = ..., pending_policy: _Optional[str] = ..., given_up_leases: _Optional[int] = ...) -> None: ...

class ServerStatistics(_message.Message):
    __slots__ = ["reduced_allowances", "server_time", "shards", "start_time", "version", "worker_credit", "workers", "workers_at_allowance"]
    REDUCED_ALLOWANCES_FIELD_NUMBER: _ClassVar[int]
    SERVER_TIME_FIELD_NUMBER: _ClassVar[int]
    SHARDS_FIELD_NUMBER: _ClassVar[int]
    START_TIME_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    WORKERS_AT_ALLOWANCE_FIELD_NUMBER: _ClassVar[int]
    WORKERS_FIELD_NUMBER: _ClassVar[int]
    WORKER_CREDIT_FIELD_NUMBER: _ClassVar[int]
    reduced_allowances: int
    server_time: _timestamp_pb2.Timestamp
    shards: int
    start_time: _timestamp_pb2.Timestamp
    version: str
    worker_credit: int
    workers: int
    workers_at_allowance: int
    def __init__(self, version: _Optional[str] = ..., start_time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., server_time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., shards: _Optional[int] = ..., workers: _Optional[int] = ..., worker_credit: _Optional[int] = ..., workers_at_allowance: _Optional[int] = ..., reduced_allowances: _Optional[int] = ...) -> None: ...

class SetCrawlRateRequest(_message.Message):
    __slots__ = ["crawl_rate_per_second"]
    CRAWL_RATE_PER_SECOND_FIELD_NUMBER: _ClassVar[int]
    crawl_rate_per_second: float
    def __init__(self, crawl_rate_per_second: _Optional[float] = ...) -> None: ...

class SetCrawlRateResponse(_message.Message):
    __slots__ = ["crawl_rate_per_second", "previous_crawl_rate_per_second"]
    CRAWL_RATE_PER_SECOND_FIELD_NUMBER: _ClassVar[int]
    PREVIOUS_CRAWL_RATE_PER_SECOND_FIELD_NUMBER: _ClassVar[int]
    crawl_rate_per_second: float
    previous_crawl_rate_per_second: float
    def __init__(self, crawl_rate_per_second: _Optional[float] = ..., previous_crawl_rate_per_second: _Optional[float] = ...) -> None: ...

class SetCrawlRequest(_message.Message):
    __slots__ = ["crawl_id", "frontier_mode", "max_in_flight", "max_pages", "max_rate_per_second", "min_delay", "min_page_interval", "reset", "share"]
    CRAWL_ID_FIELD_NUMBER: _ClassVar[int]
    FRONTIER_MODE_FIELD_NUMBER: _ClassVar[int]
    MAX_IN_FLIGHT_FIELD_NUMBER: _ClassVar[int]
    MAX_PAGES_FIELD_NUMBER: _ClassVar[int]
    MAX_RATE_PER_SECOND_FIELD_NUMBER: _ClassVar[int]
    MIN_DELAY_FIELD_NUMBER: _ClassVar[int]
    MIN_PAGE_INTERVAL_FIELD_NUMBER: _ClassVar[int]
    RESET_FIELD_NUMBER: _ClassVar[int]
    SHARE_FIELD_NUMBER: _ClassVar[int]
    crawl_id: str
    frontier_mode: FrontierMode
    max_in_flight: int
    max_pages: int
    max_rate_per_second: float
    min_delay: _duration_pb2.Duration
    min_page_interval: _duration_pb2.Duration
    reset: bool
    share: float
    def __init__(self, crawl_id: _Optional[str] = ..., share: _Optional[float] = ..., max_rate_per_second: _Optional[float] = ..., max_pages: _Optional[int] = ..., min_delay: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ..., max_in_flight: _Optional[int] = ..., min_page_interval: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ..., reset: bool = ..., frontier_mode: _Optional[_Union[FrontierMode, str]] = ...) -> None: ...

class SetCrawlResponse(_message.Message):
    __slots__ = ["crawl"]
    CRAWL_FIELD_NUMBER: _ClassVar[int]
    crawl: Crawl
    def __init__(self, crawl: _Optional[_Union[Crawl, _Mapping]] = ...) -> None: ...

class SetHostPolitenessRequest(_message.Message):
    __slots__ = ["blocked_until", "host", "hours", "max_crawls", "max_in_flight", "min_delay", "min_page_interval", "reset"]
    BLOCKED_UNTIL_FIELD_NUMBER: _ClassVar[int]
    HOST_FIELD_NUMBER: _ClassVar[int]
    HOURS_FIELD_NUMBER: _ClassVar[int]
    MAX_CRAWLS_FIELD_NUMBER: _ClassVar[int]
    MAX_IN_FLIGHT_FIELD_NUMBER: _ClassVar[int]
    MIN_DELAY_FIELD_NUMBER: _ClassVar[int]
    MIN_PAGE_INTERVAL_FIELD_NUMBER: _ClassVar[int]
    RESET_FIELD_NUMBER: _ClassVar[int]
    blocked_until: _timestamp_pb2.Timestamp
    host: str
    hours: str
    max_crawls: _pages_pb2.CrawlCap
    max_in_flight: int
    min_delay: _duration_pb2.Duration
    min_page_interval: _duration_pb2.Duration
    reset: bool
    def __init__(self, host: _Optional[str] = ..., min_delay: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ..., max_in_flight: _Optional[int] = ..., blocked_until: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., reset: bool = ..., min_page_interval: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ..., max_crawls: _Optional[_Union[_pages_pb2.CrawlCap, _Mapping]] = ..., hours: _Optional[str] = ...) -> None: ...

class SetHostPolitenessResponse(_message.Message):
    __slots__ = ["host_state"]
    HOST_STATE_FIELD_NUMBER: _ClassVar[int]
    host_state: _pages_pb2.HostState
    def __init__(self, host_state: _Optional[_Union[_pages_pb2.HostState, _Mapping]] = ...) -> None: ...

class SetLogLevelRequest(_message.Message):
    __slots__ = ["level", "module"]
    LEVEL_FIELD_NUMBER: _ClassVar[int]
    MODULE_FIELD_NUMBER: _ClassVar[int]
    level: str
    module: str
    def __init__(self, module: _Optional[str] = ..., level: _Optional[str] = ...) -> None: ...

class SetLogLevelResponse(_message.Message):
    __slots__ = ["modules"]
    MODULES_FIELD_NUMBER: _ClassVar[int]
    modules: _containers.RepeatedCompositeFieldContainer[ModuleLogLevel]
    def __init__(self, modules: _Optional[_Iterable[_Union[ModuleLogLevel, _Mapping]]] = ...) -> None: ...

class SetPolicyRequest(_message.Message):
    __slots__ = ["policy"]
    POLICY_FIELD_NUMBER: _ClassVar[int]
    policy: str
    def __init__(self, policy: _Optional[str] = ...) -> None: ...

class SetPolicyResponse(_message.Message):
    __slots__ = ["policy", "previous_policy"]
    POLICY_FIELD_NUMBER: _ClassVar[int]
    PREVIOUS_POLICY_FIELD_NUMBER: _ClassVar[int]
    policy: str
    previous_policy: str
    def __init__(self, policy: _Optional[str] = ..., previous_policy: _Optional[str] = ...) -> None: ...

class SetPolitenessDefaultsRequest(_message.Message):
    __slots__ = ["max_in_flight", "min_delay", "min_page_interval", "reset"]
    MAX_IN_FLIGHT_FIELD_NUMBER: _ClassVar[int]
    MIN_DELAY_FIELD_NUMBER: _ClassVar[int]
    MIN_PAGE_INTERVAL_FIELD_NUMBER: _ClassVar[int]
    RESET_FIELD_NUMBER: _ClassVar[int]
    max_in_flight: int
    min_delay: _duration_pb2.Duration
    min_page_interval: _duration_pb2.Duration
    reset: bool
    def __init__(self, min_delay: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ..., max_in_flight: _Optional[int] = ..., min_page_interval: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ..., reset: bool = ...) -> None: ...

class SetPolitenessDefaultsResponse(_message.Message):
    __slots__ = ["defaults"]
    DEFAULTS_FIELD_NUMBER: _ClassVar[int]
    defaults: PolitenessDefaults
    def __init__(self, defaults: _Optional[_Union[PolitenessDefaults, _Mapping]] = ...) -> None: ...

class ShadowComparison(_message.Message):
    __slots__ = ["best_freshness", "best_freshness_without_signals", "crawls_per_day", "crawls_per_day_for_same", "freshness", "sampled_pages"]
    BEST_FRESHNESS_FIELD_NUMBER: _ClassVar[int]
    BEST_FRESHNESS_WITHOUT_SIGNALS_FIELD_NUMBER: _ClassVar[int]
    CRAWLS_PER_DAY_FIELD_NUMBER: _ClassVar[int]
    CRAWLS_PER_DAY_FOR_SAME_FIELD_NUMBER: _ClassVar[int]
    FRESHNESS_FIELD_NUMBER: _ClassVar[int]
    SAMPLED_PAGES_FIELD_NUMBER: _ClassVar[int]
    best_freshness: float
    best_freshness_without_signals: float
    crawls_per_day: float
    crawls_per_day_for_same: float
    freshness: float
    sampled_pages: int
    def __init__(self, crawls_per_day: _Optional[float] = ..., freshness: _Optional[float] = ..., best_freshness: _Optional[float] = ..., best_freshness_without_signals: _Optional[float] = ..., crawls_per_day_for_same: _Optional[float] = ..., sampled_pages: _Optional[int] = ...) -> None: ...

class ShadowPage(_message.Message):
    __slots__ = ["best_crawls_per_day", "change_rate_per_day", "crawls_per_day", "importance", "url"]
    BEST_CRAWLS_PER_DAY_FIELD_NUMBER: _ClassVar[int]
    CHANGE_RATE_PER_DAY_FIELD_NUMBER: _ClassVar[int]
    CRAWLS_PER_DAY_FIELD_NUMBER: _ClassVar[int]
    IMPORTANCE_FIELD_NUMBER: _ClassVar[int]
    URL_FIELD_NUMBER: _ClassVar[int]
    best_crawls_per_day: float
    change_rate_per_day: float
    crawls_per_day: float
    importance: float
    url: str
    def __init__(self, url: _Optional[str] = ..., importance: _Optional[float] = ..., change_rate_per_day: _Optional[float] = ..., crawls_per_day: _Optional[float] = ..., best_crawls_per_day: _Optional[float] = ...) -> None: ...

class Source(_message.Message):
    __slots__ = ["signals", "source"]
    SIGNALS_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    signals: int
    source: str
    def __init__(self, source: _Optional[str] = ..., signals: _Optional[int] = ...) -> None: ...

class SourceTrust(_message.Message):
    __slots__ = ["burst_class", "precision", "recall", "signal_weight", "signals", "source"]
    BURST_CLASS_FIELD_NUMBER: _ClassVar[int]
    PRECISION_FIELD_NUMBER: _ClassVar[int]
    RECALL_FIELD_NUMBER: _ClassVar[int]
    SIGNALS_FIELD_NUMBER: _ClassVar[int]
    SIGNAL_WEIGHT_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    burst_class: _pages_pb2.BurstClass
    precision: _types_pb2.Estimate
    recall: float
    signal_weight: float
    signals: float
    source: str
    def __init__(self, source: _Optional[str] = ..., burst_class: _Optional[_Union[_pages_pb2.BurstClass, str]] = ..., signals: _Optional[float] = ..., precision: _Optional[_Union[_types_pb2.Estimate, _Mapping]] = ..., recall: _Optional[float] = ..., signal_weight: _Optional[float] = ...) -> None: ...

class StoreStatistics(_message.Message):
    __slots__ = ["commits", "disk_bytes", "durability", "syncs", "write_error"]
    COMMITS_FIELD_NUMBER: _ClassVar[int]
    DISK_BYTES_FIELD_NUMBER: _ClassVar[int]
    DURABILITY_FIELD_NUMBER: _ClassVar[int]
    SYNCS_FIELD_NUMBER: _ClassVar[int]
    WRITE_ERROR_FIELD_NUMBER: _ClassVar[int]
    commits: int
    disk_bytes: int
    durability: str
    syncs: int
    write_error: str
    def __init__(self, durability: _Optional[str] = ..., disk_bytes: _Optional[int] = ..., commits: _Optional[int] = ..., syncs: _Optional[int] = ..., write_error: _Optional[str] = ...) -> None: ...

class UnansweredDivision(_message.Message):
    __slots__ = ["division", "reason"]
    DIVISION_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    division: int
    reason: str
    def __init__(self, division: _Optional[int] = ..., reason: _Optional[str] = ...) -> None: ...

class UnregisterSourceRequest(_message.Message):
    __slots__ = ["source"]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    source: str
    def __init__(self, source: _Optional[str] = ...) -> None: ...

class UnregisterSourceResponse(_message.Message):
    __slots__ = ["source"]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    source: Source
    def __init__(self, source: _Optional[_Union[Source, _Mapping]] = ...) -> None: ...

class FrontierMode(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = []
