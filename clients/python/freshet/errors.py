"""What the client raises. All of it is a FreshetError; wrong arguments are ValueError, as everywhere."""

from __future__ import annotations


class FreshetError(Exception):
    """Base of all errors of the client."""


class Unavailable(FreshetError):
    """No server answered at any of the addresses within the time given. Trying again later can help."""


class Denied(FreshetError):
    """The server knows nobody by this token or certificate, or who it is may not do this."""


class CallFailed(FreshetError):
    """The server refused a call; `code` is the name of the gRPC status, such as NOT_FOUND."""

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(f"{code}: {reason}")
        self.code = code
        self.reason = reason


class Stopped(FreshetError):
    """The worker has stopped; it takes no more results."""
