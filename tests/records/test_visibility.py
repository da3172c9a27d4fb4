"""What a capture could see is known for each connection, and for what a claim needs of it."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import pytest

from msmq_wire.records.coverage import Need, Position
from msmq_wire.records.record import Record
from msmq_wire.records.visibility import Visibility

CLIENT, SERVER = "192.0.2.21:50000", "192.0.2.10:1801"
LOST = "bytes of this connection are missing from the capture"


class Wire:
    """Feeds records of one connection; each frame has one record, and ids are those of frames."""

    def __init__(self, capture: str = "a.pcap") -> None:
        self.seen = Visibility()
        self.capture = capture
        self.frame = 0

    @property
    def reported(self) -> tuple[str, ...]:
        """What the capture lacks, as if it were so from frame 9 on."""
        return tuple(text for text, _ in self.seen.said(lambda record: "frame 9"))

    def feed(self, type_: str, *, server: bool = False, stream: int = 0, **values: Any) -> int:
        """A record of the next frame; return its number."""
        self.frame += 1
        src, dst = (SERVER, CLIENT) if server else (CLIENT, SERVER)
        values.setdefault("frames", (self.frame,))
        self.seen.feed(
            Record(id=self.frame, type=type_, capture=self.capture, src=src, dst=dst, stream=stream, **values)
        )
        return self.frame

    def step(self, event: str, *, server: bool = False) -> int:
        return self.feed("tcp_stream", event=event, server=server)

    def opened(self) -> Wire:
        """SYN, SYN-ACK and a packet of each side: five frames with the one after them."""
        self.step("syn")
        self.step("syn_ack", server=True)
        self.feed("establish_connection")
        self.feed("establish_connection", server=True)
        return self

    def gap(self, since: int, *, server: bool = False, reason: str = "loss", missing: int | None = 40) -> int:
        """Bytes missing between a frame and the next one."""
        frames = (since, self.frame + 1) if since else (self.frame + 1,)
        return self.feed("gap", missing=missing, reason=reason, frames=frames, server=server)

    def lacking(
        self, needs: Collection[Need], frame: int, *, server: bool = False, until: int = 0
    ) -> list[str]:
        src, dst = (SERVER, CLIENT) if server else (CLIENT, SERVER)
        return list(self.seen.lacking(needs, Position(self.capture, frame, frame, src, dst, until)))


def test_of_a_whole_connection_nothing_is_lacking_but_what_comes_behind_it() -> None:
    wire = Wire().opened()
    every: tuple[Need, ...] = (
        "opening", "both_sides", "before", "before_here", "around", "record", "after", "whole", "order",
        "read", "both_ways", "two_way", "between", "next_openings", "to_source", "counted",
        "nothing_lost", "kept",
    )  # fmt: skip
    assert wire.lacking(every, 4) == []
    assert wire.lacking(["end"], 4) == ["the capture ends before the connection does"]
    wire.step("fin")
    assert wire.lacking(["end"], 4) == []
    assert wire.reported == ()


@pytest.mark.parametrize(
    ("need", "frames"),
    [
        ("before", {7, 8, 9}),
        ("before_here", {7, 8, 9}),
        ("around", {5, 6, 7, 8, 9}),
        ("after", {3, 4, 5, 6}),
        ("record", {5, 6, 7}),
        ("whole", {3, 4, 5, 6, 7, 8, 9}),
        ("opening", set()),
        ("order", set()),
    ],
)
def test_a_gap_matters_where_it_lies(need: Need, frames: set[int]) -> None:
    wire = Wire().opened()
    wire.feed("user_message")
    wire.frame += 1
    wire.gap(5)
    for _ in range(2):
        wire.feed("user_message")
    # It lies between frames 5 and 7: what has frame 5 itself was sent before it.
    known = {frame for frame in range(3, 10) if wire.lacking([need], frame)}
    before = {frame for frame in frames if need not in ("before", "before_here") or frame > 5}
    assert known == before | ({6} if need in ("before", "before_here") else set())


def test_a_gap_of_the_other_side_is_not_before_what_this_side_sent_but_before_all_of_it() -> None:
    wire = Wire().opened()
    wire.gap(4, server=True)
    wire.feed("user_message")
    assert wire.lacking(["before_here"], 6) == []
    assert wire.lacking(["before"], 6) == [LOST]
    assert wire.lacking(["before_here"], 6, server=True) == [LOST]


def test_what_the_snap_length_cut_is_called_that() -> None:
    wire = Wire().opened()
    wire.gap(5, reason="snaplen")
    assert wire.lacking(["whole"], 3) == ["packets of this connection were captured in part"]
    assert (wire.seen.cut, wire.seen.holes) == (1, 0)


def test_a_connection_without_its_opening_or_its_other_side_is_known_for_that() -> None:
    wire = Wire()
    wire.step("start_midstream")
    frame = wire.feed("user_message")
    assert wire.lacking(["opening"], frame) == ["the beginning of this connection was not captured"]
    assert wire.lacking(["both_sides"], frame) != []
    assert wire.reported == (
        "only one direction of 1 connection was captured, from 192.0.2.21 to 192.0.2.10",
    )
    wire.step("bare_ack", server=True)
    assert wire.lacking(["both_sides"], frame) == []
    assert not wire.reported


def test_a_syn_that_nobody_answers_is_no_half_of_a_connection() -> None:
    wire = Wire()
    wire.step("syn")
    assert wire.reported == ()
    assert wire.lacking(["two_way"], 1) == []


def test_what_was_acknowledged_and_not_captured_makes_the_order_doubtful() -> None:
    wire = Wire().opened()
    wire.step("unseen", server=True)
    reported = ["the other side of this connection acknowledged bytes that were not captured"]
    assert wire.lacking(["order"], 6) == reported
    assert wire.lacking(["before"], 6) == reported
    assert wire.lacking(["before"], 4) == []


def test_a_later_frame_with_an_earlier_time_makes_the_order_of_its_connection_doubtful() -> None:
    wire = Wire().opened()
    wire.feed("user_message", time=2_000)
    wire.feed("user_message", time=1_999)
    reported = ["frames of this connection are not in the order of their time"]
    assert wire.lacking(["order"], 5) == wire.lacking(["before"], 9) == reported
    assert wire.lacking(["before"], 1) == []
    assert wire.lacking(["in_time"], 5) == []
    assert wire.reported == ("frames are not in the order of their time; reordercap sorts them",)


def test_an_earlier_frame_that_comes_late_is_in_order() -> None:
    wire = Wire().opened()
    wire.feed("user_message", time=2_000)
    # It was held back for a gap.
    wire.feed("user_message", time=1_000, frames=(4,))
    assert wire.lacking(["order"], 5) == []


def test_a_capture_that_goes_back_by_more_than_a_second_is_not_in_time() -> None:
    wire = Wire()
    second = 1_000_000_000
    wire.feed("user_message", time=5 * second)
    wire.feed("user_message", time=4 * second, stream=1)
    assert wire.lacking(["in_time"], 2) == []
    wire.feed("user_message", time=3 * second, stream=2)
    assert wire.lacking(["in_time"], 2) == ["frames of this capture are not in the order of their time"]


def test_a_host_with_a_message_before_its_time_has_frames_that_changed_places() -> None:
    wire = Wire().opened()
    assert wire.lacking(["after_sent"], 5) == []
    wire.seen.early = frozenset(("192.0.2.21",))
    assert wire.lacking(["after_sent"], 5) == wire.lacking(["after_sent"], 5, server=True) != []
    assert wire.seen.lacking(["after_sent"], Position("a.pcap", 5, 5, "192.0.2.22:50000", SERVER)) == ()


def test_another_connection_and_another_capture_are_not_touched_by_a_gap() -> None:
    wire = Wire().opened()
    wire.gap(4)
    assert wire.seen.lacking(["whole"], Position("a.pcap", 5, 5, "192.0.2.22:50000", SERVER)) == ()
    assert wire.seen.lacking(["whole"], Position("b.pcap", 5, 5, CLIENT, SERVER)) == ()
    assert wire.lacking(["between"], 5) == [
        "bytes of a session between these hosts are missing from the capture"
    ]
    assert wire.seen.lacking(["between"], Position("a.pcap", 5, 5, "192.0.2.22:50000", SERVER)) == ()


def test_a_later_connection_whose_beginning_is_missing_may_have_carried_it_again() -> None:
    wire = Wire().opened()
    sent = wire.feed("user_message", time=1)
    wire.feed("user_message", time=2, stream=1)
    hosts = "192.0.2.21", "192.0.2.10"
    assert wire.seen.lacking_between(["next_openings"], sent, *hosts) == (
        "the beginning of a later connection between these hosts was not captured",
    )
    assert wire.seen.lacking_between(["next_openings"], sent + 1, *hosts) == ()


def test_a_connection_on_the_same_ends_later_is_another_one() -> None:
    wire = Wire().opened()
    wire.gap(4)
    wire.step("closed")
    for event, server in (("syn", False), ("syn_ack", True)):
        wire.feed("tcp_stream", event=event, server=server, stream=1)
    assert wire.lacking(["whole"], 5) == [LOST]
    assert wire.lacking(["whole"], 8) == []


def test_a_connection_that_was_let_go_while_it_went_on_is_not_known_from_there() -> None:
    wire = Wire().opened()
    wire.seen.forget("a.pcap", 0)
    reported = ["this connection was dropped to save memory while it went on"]
    assert wire.lacking(["opening"], 5) == wire.lacking(["whole"], 5) == reported


@pytest.mark.parametrize(
    ("gaps", "said"),
    [
        ([332], "332 bytes are missing from the capture just before frame 9, at least 1 frame"),
        ([4000], "the capture lost about 60% of the frames: 1 gap in 1 connection, first before frame 9"),
        (
            [300, 300],
            "the capture lost about 50% of the frames: 2 gaps in 1 connection, first before frame 9",
        ),
        ([None], "the capture lost about 33% of the frames: 1 gap in 1 connection, first before frame 9"),
    ],
)
def test_what_a_capture_lost_is_said_with_its_size(gaps: list[int | None], said: str) -> None:
    wire = Wire().opened()
    for missing in gaps:
        wire.gap(4, missing=missing)
    assert wire.reported == (said,)


def test_what_is_remembered_of_connections_is_bounded_and_what_is_forgotten_is_not_held_for_whole() -> None:
    seen = Visibility(20_000)
    for number in range(1, 40):
        src = f"192.0.2.{number}:50000"
        values: dict[str, Any] = {"capture": "", "stream": number}
        seen.feed(
            Record(id=number, type="tcp_stream", event="syn", src=src, dst=SERVER, frames=(number,), **values)
        )
    for number in (1, 39):
        assert seen.lacking(["both_sides"], Position("", number, number, f"192.0.2.{number}:50000", SERVER))
    # What is not about a connection lacks nothing for that.
    assert seen.lacking(["both_sides"], Position("", 1, 1, None, None)) == ()
    sizes = [len(value) for name, value in vars(seen).items() if isinstance(value, dict)]
    assert max(sizes) <= 15


def test_the_places_of_gaps_are_bounded_too() -> None:
    seen, number = Visibility(100_000), 0
    for stream in range(10):
        src = f"192.0.2.{stream}:50000"
        for _ in range(300):
            number += 2
            gap = Record(
                id=number, type="gap", capture="", stream=stream, src=src, dst=SERVER,
                frames=(number - 1, number), missing=40, reason="loss",
            )  # fmt: skip
            seen.feed(gap)
    spans = sum(len(one.spans) for one in vars(seen)["_damaged"].values())
    assert 0 < spans * 130 < 100_000
    assert seen.holes == 3000


def test_a_gap_behind_those_whose_places_are_kept_counts() -> None:
    wire = Wire().opened()
    for _ in range(1030):
        wire.gap(wire.frame)
        wire.feed("user_message")
    last = wire.gap(wire.frame)
    assert wire.lacking(["record"], last) == [LOST]
    wire.feed("user_message")
    assert wire.lacking(["record"], wire.feed("user_message")) == []


def test_two_connections_of_the_same_ends_at_a_time_are_in_two_networks() -> None:
    wire = Wire().opened()
    assert wire.lacking(["one_network"], 5) == []
    wire.feed("tcp_stream", event="syn", stream=1)
    assert wire.lacking(["one_network"], 5) == []
    wire.feed("user_message")
    reported = ["the same addresses and ports are in use in several networks"]
    assert wire.lacking(["one_network"], 5) == reported


def test_who_closes_what_it_opened_was_answered() -> None:
    wire = Wire()
    wire.step("syn")
    assert wire.lacking(["two_way"], 1) == []
    closed = wire.step("fin")
    assert wire.lacking(["two_way"], closed) != []
    # A FIN alone is what a scan sends.
    other = Wire()
    assert other.lacking(["two_way"], other.step("fin")) == []
