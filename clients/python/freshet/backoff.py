"""The wait before the next attempt: exponential, with jitter, so that a fleet does not return all at once."""

from __future__ import annotations

import random
from dataclasses import dataclass


@dataclass(frozen=True)
class Backoff:
    """Pauses in seconds: `first`, doubled with each failure in a row up to `longest`. The actual pause is a random
    part of that, between half and all."""

    first: float = 0.2
    longest: float = 20.0

    def __post_init__(self) -> None:
        if not 0 < self.first <= self.longest:
            raise ValueError(f"back-off needs 0 < first <= longest, not {self.first} and {self.longest}")

    def pause(self, failures: int, source: random.Random) -> float:
        """The pause after so many failures in a row; none after zero."""
        if failures <= 0:
            return 0.0
        whole = min(self.longest, self.first * 2.0 ** min(failures - 1, 60))
        return whole * source.uniform(0.5, 1.0)
