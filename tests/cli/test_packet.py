"""``msmq-wire packet``: the tree of a packet, its JSON, and how it ends."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from msmq_wire.cli.render.screen import Screen
from msmq_wire.engines.codec import inspect
from msmq_wire.records.tree.heading import Heading
from msmq_wire.records.tree.packet_nodes import packet_nodes
from msmq_wire.records.tree.tree import TreeOptions, print_packet
from msmq_wire.records.tree.tree_node import NodeOptions, TreeNode
from msmq_wire.wire import registry
from tests.effort import share
from tests.hex_files import hex_bytes

Run = Callable[..., Any]
Read = Callable[[str], bytes]
FIXTURES = Path(__file__).resolve().parents[2] / "fixtures" / "packets"


def test_frame_7_shows_every_field_with_its_meaning(run: Run, packet_bytes: Read) -> None:
    status, out, err = run("packet", "-", stdin=packet_bytes("user_message/frame_7_cut"))
    lines = [" ".join(line.replace("│", " ").split()) for line in out.splitlines()]
    assert status == 0
    assert err == ""
    assert lines[0] == 'user_message DIRECT=OS:a04bm02\\q "mqsender label" 1650 bytes'
    for line in (
        "0 base_header 16 bytes [MS-MQMQ] 2.2.19.1",
        '4 ├─ signature 0x524f494c "LIOR"',
        "8 ├─ packet_size 2224 bytes",
        "12 └─ time_to_reach_queue 345600 4 days",
        "16 ├─ source_queue_manager 557358d1-9150-9595-4997-b6e611ea26c6",
        "48 ├─ time_to_be_received 4294967295 infinite",
        "52 ├─ sent_time 1380927820 2013-10-04 23:03:40Z",
        "60 ├─ flags 0x00281c00",
        "├─ dq 7 destination queue: DIRECT",
        "├─ sh 1 SecurityHeader follows",
        "64 └─ destination_queue DIRECT=OS:a04bm02\\q DIRECT",
        "108 └─ security_id S-1-5-21-3181267629-1039849782-3663111779-1000",
        "138 ├─ message_class 0 MQMSG_CLASS_NORMAL",
        "160 ├─ body_type 8 VT_BSTR",
        "180 ├─ hash_algorithm 0x8004 SHA_1",
        '192 ├─ label "mqsender label"',
        "222 └─ message_body 1428 of 2000 bytes UTF-16 text",
    ):
        assert line in lines
    assert not any("connector_type" in line or "reserved" in line or "padding" in line for line in lines)


def test_an_anomaly_and_an_error_stand_where_they_belong(run: Run, packet_bytes: Read) -> None:
    out = run("packet", "-", stdin=packet_bytes("user_message/frame_7_cut")).out.splitlines()
    flags = next(i for i, line in enumerate(out) if "0x00281c00" in line)
    anomaly = next(i for i, line in enumerate(out) if "⚠" in line)
    after = next(i for i, line in enumerate(out) if "64  └─ destination_queue" in line)
    assert flags < anomaly < after
    assert "user_message.admin-queue-missing" in out[anomaly]
    assert "([MS-MQMQ] 2.2.19.2)" in out[anomaly]
    assert "✖ missing-bytes: decoding stopped at message_properties_header.message_body" in out[-1]


def test_hex_shows_every_byte_of_a_packet_beside_its_fields(run: Run, packet_bytes: Read) -> None:
    data = packet_bytes("user_message/everything")
    out = run("packet", "-", "--hex", "--body-limit", "0", stdin=data).out
    assert "24 02 00 00              ├─ packet_size" in out
    assert "cd                       ├─ reserved" in out
    assert "42 4f 44 59 21" in out


def test_a_narrow_terminal_is_never_exceeded(
    run: Run, packet_bytes: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = packet_bytes("user_message/everything")
    run("packet", "-", stdin=data)
    monkeypatch.setenv("COLUMNS", "80")
    for arguments in ((), ("--hex",)):
        lines = run("packet", "-", *arguments, stdin=data).out.splitlines()
        assert max(map(len, lines)) <= 80
        assert any("PRIVATE=c0ffee00" in line for line in lines)


def test_a_body_is_cut_at_the_limit_and_says_so(run: Run, packet_bytes: Read) -> None:
    data = packet_bytes("user_message/frame_7_completed_synthetic")
    short = run("packet", "-", "--body-limit", "20", stdin=data).out
    whole = run("packet", "-", "--body-limit", "0", stdin=data).out
    assert "990 more characters; --body-limit 0 shows all" in short
    assert "a" * 1000 in whole
    assert "a" * 1000 not in short


def test_json_keeps_its_keys_and_the_bytes_that_follow(run: Run, packet_bytes: Read) -> None:
    data = packet_bytes("ping/frame_1_request")
    status, out, _ = run("packet", "-", "--format", "json", stdin=data + b"\1\2\3")
    row = json.loads(out)
    assert status == 0
    assert list(row) == [
        "schema_version",
        "type",
        "packet",
        "anomalies",
        "consumed",
        "remainder",
        "error",
    ]
    assert row["type"] == "ping"
    assert row["packet"]["qm_guid"] == "557358d1-9150-9595-4997-b6e611ea26c6"
    assert row["consumed"] == len(data)
    assert base64.b64decode(row["remainder"]) == b"\1\2\3"
    assert row["error"] is None


def test_the_tree_says_how_many_bytes_follow(run: Run, packet_bytes: Read) -> None:
    data = packet_bytes("ping/frame_1_request")
    assert "24 bytes follow the packet" in run("packet", "-", stdin=data * 2).out


def test_as_decodes_a_header_or_a_type(run: Run) -> None:
    guid = "00112233445566778899aabbccddeeff"
    status, out, _ = run("packet", "-", "--as", "guid", stdin=guid.encode())
    assert status == 0
    assert "33221100-5544-7766-8899-aabbccddeeff" in out


def test_as_message_packet_reads_time_to_reach_queue_as_a_time(run: Run, packet_bytes: Read) -> None:
    data = packet_bytes("message_packet/without_trailers")
    out = run("packet", "-", "--as", "message_packet", stdin=data).out
    line = next(line for line in out.splitlines() if "time_to_reach_queue" in line)
    assert line.endswith("Z")


def test_a_time_that_is_infinite_is_no_date(run: Run, packet_bytes: Read) -> None:
    data = packet_bytes("message_packet/without_trailers")
    out = run("packet", "-", "--as", "message_packet", stdin=data[:12] + b"\xff" * 4 + data[16:]).out
    line = next(line for line in out.splitlines() if "time_to_reach_queue" in line)
    assert "Z" not in line
    assert line.endswith("infinite")


def test_as_with_an_unknown_kind_is_bad_usage(run: Run) -> None:
    status, out, err = run("packet", "-", "--as", "pong", stdin=b"00")
    assert (status, out) == (2, "")
    assert err.count("\n") == 1
    assert "'pong'" in err


@pytest.mark.parametrize("stdin", [b"", b"no packet at all", b"00 01 02 03", b"\0" * 64])
def test_no_packet_is_one_line_and_status_1(run: Run, stdin: bytes) -> None:
    status, out, err = run("packet", "-", stdin=stdin)
    assert (status, out) == (1, "")
    assert err.startswith("msmq-wire: standard input: ")
    assert err.count("\n") == 1


def test_a_cut_packet_alone_is_status_0(run: Run, packet_bytes: Read) -> None:
    status, out, err = run("packet", "-", stdin=packet_bytes("user_message/cut_in_sent_time"))
    assert (status, err) == (0, "")
    assert "missing-bytes" in out


def test_no_packet_in_json_still_gives_one_object(run: Run) -> None:
    status, out, _ = run("packet", "-", "--format", "json", stdin=bytes(64))
    assert status == 1
    assert json.loads(out)["error"]["code"] == "signature"


@pytest.mark.parametrize("name", ["missing", "file/below", "."])
def test_a_file_that_cannot_be_read_is_one_line_and_status_1(run: Run, tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_bytes(b"x")
    status, out, err = run("packet", tmp_path / name)
    assert (status, out) == (1, "")
    assert "cannot read it" in err
    assert err.count("\n") == 1


def test_hostile_text_reaches_no_terminal(run: Run, packet_bytes: Read) -> None:
    data = packet_bytes("user_message/frame_7_completed_synthetic")
    hostile = "\x1b[2Jpwned\u202e\n\x07\x9b1".encode("utf-16-le")
    assert len(hostile) == 28
    data = data[:192] + hostile + data[220:]
    out = run("packet", "-", stdin=data).out
    assert not set(out) & set("\x1b\x07\x9b\u202e")
    assert "\\x1b[2Jpwned\\u202e\\n\\x07\\x9b1" in out


def test_a_terminal_without_unicode_gets_ascii(
    packet_bytes: Read, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    result = inspect(packet_bytes("user_message/frame_7_cut"))
    path = tmp_path / "out"
    with open(path, "w", encoding="ascii") as stream:
        screen = Screen(stream, "never")
        print_packet(
            screen,
            Heading(type="user_message", src="a", dst="b"),
            result.packet,
            TreeOptions(),
            anomalies=result.anomalies,
            error=result.error,
        )
    text = path.read_text(encoding="ascii")
    assert "a -> b" in text
    assert "|- packet_size" in text
    assert "! user_message.admin-queue-missing" in text


def _whole_packets() -> list[str]:
    return sorted(
        f"{path.parent.name}/{path.stem}"
        for path in FIXTURES.glob("*/*.hex")
        if path.parent.name in registry.PACKETS
    )


@pytest.mark.parametrize("name", share(_whole_packets(), 4))
def test_every_fixture_can_be_printed(run: Run, packet_bytes: Read, name: str) -> None:
    stem = name.partition("/")[0]
    status, out, _ = run("packet", "-", "--as", stem, "--hex", stdin=packet_bytes(name))
    assert status == 0
    assert out.startswith(stem)


def _bytes_of(name: str) -> bytes:
    return hex_bytes(FIXTURES / f"{name}.hex")


_EVERYTHING = _bytes_of("user_message/everything")


@given(
    st.sampled_from(["user_message", "message_packet", "order_ack"]),
    st.dictionaries(st.integers(0, len(_EVERYTHING) - 1), st.integers(0, 255), max_size=6),
    st.integers(8, len(_EVERYTHING)),
)
def test_any_damage_is_printed_without_failing(as_: str, damage: dict[int, int], end: int) -> None:
    data = bytearray(_EVERYTHING)
    for at, byte in damage.items():
        data[at] = byte
    result = inspect(bytes(data[:end]), as_)
    stream = io.StringIO()
    print_packet(
        Screen(stream, "never"),
        Heading(type=as_),
        result.packet,
        TreeOptions(hex=True),
        anomalies=result.anomalies,
        error=result.error,
        remainder=result.remainder,
    )
    text = stream.getvalue()
    assert text.count("⚠") == len(result.anomalies)
    assert text.count("✖") == (result.error is not None)


@pytest.mark.parametrize("name", [name for name in _whole_packets() if not name.startswith("message_packet")])
def test_the_bytes_beside_the_fields_are_those_of_the_packet(name: str) -> None:
    packet = inspect(_bytes_of(name), name.partition("/")[0]).packet
    data = _bytes_of(name)

    def check(nodes: list[TreeNode]) -> int:
        covered = 0
        for node in nodes:
            if node.wire and node.span is not None:
                assert node.wire == data[node.span.offset : node.span.offset + node.span.length]
                covered += len(node.wire)
            covered += check(node.children)
        return covered

    assert check(packet_nodes(packet, NodeOptions(everything=True))) > 0


def test_words_are_text_and_not_base64(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "letter"
    path.write_text("hello world this is text")
    status, out, err = run("packet", path)
    assert (status, out) == (1, "")
    assert "text" in err
