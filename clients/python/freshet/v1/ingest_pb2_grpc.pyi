from typing import Any

import grpc
import grpc.aio

class IngestServiceStub:
    # stream to stream, of ingest_pb2
    ReportCrawls: Any
    # stream to stream, of ingest_pb2
    SignalChanges: Any
    def __init__(self, channel: grpc.Channel | grpc.aio.Channel) -> None: ...
