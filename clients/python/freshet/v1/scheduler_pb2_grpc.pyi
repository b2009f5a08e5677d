from typing import Any

import grpc
import grpc.aio

class SchedulerServiceStub:
    # stream to stream, of scheduler_pb2
    Crawl: Any
    # unary to unary, of scheduler_pb2
    Next: Any
    def __init__(self, channel: grpc.Channel | grpc.aio.Channel) -> None: ...
