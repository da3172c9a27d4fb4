"""What is not seen, or controls a terminal, is shown by its number where the dissector puts text together."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from msmq_wire import decode, encode
from msmq_wire.engines.fit import fit
from msmq_wire.invisible import DEFAULT_IGNORABLE
from msmq_wire.wire.packets.user_message import UserMessage
from msmq_wire.wire.types.wchar_text import WcharText
from tests.dissectors.wireshark.tshark_view import run, tcp_frames, write
from tests.hex_files import hex_bytes

pytestmark = pytest.mark.tshark

_MESSAGE = Path(__file__).parents[3] / "fixtures" / "packets" / "user_message" / "direct_destination.hex"
_TABLE = [chr(code) for first, last in DEFAULT_IGNORABLE for code in range(first, last + 1)]
_AT_ONCE = 16


def labelled(message: UserMessage, label: str) -> bytes:
    assert message.message_properties_header is not None
    properties = msgspec.structs.replace(message.message_properties_header, label=WcharText.of(label))
    return encode(fit(msgspec.structs.replace(message, message_properties_header=properties)))


@pytest.mark.slow
def test_the_info_column_shows_no_character_that_is_not_seen(tmp_path: Path) -> None:
    message = decode(hex_bytes(_MESSAGE))
    assert isinstance(message, UserMessage)
    labels = ["".join(_TABLE[at : at + _AT_ONCE]) for at in range(0, len(_TABLE), _AT_ONCE)]
    segments, at = [], 0
    for label in (*labels, "a\x1b[31m\x85\n"):
        data = labelled(message, label)
        segments.append((at, data))
        at += len(data)
    reported = run(write(tmp_path / "labels.pcap", tcp_frames(1, segments)))
    assert reported.count("UserMessage") == len(segments)
    assert set(reported) & {*_TABLE, "\x1b", "\x85"} == set()
    assert "\\u3164" in reported
    assert '"a\\x1b[31m\\x85\\n"' in reported
