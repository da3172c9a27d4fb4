"""What stands for texts and bytes is as long as they are, and of a queue's name the host goes."""

from __future__ import annotations

import pytest

from msmq_wire.redaction.redactor import Redaction, Redactor
from msmq_wire.redaction.stand_ins import blank
from msmq_wire.wire.private import QUEUE_NAME
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.wchar_text import FixedWcharText, WcharText


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("OS:srv01\\private$\\q", "OS:xxxxx\\private$\\q"),
        ("os:srv01\\private$\\q", "os:xxxxx\\private$\\q"),
        ("DIRECT=TCP:192.0.2.1\\q", "DIRECT=TCP:xxxxxxxxx\\q"),
        ("http://srv01/msmq/q", "http://xxxxx/msmq/q"),
        ("HTTPS://srv01:8443/msmq/q?token#top", "HTTPS://xxxxxxxxxx/msmq/qxxxxxxxxxx"),
        ("srv01\\q", "xxxxx\\q"),
        # What is no protocol is a host, and so is what follows slashes.
        ("srv01:8080\\q", "xxxxxxxxxx\\q"),
        ("secret:srv01\\q", "xxxxxxxxxxxx\\q"),
        ("\\\\srv01\\q", "\\\\xxxxx\\q"),
        ("OS:srv01", "xxxxxxxx"),
        ("", ""),
        ("OS:srv\U0001f5a5\\q", "OS:xxxxx\\q"),
    ],
)
def test_of_the_name_of_a_queue_the_host_goes(name: str, shown: str) -> None:
    value = WcharText.of(name)
    told = Redactor({Redaction.HOSTS}).told(value, QUEUE_NAME)
    assert told == WcharText.of(shown)
    assert len(told) == len(value)


def test_what_stands_behind_the_end_of_a_name_goes() -> None:
    name = WcharText.of("OS:a\\q\0srv01")
    assert Redactor({Redaction.HOSTS}).told(name, QUEUE_NAME).text == "OS:x\\q" + "\0" * 6


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (b"abc", bytes(3)),
        (WcharText.of("abc"), WcharText.of("xxx")),
        (WcharText(b"a\0b"), WcharText(b"x\0\0")),
        (FixedWcharText(b"a\0\0\0b\0"), FixedWcharText(b"x\0\0\0\0\0")),
        (GUID(b"0123456789abcdef"), GUID(bytes(16))),
    ],
)
def test_a_text_becomes_letters_and_bytes_become_zeros_of_their_type(value: bytes, shown: bytes) -> None:
    assert blank(value) == shown
    assert type(blank(value)) is type(shown)
