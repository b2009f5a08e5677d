from typing import Any

import grpc
import grpc.aio

class AdminServiceStub:
    # unary to unary, of admin_pb2
    GetCrawlRate: Any
    # unary to unary, of admin_pb2
    SetCrawlRate: Any
    # unary to unary, of admin_pb2
    GetFleet: Any
    # unary to unary, of admin_pb2
    DrainNode: Any
    # unary to unary, of admin_pb2
    GetPolicy: Any
    # unary to unary, of admin_pb2
    SetPolicy: Any
    # unary to unary, of admin_pb2
    GetHost: Any
    # unary to unary, of admin_pb2
    SetHostPoliteness: Any
    # unary to unary, of admin_pb2
    GetPolitenessDefaults: Any
    # unary to unary, of admin_pb2
    SetPolitenessDefaults: Any
    # unary to unary, of admin_pb2
    Pause: Any
    # unary to unary, of admin_pb2
    Resume: Any
    # unary to unary, of admin_pb2
    RunEpoch: Any
    # unary to unary, of admin_pb2
    CreateCheckpoint: Any
    # unary to unary, of admin_pb2
    CompactStore: Any
    # unary to unary, of admin_pb2
    GetStatistics: Any
    # unary to unary, of admin_pb2
    GetTrustReport: Any
    # unary to unary, of admin_pb2
    RegisterSource: Any
    # unary to unary, of admin_pb2
    UnregisterSource: Any
    # unary to unary, of admin_pb2
    ListSources: Any
    # unary to unary, of admin_pb2
    ListCrawls: Any
    # unary to unary, of admin_pb2
    SetCrawl: Any
    # unary to unary, of admin_pb2
    DeleteCrawl: Any
    # unary to unary, of admin_pb2
    ReportShadow: Any
    # unary to unary, of admin_pb2
    ListHosts: Any
    # unary to unary, of admin_pb2
    DeleteHost: Any
    # unary to unary, of admin_pb2
    GetLogLevels: Any
    # unary to unary, of admin_pb2
    SetLogLevel: Any
    # unary to unary, of admin_pb2
    ListAudit: Any
    def __init__(self, channel: grpc.Channel | grpc.aio.Channel) -> None: ...
