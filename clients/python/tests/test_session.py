"""The state of a worker, without a server and without a clock."""

from __future__ import annotations

from datetime import timedelta

import pytest
from google.protobuf.duration_pb2 import Duration

from freshet import Outcome, Result
from freshet._session import Session
from freshet.types import to_duration
from freshet.v1 import scheduler_pb2, types_pb2


def assigned(*lease_ids: int) -> scheduler_pb2.CrawlResponse:
    batch = scheduler_pb2.AssignmentBatch()
    for lease_id in lease_ids:
        batch.assignments.add(url=f"https://example.org/{lease_id}", crawl_id="DEFAULT", lease_id=lease_id)
    return scheduler_pb2.CrawlResponse(assignments=batch)


def acknowledged(sequence: int, count: int, **refused: types_pb2.ItemError) -> scheduler_pb2.CrawlResponse:
    ack = types_pb2.BatchAck(sequence=sequence, item_count=count)
    for index, error in refused.items():
        ack.statuses.add(index=int(index[1:]), outcome=types_pb2.ITEM_OUTCOME_REFUSED, error=error)
    return scheduler_pb2.CrawlResponse(result_ack=ack)


def kinds(messages: list[scheduler_pb2.CrawlRequest]) -> list[str | None]:
    return [message.WhichOneof("message") for message in messages]


def reported(messages: list[scheduler_pb2.CrawlRequest]) -> list[int]:
    return [result.lease_id for message in messages for result in message.results.results]


def started(capacity: int = 4, **options: int) -> Session:
    session = Session("w", capacity=capacity, **options)  # type: ignore[arg-type]
    assert session.hello().hello.worker == "w"
    assert [m.credit.assignments for m in session.outgoing(0)] == [capacity]
    return session


def test_names_the_crawl_ids_that_it_takes() -> None:
    session = Session("w", capacity=1, crawl_ids=["shop", "news"])
    for _ in range(2):
        assert list(session.hello().hello.crawl_ids) == ["shop", "news"], "on every stream"
    with pytest.raises(ValueError, match="16 crawl ids, not 17"):
        Session("w", capacity=1, crawl_ids=[str(i) for i in range(17)])
    with pytest.raises(TypeError):
        Session("w", capacity=1, crawl_ids="shop")


def test_credit_is_what_there_is_room_for() -> None:
    session = started(capacity=4)
    session.incoming(assigned(1, 2, 3), 0)
    assert session.outgoing(0) == []
    first = session.take(0)
    assert first is not None
    assert session.outgoing(0) == [], "a page that is being fetched takes room"
    session.report(first, Result(outcome=Outcome.CHANGED))
    messages = session.outgoing(0)
    assert kinds(messages) == ["results", "credit"]
    assert messages[1].credit.assignments == 1


def test_results_are_kept_until_acknowledged_and_sent_again_in_order() -> None:
    session = started()
    session.incoming(assigned(1, 2, 3), 0)
    for _ in range(2):
        page = session.take(0)
        assert page is not None
        session.report(page, Result(http_status=200))
        session.outgoing(0)
    third = session.take(0)
    assert third is not None
    session.report(third, Result())
    session.incoming(acknowledged(1, 1), 0)
    assert len(session.unacknowledged()) == 2

    session.hello()
    assert reported(session.outgoing(0)) == [2, 3], "what is acknowledged is not sent again"
    assert not session.settled
    session.incoming(acknowledged(3, 2), 0)
    assert session.settled
    assert session.statistics.results.applied == 3


def test_no_pages_are_asked_for_while_results_pile_up() -> None:
    session = started(capacity=2, max_unacknowledged=2)
    session.incoming(assigned(1, 2), 0)
    for _ in range(2):
        page = session.take(0)
        assert page is not None
        session.report(page, Result())
    assert kinds(session.outgoing(0)) == ["results"]
    assert session.room == 0
    session.incoming(acknowledged(1, 2), 0)
    assert [m.credit.assignments for m in session.outgoing(0)] == [2]


def test_a_result_refused_for_now_waits_as_long_as_the_server_says() -> None:
    session = started()
    session.incoming(assigned(1, 2), 0)
    for _ in range(2):
        page = session.take(0)
        assert page is not None
        session.report(page, Result())
    session.outgoing(0)
    later = types_pb2.ItemError(
        code=types_pb2.ERROR_CODE_UNAVAILABLE, retryable=True, retry_after=to_duration(timedelta(seconds=5))
    )
    wrong = types_pb2.ItemError(code=types_pb2.ERROR_CODE_UNKNOWN_LEASE, reason="never issued")
    refused = session.incoming(acknowledged(1, 2, _0=later, _1=wrong), 10)
    assert [(r.item, r.code) for r in refused] == [("https://example.org/2", "UNKNOWN_LEASE")]
    assert reported(session.outgoing(14.9)) == []
    assert session.next_time(14.9) == 15
    assert reported(session.outgoing(15)) == [1]


def test_what_a_later_server_says_stops_no_worker() -> None:
    session = started()
    session.incoming(assigned(1, 2), 0)
    for _ in range(2):
        assignment = session.take(0)
        assert assignment is not None
        session.report(assignment, Result(Outcome.UNCHANGED))
    session.outgoing(0)
    unknown = types_pb2.ItemError(code=99, reason="new")  # type: ignore[arg-type]
    endless = types_pb2.ItemError(retryable=True, retry_after=Duration(seconds=10**17))
    (refusal,) = session.incoming(acknowledged(1, 2, _0=unknown, _1=endless), 0)
    assert (refusal.code, refusal.reason) == ("99", "new")
    assert reported(session.outgoing(299)) == []
    assert reported(session.outgoing(300)) == [2], "it is sent again, if not soon"


def test_a_lease_that_has_ended_is_not_begun() -> None:
    session = started()
    welcome = scheduler_pb2.Notice(
        kind=scheduler_pb2.NOTICE_KIND_WELCOME, lease_duration=to_duration(timedelta(seconds=10))
    )
    session.incoming(scheduler_pb2.CrawlResponse(notice=welcome), 0)
    session.incoming(assigned(1), 0)
    session.incoming(assigned(2), 5)
    page = session.take(10)
    assert page is not None
    assert page.lease_id == 2
    assert session.statistics.lapsed == 1
    assert [m.credit.assignments for m in session.outgoing(10)] == [1]


def test_a_page_that_is_never_reported_takes_no_room_for_ever() -> None:
    session = started(capacity=1)
    session.incoming(assigned(1), 0)
    assert session.take(0)
    assert session.outgoing(299) == []
    assert [m.credit.assignments for m in session.outgoing(300)] == [1]


def test_stopping_gives_back_what_has_not_begun_and_what_still_comes() -> None:
    session = started()
    session.incoming(assigned(1, 2), 0)
    page = session.take(0)
    session.stop(0)
    session.incoming(assigned(3), 0)
    messages = session.outgoing(0)
    assert kinds(messages) == ["returned_leases"]
    assert list(messages[0].returned_leases.lease_ids) == [2, 3]
    ack = types_pb2.BatchAck(sequence=messages[0].returned_leases.sequence, item_count=2)
    session.incoming(scheduler_pb2.CrawlResponse(return_ack=ack), 0)
    assert session.statistics.returned == 2
    assert not session.idle, "a page is being fetched"
    assert session.quiet_from == 0.25, "what is left of the credit may still bring pages"
    session.disconnected()
    assert session.quiet_from == 0
    assert page is not None
    session.report(page, Result())
    session.outgoing(0)
    session.incoming(acknowledged(1, 1), 0)
    assert session.idle


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("", {"capacity": 1}),
        ("x" * 129, {"capacity": 1}),
        ("w", {"capacity": 0}),
        ("w", {"capacity": 10_001}),
        ("w", {"capacity": 1, "max_unacknowledged": 0}),
    ],
)
def test_bad_options_are_refused(name: str, options: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=r"name|capacity|max_unacknowledged"):
        Session(name, **options)  # type: ignore[arg-type]
