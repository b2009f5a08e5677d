"""The exceptions of the client. All are a FreshetError; wrong arguments are ValueError, as everywhere."""

from __future__ import annotations


class FreshetError(Exception):
    """Base of all errors of the client."""


class Unavailable(FreshetError):
    """No server answered at any address within the given time. A later attempt can help."""


class Denied(FreshetError):
    """The server does not know this token or certificate, or does not allow its owner this call."""


class CallFailed(FreshetError):
    """The server refused a call; `code` is the name of the gRPC status, such as NOT_FOUND."""

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(f"{code}: {reason}")
        self.code = code
        self.reason = reason


class Stopped(FreshetError):
    """The worker has stopped; it takes no more results."""
