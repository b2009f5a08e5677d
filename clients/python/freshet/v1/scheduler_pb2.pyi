from freshet.v1 import types_pb2 as _types_pb2
from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor
NOTICE_KIND_ALLOWANCE: NoticeKind
NOTICE_KIND_DRAINING: NoticeKind
NOTICE_KIND_PAUSED: NoticeKind
NOTICE_KIND_REFUSED: NoticeKind
NOTICE_KIND_RESUMED: NoticeKind
NOTICE_KIND_STALLED: NoticeKind
NOTICE_KIND_UNSPECIFIED: NoticeKind
NOTICE_KIND_WELCOME: NoticeKind

class AllowanceUse(_message.Message):
    __slots__ = ["max_open_leases", "newcomers", "open_leases"]
    MAX_OPEN_LEASES_FIELD_NUMBER: _ClassVar[int]
    NEWCOMERS_FIELD_NUMBER: _ClassVar[int]
    OPEN_LEASES_FIELD_NUMBER: _ClassVar[int]
    max_open_leases: int
    newcomers: bool
    open_leases: int
    def __init__(self, max_open_leases: _Optional[int] = ..., open_leases: _Optional[int] = ..., newcomers: bool = ...) -> None: ...

class AssignmentBatch(_message.Message):
    __slots__ = ["assignments"]
    ASSIGNMENTS_FIELD_NUMBER: _ClassVar[int]
    assignments: _containers.RepeatedCompositeFieldContainer[_types_pb2.Assignment]
    def __init__(self, assignments: _Optional[_Iterable[_Union[_types_pb2.Assignment, _Mapping]]] = ...) -> None: ...

class CrawlRequest(_message.Message):
    __slots__ = ["credit", "hello", "results", "returned_leases"]
    CREDIT_FIELD_NUMBER: _ClassVar[int]
    HELLO_FIELD_NUMBER: _ClassVar[int]
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    RETURNED_LEASES_FIELD_NUMBER: _ClassVar[int]
    credit: Credit
    hello: WorkerHello
    results: ResultBatch
    returned_leases: LeaseReturn
    def __init__(self, hello: _Optional[_Union[WorkerHello, _Mapping]] = ..., credit: _Optional[_Union[Credit, _Mapping]] = ..., results: _Optional[_Union[ResultBatch, _Mapping]] = ..., returned_leases: _Optional[_Union[LeaseReturn, _Mapping]] = ...) -> None: ...

class CrawlResponse(_message.Message):
    __slots__ = ["assignments", "notice", "result_ack", "return_ack"]
    ASSIGNMENTS_FIELD_NUMBER: _ClassVar[int]
    NOTICE_FIELD_NUMBER: _ClassVar[int]
    RESULT_ACK_FIELD_NUMBER: _ClassVar[int]
    RETURN_ACK_FIELD_NUMBER: _ClassVar[int]
    assignments: AssignmentBatch
    notice: Notice
    result_ack: _types_pb2.BatchAck
    return_ack: _types_pb2.BatchAck
    def __init__(self, assignments: _Optional[_Union[AssignmentBatch, _Mapping]] = ..., result_ack: _Optional[_Union[_types_pb2.BatchAck, _Mapping]] = ..., return_ack: _Optional[_Union[_types_pb2.BatchAck, _Mapping]] = ..., notice: _Optional[_Union[Notice, _Mapping]] = ...) -> None: ...

class Credit(_message.Message):
    __slots__ = ["assignments"]
    ASSIGNMENTS_FIELD_NUMBER: _ClassVar[int]
    assignments: int
    def __init__(self, assignments: _Optional[int] = ...) -> None: ...

class LeaseReturn(_message.Message):
    __slots__ = ["lease_ids", "sequence"]
    LEASE_IDS_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    lease_ids: _containers.RepeatedScalarFieldContainer[int]
    sequence: int
    def __init__(self, sequence: _Optional[int] = ..., lease_ids: _Optional[_Iterable[int]] = ...) -> None: ...

class NextRequest(_message.Message):
    __slots__ = ["crawl_ids", "lease_duration", "max_assignments", "max_wait", "worker"]
    CRAWL_IDS_FIELD_NUMBER: _ClassVar[int]
    LEASE_DURATION_FIELD_NUMBER: _ClassVar[int]
    MAX_ASSIGNMENTS_FIELD_NUMBER: _ClassVar[int]
    MAX_WAIT_FIELD_NUMBER: _ClassVar[int]
    WORKER_FIELD_NUMBER: _ClassVar[int]
    crawl_ids: _containers.RepeatedScalarFieldContainer[str]
    lease_duration: _duration_pb2.Duration
    max_assignments: int
    max_wait: _duration_pb2.Duration
    worker: str
    def __init__(self, max_assignments: _Optional[int] = ..., max_wait: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ..., worker: _Optional[str] = ..., lease_duration: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ..., crawl_ids: _Optional[_Iterable[str]] = ...) -> None: ...

class NextResponse(_message.Message):
    __slots__ = ["allowance", "assignments", "retry_after"]
    ALLOWANCE_FIELD_NUMBER: _ClassVar[int]
    ASSIGNMENTS_FIELD_NUMBER: _ClassVar[int]
    RETRY_AFTER_FIELD_NUMBER: _ClassVar[int]
    allowance: AllowanceUse
    assignments: _containers.RepeatedCompositeFieldContainer[_types_pb2.Assignment]
    retry_after: _duration_pb2.Duration
    def __init__(self, assignments: _Optional[_Iterable[_Union[_types_pb2.Assignment, _Mapping]]] = ..., retry_after: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ..., allowance: _Optional[_Union[AllowanceUse, _Mapping]] = ...) -> None: ...

class Notice(_message.Message):
    __slots__ = ["error", "kind", "lease_duration", "max_open_leases", "text"]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    LEASE_DURATION_FIELD_NUMBER: _ClassVar[int]
    MAX_OPEN_LEASES_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    error: _types_pb2.ItemError
    kind: NoticeKind
    lease_duration: _duration_pb2.Duration
    max_open_leases: int
    text: str
    def __init__(self, kind: _Optional[_Union[NoticeKind, str]] = ..., text: _Optional[str] = ..., error: _Optional[_Union[_types_pb2.ItemError, _Mapping]] = ..., lease_duration: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ..., max_open_leases: _Optional[int] = ...) -> None: ...

class ResultBatch(_message.Message):
    __slots__ = ["results", "sequence"]
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    results: _containers.RepeatedCompositeFieldContainer[_types_pb2.CrawlResult]
    sequence: int
    def __init__(self, sequence: _Optional[int] = ..., results: _Optional[_Iterable[_Union[_types_pb2.CrawlResult, _Mapping]]] = ...) -> None: ...

class WorkerHello(_message.Message):
    __slots__ = ["crawl_ids", "lease_duration", "worker"]
    CRAWL_IDS_FIELD_NUMBER: _ClassVar[int]
    LEASE_DURATION_FIELD_NUMBER: _ClassVar[int]
    WORKER_FIELD_NUMBER: _ClassVar[int]
    crawl_ids: _containers.RepeatedScalarFieldContainer[str]
    lease_duration: _duration_pb2.Duration
    worker: str
    def __init__(self, worker: _Optional[str] = ..., lease_duration: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ..., crawl_ids: _Optional[_Iterable[str]] = ...) -> None: ...

class NoticeKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = []
