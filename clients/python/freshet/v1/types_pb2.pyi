from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

CRAWL_OUTCOME_CHANGED: CrawlOutcome
CRAWL_OUTCOME_ERROR: CrawlOutcome
CRAWL_OUTCOME_GONE: CrawlOutcome
CRAWL_OUTCOME_MOVED: CrawlOutcome
CRAWL_OUTCOME_ROBOTS_DENIED: CrawlOutcome
CRAWL_OUTCOME_UNCHANGED: CrawlOutcome
CRAWL_OUTCOME_UNSPECIFIED: CrawlOutcome
DESCRIPTOR: _descriptor.FileDescriptor
ERROR_CODE_FAILED_PRECONDITION: ErrorCode
ERROR_CODE_INTERNAL: ErrorCode
ERROR_CODE_INVALID_ARGUMENT: ErrorCode
ERROR_CODE_NOT_FOUND: ErrorCode
ERROR_CODE_PERMISSION_DENIED: ErrorCode
ERROR_CODE_RESOURCE_EXHAUSTED: ErrorCode
ERROR_CODE_UNAVAILABLE: ErrorCode
ERROR_CODE_UNKNOWN_LEASE: ErrorCode
ERROR_CODE_UNKNOWN_SOURCE: ErrorCode
ERROR_CODE_UNSPECIFIED: ErrorCode
ITEM_OUTCOME_APPLIED: ItemOutcome
ITEM_OUTCOME_DUPLICATE: ItemOutcome
ITEM_OUTCOME_OBSERVED_ONLY: ItemOutcome
ITEM_OUTCOME_REFUSED: ItemOutcome
ITEM_OUTCOME_STALE: ItemOutcome
ITEM_OUTCOME_UNSPECIFIED: ItemOutcome

class Assignment(_message.Message):
    __slots__ = ["content_digest", "crawl_id", "deadline", "etag", "expected_value", "forced", "importance", "last_crawl_time", "last_modified", "lease_id", "url"]
    CONTENT_DIGEST_FIELD_NUMBER: _ClassVar[int]
    CRAWL_ID_FIELD_NUMBER: _ClassVar[int]
    DEADLINE_FIELD_NUMBER: _ClassVar[int]
    ETAG_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_VALUE_FIELD_NUMBER: _ClassVar[int]
    FORCED_FIELD_NUMBER: _ClassVar[int]
    IMPORTANCE_FIELD_NUMBER: _ClassVar[int]
    LAST_CRAWL_TIME_FIELD_NUMBER: _ClassVar[int]
    LAST_MODIFIED_FIELD_NUMBER: _ClassVar[int]
    LEASE_ID_FIELD_NUMBER: _ClassVar[int]
    URL_FIELD_NUMBER: _ClassVar[int]
    content_digest: bytes
    crawl_id: str
    deadline: _timestamp_pb2.Timestamp
    etag: str
    expected_value: float
    forced: bool
    importance: float
    last_crawl_time: _timestamp_pb2.Timestamp
    last_modified: _timestamp_pb2.Timestamp
    lease_id: int
    url: str
    def __init__(self, url: _Optional[str] = ..., crawl_id: _Optional[str] = ..., lease_id: _Optional[int] = ..., deadline: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., last_crawl_time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., etag: _Optional[str] = ..., last_modified: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., content_digest: _Optional[bytes] = ..., expected_value: _Optional[float] = ..., importance: _Optional[float] = ..., forced: bool = ...) -> None: ...

class BatchAck(_message.Message):
    __slots__ = ["error", "item_count", "sequence", "statuses"]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    ITEM_COUNT_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    STATUSES_FIELD_NUMBER: _ClassVar[int]
    error: ItemError
    item_count: int
    sequence: int
    statuses: _containers.RepeatedCompositeFieldContainer[ItemStatus]
    def __init__(self, sequence: _Optional[int] = ..., item_count: _Optional[int] = ..., statuses: _Optional[_Iterable[_Union[ItemStatus, _Mapping]]] = ..., error: _Optional[_Union[ItemError, _Mapping]] = ...) -> None: ...

class ChangeSignal(_message.Message):
    __slots__ = ["change_time", "crawl_id", "signal_id", "source", "url"]
    CHANGE_TIME_FIELD_NUMBER: _ClassVar[int]
    CRAWL_ID_FIELD_NUMBER: _ClassVar[int]
    SIGNAL_ID_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    URL_FIELD_NUMBER: _ClassVar[int]
    change_time: _timestamp_pb2.Timestamp
    crawl_id: str
    signal_id: str
    source: str
    url: str
    def __init__(self, url: _Optional[str] = ..., crawl_id: _Optional[str] = ..., source: _Optional[str] = ..., change_time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., signal_id: _Optional[str] = ...) -> None: ...

class CrawlResult(_message.Message):
    __slots__ = ["content_digest", "crawl_delay", "crawl_id", "etag", "fetch_time", "http_status", "last_modified", "lease_id", "moved_to", "outcome", "retry_after", "server_address", "url"]
    CONTENT_DIGEST_FIELD_NUMBER: _ClassVar[int]
    CRAWL_DELAY_FIELD_NUMBER: _ClassVar[int]
    CRAWL_ID_FIELD_NUMBER: _ClassVar[int]
    ETAG_FIELD_NUMBER: _ClassVar[int]
    FETCH_TIME_FIELD_NUMBER: _ClassVar[int]
    HTTP_STATUS_FIELD_NUMBER: _ClassVar[int]
    LAST_MODIFIED_FIELD_NUMBER: _ClassVar[int]
    LEASE_ID_FIELD_NUMBER: _ClassVar[int]
    MOVED_TO_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    RETRY_AFTER_FIELD_NUMBER: _ClassVar[int]
    SERVER_ADDRESS_FIELD_NUMBER: _ClassVar[int]
    URL_FIELD_NUMBER: _ClassVar[int]
    content_digest: bytes
    crawl_delay: _duration_pb2.Duration
    crawl_id: str
    etag: str
    fetch_time: _timestamp_pb2.Timestamp
    http_status: int
    last_modified: _timestamp_pb2.Timestamp
    lease_id: int
    moved_to: str
    outcome: CrawlOutcome
    retry_after: _duration_pb2.Duration
    server_address: str
    url: str
    def __init__(self, url: _Optional[str] = ..., crawl_id: _Optional[str] = ..., lease_id: _Optional[int] = ..., fetch_time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., outcome: _Optional[_Union[CrawlOutcome, str]] = ..., content_digest: _Optional[bytes] = ..., http_status: _Optional[int] = ..., retry_after: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ..., last_modified: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., etag: _Optional[str] = ..., moved_to: _Optional[str] = ..., crawl_delay: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ..., server_address: _Optional[str] = ...) -> None: ...

class Estimate(_message.Message):
    __slots__ = ["high", "low", "value"]
    HIGH_FIELD_NUMBER: _ClassVar[int]
    LOW_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    high: float
    low: float
    value: float
    def __init__(self, value: _Optional[float] = ..., low: _Optional[float] = ..., high: _Optional[float] = ...) -> None: ...

class ItemError(_message.Message):
    __slots__ = ["code", "field", "reason", "retry_after", "retryable"]
    CODE_FIELD_NUMBER: _ClassVar[int]
    FIELD_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    RETRYABLE_FIELD_NUMBER: _ClassVar[int]
    RETRY_AFTER_FIELD_NUMBER: _ClassVar[int]
    code: ErrorCode
    field: str
    reason: str
    retry_after: _duration_pb2.Duration
    retryable: bool
    def __init__(self, code: _Optional[_Union[ErrorCode, str]] = ..., field: _Optional[str] = ..., reason: _Optional[str] = ..., retryable: bool = ..., retry_after: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class ItemStatus(_message.Message):
    __slots__ = ["error", "index", "notes", "outcome"]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    INDEX_FIELD_NUMBER: _ClassVar[int]
    NOTES_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    error: ItemError
    index: int
    notes: _containers.RepeatedScalarFieldContainer[str]
    outcome: ItemOutcome
    def __init__(self, index: _Optional[int] = ..., outcome: _Optional[_Union[ItemOutcome, str]] = ..., error: _Optional[_Union[ItemError, _Mapping]] = ..., notes: _Optional[_Iterable[str]] = ...) -> None: ...

class PageSpec(_message.Message):
    __slots__ = ["complete_signals", "crawl_id", "importance", "known_change_rate_per_day", "last_crawl_time", "max_interval", "min_interval", "not_before", "url"]
    COMPLETE_SIGNALS_FIELD_NUMBER: _ClassVar[int]
    CRAWL_ID_FIELD_NUMBER: _ClassVar[int]
    IMPORTANCE_FIELD_NUMBER: _ClassVar[int]
    KNOWN_CHANGE_RATE_PER_DAY_FIELD_NUMBER: _ClassVar[int]
    LAST_CRAWL_TIME_FIELD_NUMBER: _ClassVar[int]
    MAX_INTERVAL_FIELD_NUMBER: _ClassVar[int]
    MIN_INTERVAL_FIELD_NUMBER: _ClassVar[int]
    NOT_BEFORE_FIELD_NUMBER: _ClassVar[int]
    URL_FIELD_NUMBER: _ClassVar[int]
    complete_signals: bool
    crawl_id: str
    importance: float
    known_change_rate_per_day: float
    last_crawl_time: _timestamp_pb2.Timestamp
    max_interval: _duration_pb2.Duration
    min_interval: _duration_pb2.Duration
    not_before: _timestamp_pb2.Timestamp
    url: str
    def __init__(self, url: _Optional[str] = ..., crawl_id: _Optional[str] = ..., importance: _Optional[float] = ..., min_interval: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ..., max_interval: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ..., not_before: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., known_change_rate_per_day: _Optional[float] = ..., complete_signals: bool = ..., last_crawl_time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class CrawlOutcome(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = []

class ErrorCode(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = []

class ItemOutcome(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = []
