"""What breaks the grammar of a head: heads by hand, in the words of h11, which is asked as well."""

from __future__ import annotations

import pytest

from msmq_wire.srmp.http.grammar import fields_problem, head_problem
from msmq_wire.srmp.http.message import header_fields, parse_head

GET = b"GET / HTTP/1.1\r\n"
HOST = b"Host: h\r\n"
OK = b"HTTP/1.1 200 OK\r\n"
CONFLICT = "conflicting Content-Length headers"
NO_LENGTH = "bad Content-Length"
NOT_CHUNKED = "Only Transfer-Encoding: chunked is supported"

HEADS: list[tuple[bytes, str]] = [
    # Start lines.
    (GET + HOST, ""),
    (b"GET / HTTP/1.1\nHost: h\n", ""),
    (b"GET / HTTP/1.0\r\n", ""),
    (b"GET / HTTP/2.0\r\n", ""),
    (b"CONNECT h:1 HTTP/1.1\r\n" + HOST, ""),
    (b"P!#$%&'*+-.^_`|~9 * HTTP/1.1\r\n" + HOST, ""),
    (b"GET  / HTTP/1.1\r\n" + HOST, 'illegal request line: "GET  / HTTP/1.1"'),
    (b"GET / http/1.1\r\n" + HOST, 'illegal request line: "GET / http/1.1"'),
    (b"GET /a b HTTP/1.1\r\n" + HOST, 'illegal request line: "GET /a b HTTP/1.1"'),
    (b"GET /\xe9\0 HTTP/1.1\r\n" + HOST, r'illegal request line: "GET /\xe9\x00 HTTP/1.1"'),
    (OK, ""),
    (b"HTTP/1.1 200\r\n", ""),
    (b"HTTP/1.1 200 \r\n", ""),
    (b"HTTP/1.0 101 \xe9 \x01\r\n", ""),
    (b"HTTP/1.1 999 No\r\n", ""),
    (b"HTTP/1.1 200 O\x0bK\r\n", r'illegal status line: "HTTP/1.1 200 O\x0bK"'),
    (b"HTTP/1.1 099 X\r\n", "a status code below 100"),
    # Hosts.
    (GET, "Missing mandatory Host: header"),
    (GET + b"HOST:\r\n", ""),
    (GET + HOST + HOST, "Found multiple Host: headers"),
    (b"GET / HTTP/1.0\r\n" + HOST + HOST, "Found multiple Host: headers"),
    (OK + HOST + HOST, ""),
    # Lines of headers.
    (OK + b"A:b\r\nB: \t \r\nC: \x01\x7f\xff\r\n", ""),
    (OK + b"A: b\r\n\tc\r\n \r\n d\r\nB: e\n", ""),
    (OK + b" A: b\r\n", "continuation line at start of headers"),
    (OK + b"\t\r\n", "continuation line at start of headers"),
    (OK + b"A: b\r\nno colon\r\nC : d\r\n", 'illegal header line: "no colon"'),
    (OK + b"A : b\r\n", 'illegal header line: "A : b"'),
    (OK + b": b\r\n", 'illegal header line: ": b"'),
    (OK + b"A: b\rc\r\n", r'illegal header line: "A: b\rc"'),
    (OK + b"A: b\0\r\n", r'illegal header line: "A: b\x00"'),
    (OK + b"A\xe9: b\r\n", r'illegal header line: "A\xe9: b"'),
    (OK + b"A: b \r\n \t c\x0c\r\nB: d\r\n", r'illegal header line: "A: b  c\x0c"'),
    (OK + b"no\r\n\tcolon\r\n", 'illegal header line: "no colon"'),
    (OK + b"A" * 300 + b"\r\n", 'illegal header line: "' + "A" * 138),
    # What comes first counts, and lines before what they say.
    (b"GET  / HTTP/1.1\r\nA\r\n", 'illegal request line: "GET  / HTTP/1.1"'),
    (GET + b"Content-Length: x\r\nA\r\n", 'illegal header line: "A"'),
    (GET + b"Content-Length: x\r\nTransfer-Encoding: x\r\n", NO_LENGTH),
    (GET + b"Transfer-Encoding: x\r\nContent-Length: x\r\n", NOT_CHUNKED),
    # Lengths of bodies.
    (OK + b"Content-Length: 0\r\n", ""),
    (OK + b"Content-Length:\r\n 5\r\ncontent-length: 5 ,5\r\n", ""),
    (OK + b"Content-Length: 18446744073709551616\r\n", ""),
    (OK + b"Content-Length: 118446744073709551616\r\n", NO_LENGTH),
    (OK + b"Content-Length:\r\n", NO_LENGTH),
    (OK + b"Content-Length: +5\r\n", NO_LENGTH),
    (OK + b"Content-Length: 5\r\n 6\r\n", NO_LENGTH),
    (OK + b"Content-Length: 5, 6\r\n", CONFLICT),
    (OK + b"Content-Length: 5,\r\n", CONFLICT),
    (OK + b"Content-Length: 5\r\nContent-Length: 6\r\n", CONFLICT),
    (OK + b"Content-Length: 5\r\nContent-Length: x\r\n", NO_LENGTH),
    (OK + b"Transfer-Encoding: Chunked\r\n", ""),
    (OK + b"Transfer-Encoding:\r\n\tchunked \r\n", ""),
    (OK + b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", ""),
    (OK + b"Transfer-Encoding: gzip, chunked\r\n", NOT_CHUNKED),
    (OK + b"Transfer-Encoding:\r\n", NOT_CHUNKED),
    (OK + 2 * b"Transfer-Encoding: chunked\r\n", "multiple Transfer-Encoding headers"),
]


def _problem(head: bytes) -> str:
    return next((one.message for one in parse_head(head).problems if one.code == "http.grammar"), "")


@pytest.mark.parametrize(("lines", "problem"), HEADS)
def test_what_breaks_the_grammar_of_a_head_is_told(lines: bytes, problem: str) -> None:
    assert _problem(lines + b"\r\n") == problem
    assert _problem(lines + b"\n") == problem


@pytest.mark.needs("h11")
def test_h11_says_the_same_of_every_head() -> None:
    import h11

    def told(head: bytes) -> str:
        request = not head.startswith(b"HTTP/")
        connection = h11.Connection(h11.SERVER if request else h11.CLIENT)
        if not request:
            # A response 101 answers a request that asks for it.
            connection.send(h11.Request(method="GET", target="/", headers=[("Host", "h"), ("Upgrade", "h")]))
            connection.send(h11.EndOfMessage())
        try:
            connection.receive_data(head)
            connection.next_event()
        except h11.RemoteProtocolError as error:
            return str(error)
        return ""

    def words(problem: str) -> str:
        # It quotes whole lines as bytearray(b'...'), and names a class where a status is below 100.
        return problem.replace("bytearray(b'", '"').replace("')", '"')[:160]

    said = {lines: words(told(lines + b"\r\n")) for lines, _ in HEADS}
    below = said.pop(b"HTTP/1.1 099 X\r\n")
    assert below.endswith("should be in range [100, 200), not 99")
    assert said == {lines: problem for lines, problem in HEADS if lines in said}


def test_a_head_that_was_cut_breaks_nothing_by_its_end() -> None:
    assert _problem(GET) == ""
    assert _problem(GET + b"no colon\r\n") == ""


def test_a_problem_of_a_head_is_told_whatever_was_read_of_its_headers() -> None:
    assert head_problem(GET + b"\r\n", ((b"host", b"h"),)) == ""
    assert head_problem(OK + b"\r\n", ((b"Content-Length", b"x"),)) == NO_LENGTH


@pytest.mark.parametrize(
    ("block", "problem"),
    [
        (b"\r\n", ""),
        (b"\n", ""),
        (b"A: b\r\n c\r\n\r\n", ""),
        (b" A: b\r\n\r\n", "continuation line at start of headers"),
        (b"A\r\n\r\n", 'illegal header line: "A"'),
        (b"Content-Length: x\r\n\r\n", NO_LENGTH),
    ],
)
def test_what_breaks_the_grammar_of_trailers_is_told(block: bytes, problem: str) -> None:
    assert fields_problem(block, header_fields(block)[0]) == problem
