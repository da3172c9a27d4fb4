"""HTTP on one connection: messages by hand, split everywhere, with lies and with losses."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from msmq_wire.srmp.http.connection import HttpConnection, HttpEvent, parse_message
from msmq_wire.srmp.http.framer import MAX_BODY
from msmq_wire.srmp.http.message import (
    MAX_HEAD,
    HttpExchange,
    HttpHole,
    HttpMessage,
    is_credible,
    looks_like_http,
)

CLIENT, SERVER = True, False
BODY = b"--MSMQ - SOAP boundary, 53287\r\n\r\n<x/>\r\n--MSMQ - SOAP boundary, 53287--\r\n"
HEAD = (
    b"POST /msmq/private$/simpleq HTTP/1.1\r\nHost: machine2\r\n"
    b'Content-Type: multipart/related; boundary="MSMQ - SOAP boundary, 53287";\r\n\ttype=text/xml\r\n'
    b"Content-Length: %d\r\n"
    b'SOAPAction: "MSMQMessage"\r\nProxy-Accept: NonInteractiveClient\r\n\r\n'
)
REQUEST = HEAD % len(BODY) + BODY
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nServer: Microsoft-IIS/7.0\r\n\r\n"
CHUNKED = (
    b"POST /msmq/q HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"4\r\nabcd\r\n3;x=y\r\nefg\r\n0\r\nTrail: er\r\n\r\n"
)
GET = b"GET / HTTP/1.1\r\nHost: h\r\n\r\n"


def run(pieces: Iterable[tuple[bool, bytes]], connection: HttpConnection | None = None) -> list[HttpEvent]:
    connection = connection or HttpConnection()
    events: list[HttpEvent] = []
    for frame, (side, data) in enumerate(pieces, 1):
        events += connection.feed(side, data, frame, frame * 10)
    events += connection.finish()
    assert connection.finish() == []
    assert connection.held_bytes < 1000
    return events


def exchanges(events: list[HttpEvent]) -> list[HttpExchange]:
    return [event for event in events if isinstance(event, HttpExchange)]


def holes(events: list[HttpEvent]) -> list[HttpHole]:
    return [event for event in events if isinstance(event, HttpHole)]


def request_of(events: list[HttpEvent], number: int = 0) -> HttpMessage:
    request = exchanges(events)[number].request
    assert request is not None
    return request


def response_of(events: list[HttpEvent], number: int = 0) -> HttpMessage:
    response = exchanges(events)[number].response
    assert response is not None
    return response


def codes(message: HttpMessage) -> list[str]:
    return [problem.code for problem in message.problems]


def one_request(data: bytes) -> HttpMessage:
    return request_of(run([(CLIENT, data)]))


def test_a_request_and_its_response_make_an_exchange() -> None:
    connection = HttpConnection()
    assert connection.feed(CLIENT, REQUEST[:50], 3, 30) == []
    assert connection.feed(CLIENT, REQUEST[50:], 4, 40) == []
    (exchange,) = connection.feed(SERVER, OK, 5, 50)
    assert connection.finish() == []
    assert isinstance(exchange, HttpExchange)
    request, response = exchange.request, exchange.response
    assert request is not None
    assert response is not None
    assert (request.method, request.target, request.http_version) == ("POST", "/msmq/private$/simpleq", "1.1")
    assert request.header("content-type") == (
        'multipart/related; boundary="MSMQ - SOAP boundary, 53287"; type=text/xml'
    )
    assert request.headers[0] == (b"Host", b"machine2")
    assert request.header("absent") is None
    assert request.head + request.body == REQUEST
    assert request.body == BODY
    assert request.is_request
    assert request.from_client
    assert request.complete
    assert request.problems == ()
    assert (request.frames, request.time) == ((3, 4), 40)
    assert (request.offset, request.length) == (0, len(REQUEST))
    assert (response.status, response.reason, response.method) == (200, "OK", "")
    assert (response.body, response.complete, response.problems) == (b"", True, ())
    assert (response.frames, response.time, response.offset, response.length) == ((5,), 50, 0, len(OK))
    assert exchange.certain


def test_pipelined_requests_are_answered_in_order() -> None:
    responses = b"".join(b"HTTP/1.1 20%d X\r\nContent-Length: 1\r\n\r\n%d" % (n, n) for n in (0, 1, 2))
    events = run([(CLIENT, REQUEST + CHUNKED + GET), (SERVER, responses)])
    assert [(request_of(events, n).method, response_of(events, n).body) for n in range(3)] == [
        ("POST", b"0"),
        ("POST", b"1"),
        ("GET", b"2"),
    ]
    assert [request_of(events, n).offset for n in range(3)] == [0, len(REQUEST), len(REQUEST + CHUNKED)]
    assert len(events) == 3


def test_a_chunked_body_is_put_together() -> None:
    request = one_request(CHUNKED)
    assert request.body == b"abcdefg"
    assert request.trailers == ((b"Trail", b"er"),)
    assert request.complete
    assert request.length == len(CHUNKED)
    assert request.problems == ()


STREAM = REQUEST + b"\r\n" + CHUNKED + GET + REQUEST
ANSWERS = (
    b"HTTP/1.1 100 Continue\r\n\r\n"
    + OK
    + b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nz\r\n0\r\n\r\n"
    b"HTTP/1.1 204 No Content\r\n\r\nHTTP/1.0 500 Oops\r\n\r\nread until the end"
)


def content(events: list[HttpEvent]) -> list[object]:
    """Everything but frames and times."""

    def of(message: HttpMessage | None) -> object:
        if message is None:
            return None
        return (
            message.head,
            message.body,
            message.trailers,
            message.complete,
            codes(message),
            message.missing,
            message.offset,
            message.length,
        )

    return [
        (of(event.request), of(event.response), tuple(map(of, event.interim)), event.certain)
        if isinstance(event, HttpExchange)
        else (event.offset, event.length, event.data, event.reason)
        for event in events
    ]


def split(side: bool, data: bytes, cuts: list[int]) -> list[tuple[bool, bytes]]:
    edges = sorted({0, *(cut % len(data) for cut in cuts), len(data)})
    return [(side, data[start:stop]) for start, stop in itertools.pairwise(edges)]


@given(st.lists(st.integers(0, 5000), max_size=12), st.lists(st.integers(0, 5000), max_size=12))
def test_splitting_changes_nothing(client: list[int], server: list[int]) -> None:
    whole = content(run([(CLIENT, STREAM), (SERVER, ANSWERS)]))
    assert content(run([*split(CLIENT, STREAM, client), *split(SERVER, ANSWERS, server)])) == whole


def test_byte_by_byte_gives_the_same() -> None:
    pieces = [(CLIENT, bytes((byte,))) for byte in STREAM] + [(SERVER, bytes((byte,))) for byte in ANSWERS]
    events = run(pieces)
    assert content(events) == content(run([(CLIENT, STREAM), (SERVER, ANSWERS)]))
    assert len(events) == 4
    assert request_of(events).frames == tuple(range(1, len(REQUEST) + 1))
    assert exchanges(events)[0].interim[0].status == 100
    assert response_of(events, 3).body == b"read until the end"
    assert response_of(events, 3).complete


@given(
    st.lists(
        st.sampled_from((REQUEST, CHUNKED, GET, b"noise", b"\r\n", OK, b"POST ", b"HTTP/1.1 2")), max_size=6
    ),
    st.lists(st.integers(0, 5000), max_size=6),
)
def test_splitting_changes_nothing_in_noise(parts: list[bytes], cuts: list[int]) -> None:
    data = b"".join(parts) or b"x"
    assert content(run(split(CLIENT, data, cuts))) == content(run([(CLIENT, data)]))


@given(st.lists(st.tuples(st.booleans(), st.binary(max_size=60), st.integers(-2, 80)), max_size=12))
def test_no_bytes_and_no_gaps_make_it_raise(pieces: list[tuple[bool, bytes, int]]) -> None:
    connection = HttpConnection()
    parts = (HEAD % 9, CHUNKED[:60], b"HTTP/1.1 200 OK\r\n", b"\r\n", b"5\r\n")
    for frame, (side, data, gap) in enumerate(pieces, 1):
        connection.feed(side, parts[gap % len(parts)] + data, frame, frame)
        connection.gap(side, None if gap == -1 else gap, "loss", frame, frame)
        assert connection.held_bytes >= 0
    for event in connection.finish():
        if isinstance(event, HttpExchange):
            assert event.request or event.response or event.interim
    assert connection.finish() == []


def test_an_interim_response_belongs_to_the_final_one() -> None:
    (event,) = run([(CLIENT, REQUEST), (SERVER, b"HTTP/1.1 100 Continue\r\n\r\n" + OK)])
    assert isinstance(event, HttpExchange)
    assert [interim.status for interim in event.interim] == [100]
    assert event.response is not None
    assert event.response.status == 200


@pytest.mark.parametrize(
    ("request_", "response"),
    [
        (b"HEAD / HTTP/1.1\r\nHost: h\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n"),
        (GET, b"HTTP/1.1 204 No Content\r\nContent-Length: 50\r\n\r\n"),
        (GET, b"HTTP/1.1 304 Not Modified\r\nContent-Length: 50\r\n\r\n"),
        (b"CONNECT h:1 HTTP/1.1\r\nHost: h\r\n\r\n", b"HTTP/1.1 200 OK\r\n\r\n"),
    ],
)
def test_some_responses_have_no_body(request_: bytes, response: bytes) -> None:
    events = run([(CLIENT, request_), (SERVER, response), (CLIENT, GET), (SERVER, OK)])
    assert [response_of(events, n).complete for n in range(2)] == [True, True]
    assert response_of(events, 0).body == b""
    assert response_of(events, 1).head == OK


def test_a_response_before_the_end_of_its_request_waits_for_it() -> None:
    connection = HttpConnection()
    assert connection.feed(CLIENT, REQUEST[:-10], 1, 1) == []
    assert connection.feed(SERVER, OK.replace(b"200 OK", b"400 Bad"), 2, 2) == []
    (event,) = connection.feed(CLIENT, REQUEST[-10:], 3, 3)
    assert isinstance(event, HttpExchange)
    assert event.request is not None
    assert event.request.body == BODY
    assert event.response is not None
    assert event.response.status == 400


def test_what_has_no_counterpart_comes_alone() -> None:
    first, second = exchanges(run([(SERVER, OK), (CLIENT, REQUEST)]))
    assert (first.request, second.response) == (None, None)
    assert first.response is not None
    assert second.request is not None


def test_sides_named_the_wrong_way_round_pair_all_the_same() -> None:
    (event,) = run([(SERVER, REQUEST), (CLIENT, OK)])
    assert isinstance(event, HttpExchange)
    assert event.request is not None
    assert event.response is not None
    assert not event.request.from_client


def test_a_request_answers_no_request_of_its_own_side() -> None:
    events = run([(CLIENT, REQUEST + OK)])
    assert [(e.request is None, e.response is None) for e in exchanges(events)] == [
        (True, False),
        (False, True),
    ]


def test_a_gap_inside_a_body_is_left_out_and_framing_goes_on_behind_it() -> None:
    connection = HttpConnection()
    head = HEAD % len(BODY)
    events = connection.feed(CLIENT, head + BODY[:10], 1, 1)
    events += connection.gap(CLIENT, 20, "loss", 2, 2)
    events += connection.feed(CLIENT, BODY[30:] + REQUEST, 2, 2)
    events += connection.feed(SERVER, OK + OK, 3, 3)
    (hole,) = holes(events)
    assert (hole.reason, hole.missing, hole.offset, hole.length) == ("loss", True, len(head) + 10, 20)
    first, second = request_of(events, 0), request_of(events, 1)
    assert first.body == BODY[:10] + BODY[30:]
    assert first.missing == ((10, 20),)
    assert not first.complete
    assert codes(first) == ["http.missing"]
    assert first.length == len(REQUEST)
    assert (second.offset, second.complete) == (len(REQUEST), True)
    assert [exchange.certain for exchange in exchanges(events)] == [True, True]


def test_a_gap_up_to_the_end_of_a_body_completes_the_message() -> None:
    connection = HttpConnection()
    events = connection.feed(CLIENT, REQUEST[:-30], 1, 1)
    events += connection.gap(CLIENT, 30, "snaplen", 1, 1)
    events += connection.feed(CLIENT, GET, 2, 2)
    events += connection.finish()
    assert [request_of(events, n).method for n in range(2)] == ["POST", "GET"]
    assert request_of(events).missing == ((len(BODY) - 30, 30),)


@pytest.mark.parametrize("length", [None, len(BODY)])
def test_behind_a_larger_gap_the_next_start_line_is_searched_for(length: int | None) -> None:
    connection = HttpConnection()
    sent = REQUEST[:-30]
    events = connection.feed(CLIENT, sent, 1, 1)
    events += connection.gap(CLIENT, length, "loss", 2, 2)
    rest = b"rest of a body, no POST / here" + b"\0" * 5000
    for at in range(0, len(rest), 700):
        events += connection.feed(CLIENT, rest[at : at + 700], 3 + at, 3 + at)
    events += connection.feed(CLIENT, REQUEST, 9000, 9000)
    events += connection.feed(SERVER, OK, 9001, 9001)
    events += connection.finish()
    lost, skipped = holes(events)
    assert (lost.missing, lost.length) == (True, length)
    assert (skipped.reason, skipped.missing, skipped.length) == ("no-start-line", False, len(rest))
    assert skipped.data == rest[:256]
    assert skipped.offset == len(sent) + (length or 0)
    cut, whole = request_of(events, 0), request_of(events, 1)
    assert (cut.complete, codes(cut), cut.body) == (False, ["http.cut"], BODY[:-30])
    assert whole.complete
    assert whole.frames == (9000,)
    assert exchanges(events)[0].certain is False


def test_a_gap_inside_a_head_cuts_it() -> None:
    connection = HttpConnection()
    events = connection.feed(CLIENT, REQUEST[:60], 1, 1)
    events += connection.gap(CLIENT, 5, "loss", 2, 2)
    request = request_of(events + connection.finish())
    assert (request.method, request.head, request.complete) == ("POST", REQUEST[:60], False)
    assert codes(request) == ["http.cut"]


def test_behind_a_loss_of_responses_the_next_one_is_for_the_last_request_before_it() -> None:
    connection = HttpConnection()
    assert connection.feed(CLIENT, REQUEST, 1, 1) == []
    (hole,) = connection.gap(SERVER, None, "loss", 2, 2)
    assert isinstance(hole, HttpHole)
    assert connection.feed(CLIENT, REQUEST, 3, 3) == []
    assert connection.feed(CLIENT, REQUEST, 5, 5) == []
    _, first, second = connection.feed(SERVER, b"xx" + OK, 4, 4)
    for event, frame, answered in ((first, 1, False), (second, 3, True)):
        assert isinstance(event, HttpExchange)
        assert event.request is not None
        assert (event.request.frames, event.response is not None) == ((frame,), answered)
        assert not event.certain


def test_responses_that_come_before_their_requests_wait_for_them() -> None:
    connection = HttpConnection()
    assert connection.feed(CLIENT, REQUEST[:10], 1, 1) == []
    answers = [OK.replace(b"200 OK", b"%d X" % status) for status in (201, 500, 202)]
    assert connection.feed(SERVER, b"".join(answers), 2, 2) == []
    events = exchanges(connection.feed(CLIENT, REQUEST[10:] + REQUEST * 2, 3, 3))
    statuses = [event.response.status for event in events if event.response is not None]
    assert statuses == [201, 500, 202]
    assert all(event.certain for event in events)


def test_a_response_that_was_complete_before_a_request_began_is_not_for_it() -> None:
    connection = HttpConnection()
    connection.feed(CLIENT, REQUEST[:-30], 1, 1)
    connection.feed(SERVER, OK.replace(b"200", b"201"), 2, 2)
    connection.feed(SERVER, OK.replace(b"200", b"202"), 4, 4)
    events = exchanges(connection.gap(CLIENT, 2 * len(REQUEST), "loss", 5, 5))
    events += exchanges(connection.feed(CLIENT, REQUEST, 5, 5) + connection.feed(SERVER, OK, 6, 6))
    found = [
        (None if one.request is None else one.request.frames, one.response and one.response.status)
        for one in events
    ]
    assert found == [((1,), 201), (None, 202), ((5,), 200)]


def test_the_end_of_a_side_completes_a_body_that_goes_up_to_it() -> None:
    connection = HttpConnection()
    connection.feed(CLIENT, REQUEST, 1, 1)
    assert connection.feed(SERVER, b"HTTP/1.0 200 OK\r\n\r\nuntil the end", 2, 2) == []
    (event,) = connection.end(SERVER)
    assert isinstance(event, HttpExchange)
    assert event.response is not None
    assert (event.response.body, event.response.complete) == (b"until the end", True)
    assert connection.finish() == []


def test_a_gap_in_a_chunked_body_cuts_it() -> None:
    connection = HttpConnection()
    events = connection.feed(CLIENT, CHUNKED[:-30], 1, 1)
    events += connection.gap(CLIENT, 2, "loss", 2, 2)
    events += connection.feed(CLIENT, CHUNKED[-28:] + GET, 3, 3) + connection.finish()
    assert not request_of(events).complete
    assert b"abcd".startswith(request_of(events).body)
    assert request_of(events, 1).method == "GET"


def test_a_capture_that_begins_in_the_middle_finds_the_next_message() -> None:
    events = run([(CLIENT, b"end of a body--\r\n" + REQUEST), (SERVER, OK)])
    (hole,) = holes(events)
    assert (hole.offset, hole.length, hole.data) == (0, 17, b"end of a body--\r\n")
    assert request_of(events).offset == 17
    assert response_of(events).status == 200


def test_bytes_that_are_no_http_are_one_hole() -> None:
    events = run([(CLIENT, bytes(range(256)) * 100), (SERVER, b"\x16\x03\x01" * 9000)])
    assert [(hole.from_client, hole.length) for hole in holes(events)] == [(True, 25600), (False, 27000)]
    assert len(events) == 2


@pytest.mark.parametrize("length", [b"-5", b"+5", b"5 5", b"0x5", b"1, 2", b"", b"9" * 5000, b"\xb2"])
def test_a_content_length_that_is_no_number_is_told(length: bytes) -> None:
    head = b"POST /msmq/q HTTP/1.1\r\nHost: h\r\nContent-Length: " + length + b"\r\n\r\n"
    events = run([(CLIENT, head + b"body" + GET)])
    first = request_of(events)
    assert "http.content-length" in codes(first)
    assert (first.complete, first.body, first.head) == (False, b"", head)
    assert holes(events)[0].data == b"body"
    assert request_of(events, 1).complete


def test_equal_content_lengths_are_one() -> None:
    request = one_request(b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nab")
    assert (request.body, request.complete) == (b"ab", True)


def test_a_body_with_both_lengths_is_chunked_and_told() -> None:
    request = one_request(CHUNKED.replace(b"Host: h", b"Host: h\r\nContent-Length: 2"))
    assert request.body == b"abcdefg"
    assert "http.both-lengths" in codes(request)


@pytest.mark.parametrize("coding", [b"gzip", b"chunked, gzip", b"xchunked"])
def test_a_request_with_another_transfer_encoding_has_no_known_end(coding: bytes) -> None:
    head = b"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: " + coding + b"\r\n\r\n"
    events = run([(CLIENT, head + b"junk" + GET)])
    assert "http.transfer-encoding" in codes(request_of(events))
    assert request_of(events, 1).method == "GET"


@pytest.mark.parametrize("size", [b"-1", b"zz", b"", b"f" * 21, b"5 5"])
def test_a_chunk_size_that_is_no_number_ends_the_message(size: bytes) -> None:
    data = b"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n" + size + b"\r\n"
    events = run([(CLIENT, data + GET)])
    assert request_of(events).body == b"ok"
    assert codes(request_of(events)) == ["http.chunk"]
    assert not request_of(events).complete
    assert request_of(events, 1).complete


def test_a_huge_chunk_holds_only_what_came() -> None:
    data = b"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffff0\r\nabc"
    request = one_request(data)
    assert (request.body, request.complete, codes(request)) == (b"abc", False, ["http.cut"])


def test_a_huge_content_length_holds_only_what_came() -> None:
    connection = HttpConnection()
    connection.feed(CLIENT, HEAD % (1 << 60) + b"abc", 1, 1)
    assert connection.held_bytes < 2000
    (hole,) = connection.gap(CLIENT, 1 << 59, "loss", 2, 2)
    (exchange,) = connection.finish()
    assert isinstance(hole, HttpHole)
    assert isinstance(exchange, HttpExchange)
    assert exchange.request is not None
    assert (exchange.request.body, exchange.request.missing) == (b"abc", ((3, 1 << 59),))


def test_a_body_beyond_the_limit_is_cut_and_framing_goes_on() -> None:
    block = b"x" * (1 << 20)
    connection = HttpConnection()
    events = connection.feed(CLIENT, HEAD % (18 << 20), 1, 1)
    for number in range(18):
        events += connection.feed(CLIENT, block, 2 + number, 2)
        assert connection.held_bytes < MAX_BODY + 8192
    events += connection.feed(CLIENT, GET, 50, 50) + connection.finish()
    request = request_of(events)
    assert len(request.body) == MAX_BODY
    assert not request.complete
    assert codes(request) == ["http.body-size"]
    assert request_of(events, 1).complete


def test_requests_that_wait_are_given_up_beyond_what_may_be_held() -> None:
    connection = HttpConnection(max_held=10_000)
    events: list[HttpEvent] = []
    for frame in range(1, 40):
        events += connection.feed(CLIENT, HEAD % 3000 + b"x" * 3000, frame, frame)
        assert connection.held_bytes <= 10_000
    events += connection.finish()
    assert [(len(request_of(events, n).body), request_of(events, n).complete) for n in range(39)] == [
        (3000, True)
    ] * 39
    assert len(events) == 39


def test_at_most_256_requests_wait() -> None:
    connection = HttpConnection()
    events = connection.feed(CLIENT, GET * 300, 1, 1)
    assert len(events) == 44
    assert all(isinstance(event, HttpExchange) and event.response is None for event in events)


def test_a_head_that_does_not_end_is_cut() -> None:
    head = b"POST /msmq/q HTTP/1.1\r\n" + b"A: b\r\n" * 20_000
    events = run([(CLIENT, head)])
    request = request_of(events)
    assert len(request.head) == MAX_HEAD
    assert len(request.headers) == 256
    assert codes(request) == ["http.header-count", "http.header-size"]
    assert sum(hole.length or 0 for hole in holes(events)) == len(head) - MAX_HEAD


def test_a_start_line_that_does_not_end_is_no_message() -> None:
    events = run([(CLIENT, b"POST /" + b"a" * 100_000), (CLIENT, b" HTTP/1.1\r\n\r\n")])
    assert exchanges(events) == []
    assert [hole.length for hole in holes(events)] == [100_019]


def test_headers_that_break_the_grammar_are_kept_and_told() -> None:
    request = one_request(b"POST /msmq/q HTTP/1.1\r\nno colon\r\nBad Name: x\r\nContent-Length: 2\r\n\r\nab")
    assert codes(request) == ["http.grammar", "http.header-line"]
    assert request.headers == ((b"Bad Name", b"x"), (b"Content-Length", b"2"))
    assert (request.body, request.complete) == (b"ab", True)


def test_what_is_told_of_the_grammar_is_short() -> None:
    request = one_request(b"GET / HTTP/1.1\r\nHost: h\r\n" + b"\x01" * 50_000 + b"\r\n\r\n")
    assert all(len(problem.message) <= 160 for problem in request.problems)
    assert request.problems[0].code == "http.grammar"


def test_http_1_0_and_bare_line_feeds_are_read() -> None:
    events = run([(CLIENT, b"GET /x HTTP/1.0\n\n"), (SERVER, b"HTTP/1.0 200\nA: b\n\nall of it")])
    assert request_of(events).http_version == "1.0"
    assert (response_of(events).body, response_of(events).reason) == (b"all of it", "")


def test_switching_protocols_ends_http() -> None:
    events = run([(CLIENT, GET), (SERVER, b"HTTP/1.1 101 Switching\r\nUpgrade: h\r\n\r\n\x81\x05hello")])
    assert response_of(events).status == 101
    assert response_of(events).problems == ()
    assert holes(events)[0].data == b"\x81\x05hello"


@pytest.mark.parametrize(
    ("data", "http", "srmp"),
    [
        (REQUEST, True, True),
        (b"POST /msmq/private$/q HTTP/1.1\r\n", True, True),
        (b"POST http://m/MSMQ/private$/q HTTP/1.1\r\n", True, True),
        (b'POST /other HTTP/1.1\r\nHost: x\r\nSOAPAction: "MSMQMessage"\r\n\r\n', True, True),
        (REQUEST.replace(b"/msmq/private$/simpleq", b"/x").replace(b"SOAPAction", b"X"), True, True),
        (b"POST /msmqx HTTP/1.1\r\nHost: x\r\n\r\n", True, False),
        (b"GET /msmq/q HTTP/1.1\r\nHost: x\r\n\r\n", True, False),
        (OK, True, False),
        (b"\x10\xc0\x0b\x00LIOR", False, False),
        (b"POSTscript", False, False),
        (b"", False, False),
    ],
)
def test_srmp_is_recognised_by_content(data: bytes, http: bool, srmp: bool) -> None:
    assert looks_like_http(data) is http
    assert is_credible(data) is srmp


def test_one_stored_message_is_read_with_what_lies_behind_it() -> None:
    message, rest = parse_message(REQUEST + b"\0\0")
    assert message is not None
    assert (message.body, message.complete, rest) == (BODY, True, b"\0\0")
    cut, rest = parse_message(REQUEST[:-5])
    assert cut is not None
    assert (cut.body, cut.complete, rest) == (BODY[:-5], False, b"")
    assert parse_message(b"no http\r\n" + REQUEST) == (None, b"no http\r\n" + REQUEST)
    assert parse_message(b"POST /msmq") == (None, b"POST /msmq")
    assert parse_message(b"") == (None, b"")


def test_many_gaps_in_a_body_are_told_up_to_a_limit() -> None:
    connection = HttpConnection()
    events = connection.feed(CLIENT, HEAD % 1000, 1, 1)
    for frame in range(2, 302):
        events += connection.feed(CLIENT, b"x", frame, frame)
        events += connection.gap(CLIENT, 1, "loss", frame, frame)
        events += connection.gap(CLIENT, 1, "loss", frame, frame)
    events += connection.feed(CLIENT, b"y" * 100 + GET, 400, 400) + connection.finish()
    request = request_of(events)
    assert request.missing[:2] == ((1, 2), (4, 2))
    assert len(request.missing) == 256
    # Behind the last range told nothing is kept, so that what is kept has its place.
    assert request.body == b"x" * 257
    assert codes(request) == ["http.body-size", "http.missing"]
    assert request_of(events, 1).method == "GET"


def test_a_gap_in_a_body_read_until_the_end_is_left_out() -> None:
    connection = HttpConnection()
    events = connection.feed(CLIENT, GET, 1, 1)
    events += connection.feed(SERVER, b"HTTP/1.1 200 OK\r\n\r\nab", 2, 2)
    events += connection.gap(SERVER, 7, "loss", 3, 3)
    events += connection.feed(SERVER, b"cd", 4, 4) + connection.finish()
    response = response_of(events)
    assert (response.body, response.missing, response.complete) == (b"abcd", ((2, 7),), False)
    assert exchanges(events)[0].certain


def test_a_gap_of_no_bytes_is_none() -> None:
    connection = HttpConnection()
    connection.feed(CLIENT, REQUEST[:40], 1, 1)
    assert connection.gap(CLIENT, 0, "loss", 2, 2) == []
    connection.feed(CLIENT, REQUEST[40:], 2, 2)
    assert request_of(connection.finish()).complete


def test_an_interim_response_without_anything_else_is_told() -> None:
    (event,) = run([(SERVER, b"HTTP/1.1 100 Continue\r\n\r\n")])
    assert isinstance(event, HttpExchange)
    assert (event.request, event.response, len(event.interim)) == (None, None, 1)


def test_interim_responses_beyond_a_few_come_alone() -> None:
    events = run([(CLIENT, GET), (SERVER, b"HTTP/1.1 100 Continue\r\n\r\n" * 20 + OK)])
    assert len(events) == 13
    last = exchanges(events)[-1]
    assert (len(last.interim), last.request is None, response_of(events, 12).status) == (8, False, 200)


def test_a_cut_head_gives_the_headers_whose_lines_are_whole() -> None:
    request = one_request(b"POST /msmq/q HTTP/1.1\nHost: machine2\nContent-Le")
    assert (request.method, request.headers, request.complete) == ("POST", ((b"Host", b"machine2"),), False)


@pytest.mark.parametrize(
    ("requests", "most"),
    [
        # One more than the 256 that may wait, and more bytes than may be held.
        ([GET * 257], 1_000_000),
        ([HEAD % 3000 + b"x" * 3000 + HEAD % 3000, b"y" * 3000], 5000),
    ],
    ids=["number", "size"],
)
def test_behind_a_request_that_was_given_up_no_response_is_certain(requests: list[bytes], most: int) -> None:
    connection = HttpConnection(max_held=most)
    (given_up,) = (event for data in requests for event in connection.feed(CLIENT, data, 1, 1))
    (answered,) = connection.feed(SERVER, OK, 2, 2)
    assert isinstance(given_up, HttpExchange)
    assert isinstance(answered, HttpExchange)
    assert (given_up.response, given_up.certain) == (None, True)
    # It may be the response to the one before.
    assert (answered.request is None, answered.response is None, answered.certain) == (False, False, False)


def test_a_body_whose_end_is_missing_is_complete_at_once() -> None:
    connection = HttpConnection()
    assert connection.feed(CLIENT, HEAD % 10 + b"01234", 1, 1) == []
    (hole,) = connection.gap(CLIENT, 5, "loss", 2, 2)
    assert isinstance(hole, HttpHole)
    (exchange,) = connection.feed(SERVER, OK, 3, 3)
    assert isinstance(exchange, HttpExchange)
    assert exchange.request is not None
    assert exchange.response is not None
    assert (exchange.request.body, exchange.request.missing) == (b"01234", ((5, 5),))
