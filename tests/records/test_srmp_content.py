"""What is told of a request, whole or not."""

from __future__ import annotations

import pytest

from msmq_wire.records.srmp_content import error_of, judge_request, take_apart
from msmq_wire.srmp.http import HttpMessage

_HEAD = b"POST /msmq/private$/q HTTP/1.1\r\nHost: h\r\nContent-Type: text/xml\r\n\r\n"
_ROOT = b'<se:Envelope xmlns:se="http://schemas.xmlsoap.org/soap/envelope/">'
_HEADER = b"<se:Header></se:Header>"


def _request(body: bytes, *, complete: bool) -> HttpMessage:
    return HttpMessage(
        from_client=True,
        method="POST",
        target="/msmq/private$/q",
        http_version="1.1",
        head=_HEAD,
        headers=((b"Host", b"h"), (b"Content-Type", b"text/xml")),
        body=body,
        complete=complete,
        frames=(1,),
        time=0,
        offset=0,
        length=len(_HEAD) + len(body),
    )


@pytest.mark.parametrize("complete", [True, False])
@pytest.mark.parametrize(
    ("body", "missing"),
    [
        (_ROOT, []),
        (_ROOT + _HEADER[:11], []),
        (_ROOT + _HEADER, ["envelope.header.path", "envelope.header.properties"]),
        (
            _ROOT + _HEADER + b"</se:Envelope>",
            ["envelope.header.path", "envelope.header.properties", "envelope.body"],
        ),
    ],
)
def test_only_what_can_come_no_more_is_missing_in_an_envelope(
    body: bytes, missing: list[str], complete: bool
) -> None:
    request = take_apart(_request(body, complete=complete))
    told = [one for one in judge_request(request) if one.code.endswith(".missing")]
    assert [one.path for one in told] == missing
    assert all(one.offset >= len(_HEAD) for one in told)


def test_bytes_that_were_not_captured_are_the_error_of_a_cut_envelope() -> None:
    cut, broken = (error_of(take_apart(_request(_ROOT, complete=complete))) for complete in (False, True))
    assert cut is not None
    assert broken is not None
    assert [(one.code, one.offset) for one in (cut, broken)] == [
        ("missing-bytes", len(_HEAD) + len(_ROOT)),
        ("xml.not-well-formed", len(_HEAD) + len(_ROOT)),
    ]
