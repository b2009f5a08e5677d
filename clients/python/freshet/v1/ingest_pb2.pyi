from freshet.v1 import types_pb2 as _types_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ReportCrawlsRequest(_message.Message):
    __slots__ = ["results", "sequence"]
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    results: _containers.RepeatedCompositeFieldContainer[_types_pb2.CrawlResult]
    sequence: int
    def __init__(self, sequence: _Optional[int] = ..., results: _Optional[_Iterable[_Union[_types_pb2.CrawlResult, _Mapping]]] = ...) -> None: ...

class ReportCrawlsResponse(_message.Message):
    __slots__ = ["ack"]
    ACK_FIELD_NUMBER: _ClassVar[int]
    ack: _types_pb2.BatchAck
    def __init__(self, ack: _Optional[_Union[_types_pb2.BatchAck, _Mapping]] = ...) -> None: ...

class SignalChangesRequest(_message.Message):
    __slots__ = ["poll_id", "poll_size", "sequence", "signals"]
    POLL_ID_FIELD_NUMBER: _ClassVar[int]
    POLL_SIZE_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    SIGNALS_FIELD_NUMBER: _ClassVar[int]
    poll_id: int
    poll_size: int
    sequence: int
    signals: _containers.RepeatedCompositeFieldContainer[_types_pb2.ChangeSignal]
    def __init__(self, sequence: _Optional[int] = ..., signals: _Optional[_Iterable[_Union[_types_pb2.ChangeSignal, _Mapping]]] = ..., poll_size: _Optional[int] = ..., poll_id: _Optional[int] = ...) -> None: ...

class SignalChangesResponse(_message.Message):
    __slots__ = ["ack"]
    ACK_FIELD_NUMBER: _ClassVar[int]
    ack: _types_pb2.BatchAck
    def __init__(self, ack: _Optional[_Union[_types_pb2.BatchAck, _Mapping]] = ...) -> None: ...
