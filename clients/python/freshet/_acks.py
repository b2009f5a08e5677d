"""Interprets a server's acknowledgement for the items of a batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from freshet.types import from_duration
from freshet.v1 import types_pb2

T = TypeVar("T")

# The pause if the server asks to send an item again without saying when.
_DEFAULT_PAUSE = 1.0
# The longest pause, whatever a server says: a retry costs little, and a long wait would hide everything.
_LONGEST_PAUSE = 300.0
_REFUSALS_KEPT = 1_000


@dataclass(frozen=True)
class Refusal:
    """An item that the server refused for good: its URL or lease id, and the reason."""

    item: str
    code: str
    field: str
    reason: str


@dataclass
class Summary:
    """The outcomes of sent items. `refusals` has the first thousand of those counted as refused."""

    applied: int = 0
    duplicate: int = 0
    observed_only: int = 0
    stale: int = 0
    refused: int = 0
    refusals: list[Refusal] = field(default_factory=list)

    @property
    def items(self) -> int:
        return self.applied + self.duplicate + self.observed_only + self.stale + self.refused

    def refuse(self, refusal: Refusal) -> None:
        self.refused += 1
        if len(self.refusals) < _REFUSALS_KEPT:
            self.refusals.append(refusal)


@dataclass(frozen=True)
class Verdict(Generic[T]):
    """Items to send again after a pause in seconds, and items refused for good."""

    again: list[T]
    pause: float
    refused: list[Refusal]


_COUNTED = {
    types_pb2.ITEM_OUTCOME_APPLIED: "applied",
    types_pb2.ITEM_OUTCOME_DUPLICATE: "duplicate",
    types_pb2.ITEM_OUTCOME_OBSERVED_ONLY: "observed_only",
    types_pb2.ITEM_OUTCOME_STALE: "stale",
}


def judge(ack: types_pb2.BatchAck, items: Sequence[T], name: Callable[[T], str], summary: Summary) -> Verdict[T]:
    """Counts in `summary` what the acknowledgement says of `items`, the items of its batch."""
    if ack.HasField("error"):
        if ack.error.retryable:
            return Verdict(list(items), _pause(ack.error), [])
        refused = [_refusal(name(item), ack.error) for item in items]
        for refusal in refused:
            summary.refuse(refusal)
        return Verdict([], 0.0, refused)
    again: list[T] = []
    refused = []
    pause = 0.0
    listed = 0
    for status in ack.statuses:
        if status.index >= len(items):
            continue
        listed += 1
        if status.outcome != types_pb2.ITEM_OUTCOME_REFUSED:
            counter = _COUNTED.get(status.outcome, "applied")
            setattr(summary, counter, getattr(summary, counter) + 1)
        elif status.error.retryable:
            again.append(items[status.index])
            pause = max(pause, _pause(status.error))
        else:
            refused.append(_refusal(name(items[status.index]), status.error))
            summary.refuse(refused[-1])
    summary.applied += len(items) - listed
    return Verdict(again, pause, refused)


def _pause(error: types_pb2.ItemError) -> float:
    if error.HasField("retry_after"):
        return min(max(0.0, from_duration(error.retry_after).total_seconds()), _LONGEST_PAUSE)
    return _DEFAULT_PAUSE


def _refusal(item: str, error: types_pb2.ItemError) -> Refusal:
    return Refusal(item=item, code=_code(error.code), field=error.field, reason=error.reason)


def _code(number: int) -> str:
    """The code's name; codes of later servers have none here."""
    known = types_pb2.ErrorCode.DESCRIPTOR.values_by_number.get(number)
    return str(number) if known is None else known.name.removeprefix("ERROR_CODE_")
