from typing import Any

import grpc
import grpc.aio

class PagesServiceStub:
    # stream to stream, of pages_pb2
    UpsertPages: Any
    # unary to unary, of pages_pb2
    RemovePages: Any
    # unary to unary, of pages_pb2
    GetPage: Any
    # unary to unary, of pages_pb2
    RecheckPages: Any
    # unary to stream, of pages_pb2
    ListPages: Any
    # unary to stream, of pages_pb2
    ExportPages: Any
    def __init__(self, channel: grpc.Channel | grpc.aio.Channel) -> None: ...
