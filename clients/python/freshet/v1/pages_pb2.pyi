from freshet.v1 import types_pb2 as _types_pb2
from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

BURST_CLASS_100_OR_MORE: BurstClass
BURST_CLASS_10_TO_99: BurstClass
BURST_CLASS_1_TO_2: BurstClass
BURST_CLASS_3_TO_9: BurstClass
BURST_CLASS_UNSPECIFIED: BurstClass
DECISION_BELOW_PRICE: Decision
DECISION_DUE: Decision
DECISION_FORCED: Decision
DECISION_HOST_BUSY: Decision
DECISION_LEASED: Decision
DECISION_NEVER: Decision
DECISION_PAUSED: Decision
DECISION_TOO_EARLY: Decision
DECISION_UNSPECIFIED: Decision
DESCRIPTOR: _descriptor.FileDescriptor
ESTIMATE_BASIS_KNOWN: EstimateBasis
ESTIMATE_BASIS_POOLED: EstimateBasis
ESTIMATE_BASIS_PRIOR: EstimateBasis
ESTIMATE_BASIS_UNSPECIFIED: EstimateBasis
TERM_ORIGIN_CRAWL_ID: TermOrigin
TERM_ORIGIN_DEFAULT: TermOrigin
TERM_ORIGIN_HOST: TermOrigin
TERM_ORIGIN_REPORTED: TermOrigin
TERM_ORIGIN_RULE: TermOrigin
TERM_ORIGIN_UNSPECIFIED: TermOrigin

class CrawlCap(_message.Message):
    __slots__ = ["count", "per"]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    PER_FIELD_NUMBER: _ClassVar[int]
    count: int
    per: _duration_pb2.Duration
    def __init__(self, count: _Optional[int] = ..., per: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class Explanation(_message.Message):
    __slots__ = ["as_of", "decision", "effective_elapsed", "estimates", "host_state", "next_expected_crawl_time", "observations", "policy", "price", "probability_fresh", "staleness", "staleness_rate_per_day", "value", "value_share", "why"]
    AS_OF_FIELD_NUMBER: _ClassVar[int]
    DECISION_FIELD_NUMBER: _ClassVar[int]
    EFFECTIVE_ELAPSED_FIELD_NUMBER: _ClassVar[int]
    ESTIMATES_FIELD_NUMBER: _ClassVar[int]
    HOST_STATE_FIELD_NUMBER: _ClassVar[int]
    NEXT_EXPECTED_CRAWL_TIME_FIELD_NUMBER: _ClassVar[int]
    OBSERVATIONS_FIELD_NUMBER: _ClassVar[int]
    POLICY_FIELD_NUMBER: _ClassVar[int]
    PRICE_FIELD_NUMBER: _ClassVar[int]
    PROBABILITY_FRESH_FIELD_NUMBER: _ClassVar[int]
    STALENESS_FIELD_NUMBER: _ClassVar[int]
    STALENESS_RATE_PER_DAY_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    VALUE_SHARE_FIELD_NUMBER: _ClassVar[int]
    WHY_FIELD_NUMBER: _ClassVar[int]
    as_of: _timestamp_pb2.Timestamp
    decision: Decision
    effective_elapsed: _duration_pb2.Duration
    estimates: PageEstimates
    host_state: HostState
    next_expected_crawl_time: _timestamp_pb2.Timestamp
    observations: _containers.RepeatedCompositeFieldContainer[Observation]
    policy: str
    price: float
    probability_fresh: float
    staleness: float
    staleness_rate_per_day: float
    value: float
    value_share: float
    why: str
    def __init__(self, as_of: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., decision: _Optional[_Union[Decision, str]] = ..., why: _Optional[str] = ..., policy: _Optional[str] = ..., value: _Optional[float] = ..., price: _Optional[float] = ..., effective_elapsed: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ..., staleness: _Optional[float] = ..., probability_fresh: _Optional[float] = ..., estimates: _Optional[_Union[PageEstimates, _Mapping]] = ..., next_expected_crawl_time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., host_state: _Optional[_Union[HostState, _Mapping]] = ..., observations: _Optional[_Iterable[_Union[Observation, _Mapping]]] = ..., value_share: _Optional[float] = ..., staleness_rate_per_day: _Optional[float] = ...) -> None: ...

class ExportPagesRequest(_message.Message):
    __slots__ = ["filter", "limit", "page_token"]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    filter: PageFilter
    limit: int
    page_token: str
    def __init__(self, filter: _Optional[_Union[PageFilter, _Mapping]] = ..., page_token: _Optional[str] = ..., limit: _Optional[int] = ...) -> None: ...

class ExportPagesResponse(_message.Message):
    __slots__ = ["next_page_token", "pages"]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    PAGES_FIELD_NUMBER: _ClassVar[int]
    next_page_token: str
    pages: _containers.RepeatedCompositeFieldContainer[PageRecord]
    def __init__(self, pages: _Optional[_Iterable[_Union[PageRecord, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class GetPageRequest(_message.Message):
    __slots__ = ["crawl_id", "url"]
    CRAWL_ID_FIELD_NUMBER: _ClassVar[int]
    URL_FIELD_NUMBER: _ClassVar[int]
    crawl_id: str
    url: str
    def __init__(self, url: _Optional[str] = ..., crawl_id: _Optional[str] = ...) -> None: ...

class GetPageResponse(_message.Message):
    __slots__ = ["explanation", "page"]
    EXPLANATION_FIELD_NUMBER: _ClassVar[int]
    PAGE_FIELD_NUMBER: _ClassVar[int]
    explanation: Explanation
    page: Page
    def __init__(self, page: _Optional[_Union[Page, _Mapping]] = ..., explanation: _Optional[_Union[Explanation, _Mapping]] = ...) -> None: ...

class HostGroup(_message.Message):
    __slots__ = ["max_in_flight", "min_delay", "name"]
    MAX_IN_FLIGHT_FIELD_NUMBER: _ClassVar[int]
    MIN_DELAY_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    max_in_flight: int
    min_delay: _duration_pb2.Duration
    name: str
    def __init__(self, name: _Optional[str] = ..., min_delay: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ..., max_in_flight: _Optional[int] = ...) -> None: ...

class HostState(_message.Message):
    __slots__ = ["blocked_until", "crawl_delay", "crawls_counted", "customised", "deleting", "group", "host", "hours", "hours_origin", "in_flight", "last_throttled_time", "max_crawls", "max_crawls_origin", "max_in_flight", "max_in_flight_origin", "min_delay", "min_delay_origin", "min_page_interval", "min_page_interval_origin", "next_allowed_time", "pages", "rule", "server_address", "throttled_answers"]
    BLOCKED_UNTIL_FIELD_NUMBER: _ClassVar[int]
    CRAWLS_COUNTED_FIELD_NUMBER: _ClassVar[int]
    CRAWL_DELAY_FIELD_NUMBER: _ClassVar[int]
    CUSTOMISED_FIELD_NUMBER: _ClassVar[int]
    DELETING_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    HOST_FIELD_NUMBER: _ClassVar[int]
    HOURS_FIELD_NUMBER: _ClassVar[int]
    HOURS_ORIGIN_FIELD_NUMBER: _ClassVar[int]
    IN_FLIGHT_FIELD_NUMBER: _ClassVar[int]
    LAST_THROTTLED_TIME_FIELD_NUMBER: _ClassVar[int]
    MAX_CRAWLS_FIELD_NUMBER: _ClassVar[int]
    MAX_CRAWLS_ORIGIN_FIELD_NUMBER: _ClassVar[int]
    MAX_IN_FLIGHT_FIELD_NUMBER: _ClassVar[int]
    MAX_IN_FLIGHT_ORIGIN_FIELD_NUMBER: _ClassVar[int]
    MIN_DELAY_FIELD_NUMBER: _ClassVar[int]
    MIN_DELAY_ORIGIN_FIELD_NUMBER: _ClassVar[int]
    MIN_PAGE_INTERVAL_FIELD_NUMBER: _ClassVar[int]
    MIN_PAGE_INTERVAL_ORIGIN_FIELD_NUMBER: _ClassVar[int]
    NEXT_ALLOWED_TIME_FIELD_NUMBER: _ClassVar[int]
    PAGES_FIELD_NUMBER: _ClassVar[int]
    RULE_FIELD_NUMBER: _ClassVar[int]
    SERVER_ADDRESS_FIELD_NUMBER: _ClassVar[int]
    THROTTLED_ANSWERS_FIELD_NUMBER: _ClassVar[int]
    blocked_until: _timestamp_pb2.Timestamp
    crawl_delay: _duration_pb2.Duration
    crawls_counted: int
    customised: bool
    deleting: bool
    group: HostGroup
    host: str
    hours: str
    hours_origin: TermOrigin
    in_flight: int
    last_throttled_time: _timestamp_pb2.Timestamp
    max_crawls: CrawlCap
    max_crawls_origin: TermOrigin
    max_in_flight: int
    max_in_flight_origin: TermOrigin
    min_delay: _duration_pb2.Duration
    min_delay_origin: TermOrigin
    min_page_interval: _duration_pb2.Duration
    min_page_interval_origin: TermOrigin
    next_allowed_time: _timestamp_pb2.Timestamp
    pages: int
    rule: str
    server_address: str
    throttled_answers: int
    def __init__(self, host: _Optional[str] = ..., min_delay: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ..., max_in_flight: _Optional[int] = ..., blocked_until: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., in_flight: _Optional[int] = ..., next_allowed_time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., customised: bool = ..., min_page_interval: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ..., throttled_answers: _Optional[int] = ..., last_throttled_time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., max_crawls: _Optional[_Union[CrawlCap, _Mapping]] = ..., crawls_counted: _Optional[int] = ..., hours: _Optional[str] = ..., crawl_delay: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ..., server_address: _Optional[str] = ..., rule: _Optional[str] = ..., group: _Optional[_Union[HostGroup, _Mapping]] = ..., min_delay_origin: _Optional[_Union[TermOrigin, str]] = ..., max_in_flight_origin: _Optional[_Union[TermOrigin, str]] = ..., min_page_interval_origin: _Optional[_Union[TermOrigin, str]] = ..., max_crawls_origin: _Optional[_Union[TermOrigin, str]] = ..., hours_origin: _Optional[_Union[TermOrigin, str]] = ..., pages: _Optional[int] = ..., deleting: bool = ...) -> None: ...

class Lease(_message.Message):
    __slots__ = ["deadline", "lease_id", "start_time", "worker"]
    DEADLINE_FIELD_NUMBER: _ClassVar[int]
    LEASE_ID_FIELD_NUMBER: _ClassVar[int]
    START_TIME_FIELD_NUMBER: _ClassVar[int]
    WORKER_FIELD_NUMBER: _ClassVar[int]
    deadline: _timestamp_pb2.Timestamp
    lease_id: int
    start_time: _timestamp_pb2.Timestamp
    worker: str
    def __init__(self, lease_id: _Optional[int] = ..., worker: _Optional[str] = ..., start_time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., deadline: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class ListPagesRequest(_message.Message):
    __slots__ = ["filter", "limit", "page_token"]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    filter: PageFilter
    limit: int
    page_token: str
    def __init__(self, filter: _Optional[_Union[PageFilter, _Mapping]] = ..., page_token: _Optional[str] = ..., limit: _Optional[int] = ...) -> None: ...

class ListPagesResponse(_message.Message):
    __slots__ = ["next_page_token", "pages"]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    PAGES_FIELD_NUMBER: _ClassVar[int]
    next_page_token: str
    pages: _containers.RepeatedCompositeFieldContainer[Page]
    def __init__(self, pages: _Optional[_Iterable[_Union[Page, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class Observation(_message.Message):
    __slots__ = ["changed", "elapsed", "fetch_time", "signals"]
    CHANGED_FIELD_NUMBER: _ClassVar[int]
    ELAPSED_FIELD_NUMBER: _ClassVar[int]
    FETCH_TIME_FIELD_NUMBER: _ClassVar[int]
    SIGNALS_FIELD_NUMBER: _ClassVar[int]
    changed: bool
    elapsed: _duration_pb2.Duration
    fetch_time: _timestamp_pb2.Timestamp
    signals: _containers.RepeatedCompositeFieldContainer[PendingSignals]
    def __init__(self, fetch_time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., elapsed: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ..., signals: _Optional[_Iterable[_Union[PendingSignals, _Mapping]]] = ..., changed: bool = ...) -> None: ...

class Page(_message.Message):
    __slots__ = ["changes", "complete_signals", "consecutive_errors", "content_digest", "crawl_id", "crawls", "etag", "first_seen_time", "host", "http_status", "importance", "known_change_rate_per_day", "last_change_time", "last_crawl_time", "last_modified", "last_outcome", "lease", "max_interval", "min_interval", "moved_to", "not_before", "pending_signals", "recheck_pending", "unanswered_leases", "url"]
    CHANGES_FIELD_NUMBER: _ClassVar[int]
    COMPLETE_SIGNALS_FIELD_NUMBER: _ClassVar[int]
    CONSECUTIVE_ERRORS_FIELD_NUMBER: _ClassVar[int]
    CONTENT_DIGEST_FIELD_NUMBER: _ClassVar[int]
    CRAWLS_FIELD_NUMBER: _ClassVar[int]
    CRAWL_ID_FIELD_NUMBER: _ClassVar[int]
    ETAG_FIELD_NUMBER: _ClassVar[int]
    FIRST_SEEN_TIME_FIELD_NUMBER: _ClassVar[int]
    HOST_FIELD_NUMBER: _ClassVar[int]
    HTTP_STATUS_FIELD_NUMBER: _ClassVar[int]
    IMPORTANCE_FIELD_NUMBER: _ClassVar[int]
    KNOWN_CHANGE_RATE_PER_DAY_FIELD_NUMBER: _ClassVar[int]
    LAST_CHANGE_TIME_FIELD_NUMBER: _ClassVar[int]
    LAST_CRAWL_TIME_FIELD_NUMBER: _ClassVar[int]
    LAST_MODIFIED_FIELD_NUMBER: _ClassVar[int]
    LAST_OUTCOME_FIELD_NUMBER: _ClassVar[int]
    LEASE_FIELD_NUMBER: _ClassVar[int]
    MAX_INTERVAL_FIELD_NUMBER: _ClassVar[int]
    MIN_INTERVAL_FIELD_NUMBER: _ClassVar[int]
    MOVED_TO_FIELD_NUMBER: _ClassVar[int]
    NOT_BEFORE_FIELD_NUMBER: _ClassVar[int]
    PENDING_SIGNALS_FIELD_NUMBER: _ClassVar[int]
    RECHECK_PENDING_FIELD_NUMBER: _ClassVar[int]
    UNANSWERED_LEASES_FIELD_NUMBER: _ClassVar[int]
    URL_FIELD_NUMBER: _ClassVar[int]
    changes: int
    complete_signals: bool
    consecutive_errors: int
    content_digest: bytes
    crawl_id: str
    crawls: int
    etag: str
    first_seen_time: _timestamp_pb2.Timestamp
    host: str
    http_status: int
    importance: float
    known_change_rate_per_day: float
    last_change_time: _timestamp_pb2.Timestamp
    last_crawl_time: _timestamp_pb2.Timestamp
    last_modified: _timestamp_pb2.Timestamp
    last_outcome: _types_pb2.CrawlOutcome
    lease: Lease
    max_interval: _duration_pb2.Duration
    min_interval: _duration_pb2.Duration
    moved_to: str
    not_before: _timestamp_pb2.Timestamp
    pending_signals: _containers.RepeatedCompositeFieldContainer[PendingSignals]
    recheck_pending: bool
    unanswered_leases: int
    url: str
    def __init__(self, url: _Optional[str] = ..., crawl_id: _Optional[str] = ..., importance: _Optional[float] = ..., min_interval: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ..., max_interval: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ..., not_before: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., known_change_rate_per_day: _Optional[float] = ..., complete_signals: bool = ..., host: _Optional[str] = ..., first_seen_time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., last_crawl_time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., last_change_time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., last_outcome: _Optional[_Union[_types_pb2.CrawlOutcome, str]] = ..., http_status: _Optional[int] = ..., etag: _Optional[str] = ..., last_modified: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., content_digest: _Optional[bytes] = ..., crawls: _Optional[int] = ..., changes: _Optional[int] = ..., consecutive_errors: _Optional[int] = ..., pending_signals: _Optional[_Iterable[_Union[PendingSignals, _Mapping]]] = ..., lease: _Optional[_Union[Lease, _Mapping]] = ..., recheck_pending: bool = ..., moved_to: _Optional[str] = ..., unanswered_leases: _Optional[int] = ...) -> None: ...

class PageEstimates(_message.Message):
    __slots__ = ["basis", "change_rate_per_day", "observations", "signal_rate_per_day", "signal_weight", "unsignalled_rate_per_day"]
    BASIS_FIELD_NUMBER: _ClassVar[int]
    CHANGE_RATE_PER_DAY_FIELD_NUMBER: _ClassVar[int]
    OBSERVATIONS_FIELD_NUMBER: _ClassVar[int]
    SIGNAL_RATE_PER_DAY_FIELD_NUMBER: _ClassVar[int]
    SIGNAL_WEIGHT_FIELD_NUMBER: _ClassVar[int]
    UNSIGNALLED_RATE_PER_DAY_FIELD_NUMBER: _ClassVar[int]
    basis: EstimateBasis
    change_rate_per_day: _types_pb2.Estimate
    observations: float
    signal_rate_per_day: float
    signal_weight: float
    unsignalled_rate_per_day: float
    def __init__(self, basis: _Optional[_Union[EstimateBasis, str]] = ..., change_rate_per_day: _Optional[_Union[_types_pb2.Estimate, _Mapping]] = ..., unsignalled_rate_per_day: _Optional[float] = ..., signal_rate_per_day: _Optional[float] = ..., signal_weight: _Optional[float] = ..., observations: _Optional[float] = ...) -> None: ...

class PageFilter(_message.Message):
    __slots__ = ["crawl_id", "host", "url_prefix"]
    CRAWL_ID_FIELD_NUMBER: _ClassVar[int]
    HOST_FIELD_NUMBER: _ClassVar[int]
    URL_PREFIX_FIELD_NUMBER: _ClassVar[int]
    crawl_id: str
    host: str
    url_prefix: str
    def __init__(self, crawl_id: _Optional[str] = ..., host: _Optional[str] = ..., url_prefix: _Optional[str] = ...) -> None: ...

class PageRecord(_message.Message):
    __slots__ = ["estimates", "observations", "page"]
    ESTIMATES_FIELD_NUMBER: _ClassVar[int]
    OBSERVATIONS_FIELD_NUMBER: _ClassVar[int]
    PAGE_FIELD_NUMBER: _ClassVar[int]
    estimates: PageEstimates
    observations: _containers.RepeatedCompositeFieldContainer[Observation]
    page: Page
    def __init__(self, page: _Optional[_Union[Page, _Mapping]] = ..., estimates: _Optional[_Union[PageEstimates, _Mapping]] = ..., observations: _Optional[_Iterable[_Union[Observation, _Mapping]]] = ...) -> None: ...

class PendingSignals(_message.Message):
    __slots__ = ["burst_class", "signals", "source"]
    BURST_CLASS_FIELD_NUMBER: _ClassVar[int]
    SIGNALS_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    burst_class: BurstClass
    signals: int
    source: str
    def __init__(self, source: _Optional[str] = ..., burst_class: _Optional[_Union[BurstClass, str]] = ..., signals: _Optional[int] = ...) -> None: ...

class RecheckPagesRequest(_message.Message):
    __slots__ = ["crawl_id", "urls"]
    CRAWL_ID_FIELD_NUMBER: _ClassVar[int]
    URLS_FIELD_NUMBER: _ClassVar[int]
    crawl_id: str
    urls: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, crawl_id: _Optional[str] = ..., urls: _Optional[_Iterable[str]] = ...) -> None: ...

class RecheckPagesResponse(_message.Message):
    __slots__ = ["ack"]
    ACK_FIELD_NUMBER: _ClassVar[int]
    ack: _types_pb2.BatchAck
    def __init__(self, ack: _Optional[_Union[_types_pb2.BatchAck, _Mapping]] = ...) -> None: ...

class RemovePagesRequest(_message.Message):
    __slots__ = ["crawl_id", "urls"]
    CRAWL_ID_FIELD_NUMBER: _ClassVar[int]
    URLS_FIELD_NUMBER: _ClassVar[int]
    crawl_id: str
    urls: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, crawl_id: _Optional[str] = ..., urls: _Optional[_Iterable[str]] = ...) -> None: ...

class RemovePagesResponse(_message.Message):
    __slots__ = ["ack"]
    ACK_FIELD_NUMBER: _ClassVar[int]
    ack: _types_pb2.BatchAck
    def __init__(self, ack: _Optional[_Union[_types_pb2.BatchAck, _Mapping]] = ...) -> None: ...

class UpsertPagesRequest(_message.Message):
    __slots__ = ["pages", "reset_unset_settings", "sequence"]
    PAGES_FIELD_NUMBER: _ClassVar[int]
    RESET_UNSET_SETTINGS_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    pages: _containers.RepeatedCompositeFieldContainer[_types_pb2.PageSpec]
    reset_unset_settings: bool
    sequence: int
    def __init__(self, sequence: _Optional[int] = ..., pages: _Optional[_Iterable[_Union[_types_pb2.PageSpec, _Mapping]]] = ..., reset_unset_settings: bool = ...) -> None: ...

class UpsertPagesResponse(_message.Message):
    __slots__ = ["ack"]
    ACK_FIELD_NUMBER: _ClassVar[int]
    ack: _types_pb2.BatchAck
    def __init__(self, ack: _Optional[_Union[_types_pb2.BatchAck, _Mapping]] = ...) -> None: ...

class BurstClass(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = []

class Decision(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = []

class EstimateBasis(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = []

class TermOrigin(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = []
