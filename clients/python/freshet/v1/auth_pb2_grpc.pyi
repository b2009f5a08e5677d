from typing import Any

import grpc
import grpc.aio

class AuthServiceStub:
    # unary to unary, of auth_pb2
    WhoAmI: Any
    def __init__(self, channel: grpc.Channel | grpc.aio.Channel) -> None: ...
