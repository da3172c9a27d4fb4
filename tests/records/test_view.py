"""The JSON contract: which keys a row has, in which form, and what null means."""

from __future__ import annotations

import base64
import ipaddress
import json
import re
from pathlib import Path
from typing import Any

import pytest

from msmq_wire import Anomaly, DecodeError, Record, inspect, read_capture
from msmq_wire.records.message import message_view
from msmq_wire.records.view import anomaly_view, error_view, inspect_view, record_view, time_text, view
from msmq_wire.rpc.transfer_properties import MessageProperties
from msmq_wire.spec import SpecRef
from msmq_wire.wire.types.wchar_text import WcharText
from tests.effort import in_batches

CAPTURES = Path(__file__).resolve().parents[2] / "fixtures" / "captures"

Json = dict[str, Any]

ROW_KEYS = [
    "id",
    "parent",
    "type",
    "capture",
    "frames",
    "time",
    "src",
    "dst",
    "stream",
    "offset",
    "length",
    "packet",
    "anomalies",
    "consumed",
    "remainder",
    "error",
    "src_ip",
    "src_port",
    "dst_ip",
    "dst_port",
    "community_id",
]
MORE_KEYS: dict[str, list[list[str]]] = {
    "gap": [["missing", "reason"], ["missing", "frames_missing", "reason"]],
    "error": [[]],
    "tcp_stream": [["event"], ["reason", "event"]],
}
MESSAGE_KEYS = [
    "id",
    "parent",
    "time",
    "src",
    "dst",
    "queue",
    "label",
    "message_class",
    "priority",
    "delivery",
    "sent_time",
    "message_id",
    "body_type",
    "body_size",
    "via",
    "frames",
]
MESSAGE_COLUMNS = [*MESSAGE_KEYS, "capture", "sent_at", "message_class_name", "body_type_name", "how"]
"""The columns that these tests know; one that comes after them has tests of its own."""
PACKET_TYPES = {
    "ping",
    "establish_connection",
    "connection_parameters",
    "session_ack",
    "user_message",
    "order_ack",
    "final_ack",
    "srmp_message",
    "srmp_receipt",
}
TIME = re.compile(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z")


# Calls on objects and captures of the lab have tests of their own.
_READ = sorted(path for path in CAPTURES.glob("*.pcap*") if not path.name.startswith(("com_", "lab_")))


def rows(capture: Path, *, streams: bool = True) -> list[Json]:
    """The rows as a reader of the JSON text sees them."""
    records = read_capture(capture, streams=streams)
    # Values that are no JSON make dumps raise.
    shown: list[Json] = json.loads(json.dumps([record_view(r) for r in records], allow_nan=False))
    return shown


def messages(name: str, *, acknowledgments: bool = False) -> list[Json]:
    found = (message_view(r, acknowledgments=acknowledgments) for r in read_capture(CAPTURES / name))
    return [row for row in found if row is not None]


def is_endpoint(text: str) -> bool:
    """Whether text is ``192.0.2.1:1801`` or ``[2001:db8::1]:1801``, the address in its short form."""
    split = re.fullmatch(r"\[(.+)\]:(\d+)|([^:]+):(\d+)", text)
    assert split is not None
    address = split[1] or split[3]
    version = 6 if split[1] else 4
    return str(ipaddress.ip_address(address)) == address and ipaddress.ip_address(address).version == version


def is_count(value: Any) -> bool:
    return type(value) is int and value >= 0


@in_batches(_READ, name="capture", every=1)
def test_every_row_has_the_keys_of_its_type_in_their_order(capture: Path) -> None:
    for row in rows(capture):
        assert list(row)[: len(ROW_KEYS)] == ROW_KEYS
        assert list(row)[len(ROW_KEYS) :] in MORE_KEYS.get(row["type"], [[]])
        assert row["type"] in PACKET_TYPES | MORE_KEYS.keys()


@in_batches(_READ, name="capture", every=1)
def test_every_value_of_a_row_has_its_form(capture: Path) -> None:
    for number, row in enumerate(rows(capture), 1):
        assert row["id"] == number
        assert row["parent"] is None
        assert row["capture"] == str(capture)
        assert all(is_count(row[key]) for key in ("offset", "length", "consumed"))
        assert all(is_count(frame) and frame for frame in row["frames"])
        assert base64.b64decode(row["remainder"], validate=True) is not None
        if row["type"] == "error" or (row["type"] == "gap" and row["stream"] is None):
            # What is said of a whole file.
            assert (row["frames"], row["time"], row["src"], row["dst"]) == ([], None, None, None)
        else:
            assert row["frames"]
            # Simple packet blocks have no time.
            assert TIME.fullmatch(row["time"] or "") or "simple_packets" in capture.name
            assert is_endpoint(row["src"])
            assert is_endpoint(row["dst"])
        alone = row["type"] in ("ping", "error") or row.get("event") == "icmp_unreachable" or not row["src"]
        assert (row["stream"] is None) == alone


@in_batches(_READ, name="capture", every=1)
def test_packets_anomalies_and_errors_have_their_form(capture: Path) -> None:
    for row in rows(capture):
        packet = row["type"] in PACKET_TYPES
        assert (row["packet"] is not None) == packet
        if packet:
            assert row["consumed"] + len(base64.b64decode(row["remainder"])) == row["length"]
        for anomaly in row["anomalies"]:
            assert list(anomaly) == ["code", "message", "path", "offset", "length", "spec"]
            assert is_count(anomaly["offset"])
            assert is_count(anomaly["length"])
            assert anomaly["spec"].startswith(("[MS-", "[MC-"))
        if row["error"] is not None:
            assert list(row["error"]) == ["code", "message", "path", "offset", "spec"]
            assert is_count(row["error"]["offset"])
            assert row["error"]["spec"] is None or row["error"]["spec"].startswith(("[MS-", "[MC-"))


@in_batches(_READ, name="capture", every=1)
def test_messages_rows_have_their_keys_in_their_order(capture: Path) -> None:
    shown = messages(capture.name, acknowledgments=True)
    # New ones come last: somebody may count columns.
    assert [list(row)[: len(MESSAGE_KEYS)] for row in shown] == [MESSAGE_KEYS] * len(shown)
    types = {"user_message", "order_ack", "final_ack", "srmp_message", "srmp_receipt"}
    assert [row["id"] for row in shown] == [
        r["id"] for r in rows(capture, streams=False) if r["type"] in types
    ]


def test_a_frame_without_a_time_gives_a_row_without_one() -> None:
    assert [row["time"] for row in rows(CAPTURES / "path_pcapng_simple_packets.pcapng")] == [None] * 8


def test_a_file_error_is_a_row_of_its_own() -> None:
    *_, row = rows(CAPTURES / "path_damaged_record.pcap")
    at = row["offset"]
    assert at > 24
    assert row["error"] == {
        "code": "capture",
        "message": "a record claims 4294967280 bytes, over 1048576",
        "path": "",
        "offset": at,
        "spec": None,
    }
    assert (row["type"], row["packet"], row["consumed"], row["length"]) == ("error", None, 0, 0)


def test_a_gap_says_how_many_bytes_are_missing_and_why() -> None:
    (gap,) = (row for row in rows(CAPTURES / "path_loss_between_messages.pcap") if row["type"] == "gap")
    assert (gap["missing"], gap["reason"], gap["length"]) == (292, "loss", 0)
    assert (gap["packet"], gap["error"], gap["remainder"]) == (None, None, "")


def test_skipped_bytes_are_kept_in_the_remainder() -> None:
    gap, *_ = rows(CAPTURES / "path_junk_before_first_packet.pcap", streams=False)
    assert gap["reason"] == "no-signature"
    assert base64.b64decode(gap["remainder"]).startswith(b"GET / HTTP/1.0\r\n\r\nLIOR")


def test_a_key_that_is_absent_was_not_reached_and_null_is_not_present() -> None:
    whole = rows(CAPTURES / "path_ipv6.pcap", streams=False)[0]
    cut = rows(CAPTURES / "path_snaplen_96.pcap", streams=False)[0]
    assert whole["packet"]["transaction_header"] is None
    assert whole["packet"]["user_header"]["connector_type"] is None
    assert list(cut["packet"]) == ["base_header", "user_header"]
    assert "flags" not in cut["packet"]["user_header"]
    assert cut["error"]["code"] == "missing-bytes"
    assert cut["error"]["path"].startswith("user_header.")


def test_the_three_messages_of_the_demo_show_as_rows() -> None:
    client, server = "192.0.2.21:49731", "192.0.2.10:1801"
    sender = "a1d30c5b-247e-4f45-9a31-c5d20e6f7788"
    common = {
        "capture": str(CAPTURES / "demo.pcap"),
        "sent_at": "2026-11-20T09:14:07.000000000Z",
        "message_class_name": "MQMSG_CLASS_NORMAL",
        "body_type_name": "VT_EMPTY",
        "how": "sent",
    }
    assert [{name: row[name] for name in MESSAGE_COLUMNS} for row in messages("demo.pcap")] == [
        {
            "id": 10,
            "parent": None,
            "time": "2026-11-20T09:14:07.525000000Z",
            "src": client,
            "dst": server,
            "queue": "DIRECT=OS:msg01\\private$\\orders",
            "label": "order 4711",
            "message_class": 0,
            "priority": 3,
            "delivery": "express",
            "sent_time": 1795166047,
            "message_id": f"{sender}\\4162",
            "body_type": 31,
            "body_size": 276,
            "via": "tcp",
            "frames": [11],
            **common,
            "body_type_name": "VT_LPWSTR",
        },
        {
            "id": 11,
            "parent": None,
            "time": "2026-11-20T09:14:08.167600000Z",
            "src": client,
            "dst": server,
            "queue": "DIRECT=OS:msg01\\private$\\payments",
            "label": "payment 93",
            "message_class": 0,
            "priority": 0,
            "delivery": "transactional",
            "sent_time": 1795166047,
            "message_id": f"{sender}\\4163",
            "body_type": 0,
            "body_size": 69,
            "via": "tcp",
            "frames": [13],
            **common,
        },
        {
            "id": 13,
            "parent": None,
            "time": "2026-11-20T09:14:08.222800000Z",
            "src": client,
            "dst": server,
            "queue": "DIRECT=OS:msg01\\private$\\catalogue",
            "label": "catalogue 2026-11-20",
            "message_class": 0,
            "priority": 3,
            "delivery": "express",
            "sent_time": 1795166048,
            "message_id": f"{sender}\\4164",
            "body_type": 0,
            "body_size": 4049,
            "via": "tcp",
            "frames": [15, 16, 17],
            **common,
            "sent_at": "2026-11-20T09:14:08.000000000Z",
        },
    ]


def test_acknowledgments_are_rows_only_when_asked_for() -> None:
    asked = messages("demo.pcap", acknowledgments=True)
    assert [row["id"] for row in asked] == [10, 11, 12, 13, 15]
    assert [row["message_class"] for row in asked] == [0, 0, 0x00FF, 0, 0x4000]
    assert [row["delivery"] for row in asked[2::2]] == ["express", "recoverable"]
    assert asked[2]["queue"] == "PRIVATE=a1d30c5b-247e-4f45-9a31-c5d20e6f7788\\00000004"


def test_a_retransmission_is_no_row_and_a_resent_message_is_one() -> None:
    assert len(messages("path_retransmission_exact.pcap")) == 2
    # The first message is sent again at the end, in bytes of its own.
    labels = [row["label"] for row in messages("path_wrong_signature.pcap")]
    assert labels == ["first", "third", "first"]


def test_a_message_cut_before_its_headers_has_nulls() -> None:
    first, _ = messages("path_snaplen_96.pcap")
    unknown = {
        "queue",
        "label",
        "message_class",
        "delivery",
        "sent_time",
        "message_id",
        "body_type",
        "body_size",
        "sent_at",
        "message_class_name",
        "body_type_name",
    }
    assert {name for name in MESSAGE_COLUMNS if first[name] is None} == unknown | {"parent"}
    assert first["priority"] == 3


def test_the_demo_shows_what_a_security_header_and_bits_hold() -> None:
    payment = rows(CAPTURES / "demo.pcap", streams=False)[7]["packet"]
    security = payment["security_header"]
    assert security["security_data"]["security_id"] == "S-1-5-21-1187215093-2906553172-724081936-1105"
    assert security["security_data"]["signature"] is None
    assert payment["user_header"]["admin_queue"] == {
        "type": 2,
        "format_name": "PRIVATE=a1d30c5b-247e-4f45-9a31-c5d20e6f7788\\0000001f",
    }
    flags = payment["message_properties_header"]["flags"]
    assert flags == {"raw": 5, "pa": True, "pr": False, "na": True, "nr": False, "x": 0}
    assert payment["transaction_header"]["tx_sequence_number"] == 1


@pytest.mark.parametrize(
    ("nanoseconds", "text"),
    [
        (None, None),
        (0, "1970-01-01T00:00:00.000000000Z"),
        (1, "1970-01-01T00:00:00.000000001Z"),
        (1795166047_512000000, "2026-11-20T09:14:07.512000000Z"),
        # A float would round this one up.
        (1795166047_999999999, "2026-11-20T09:14:07.999999999Z"),
        ((1 << 32) * 1_000_000_000 - 1, "2106-02-07T06:28:15.999999999Z"),
        (1 << 70, None),
    ],
)
def test_a_time_is_rfc_3339_in_utc_with_nanoseconds(nanoseconds: int | None, text: str | None) -> None:
    assert time_text(nanoseconds) == text


def test_an_error_without_a_section_has_a_null_one() -> None:
    assert error_view(None) is None
    assert error_view(DecodeError("missing-bytes", "4 bytes needed, 1 left", path="cookie", offset=4)) == {
        "code": "missing-bytes",
        "message": "4 bytes needed, 1 left",
        "path": "cookie",
        "offset": 4,
        "spec": None,
    }


def test_an_anomaly_shows_its_section_as_text() -> None:
    anomaly = Anomaly(
        code="ping.signature",
        message="Signature must be 0x5548",
        path="signature",
        offset=2,
        length=2,
        spec=SpecRef("MS-MQQB", "2.2.7"),
    )
    assert anomaly_view(anomaly) == {
        "code": "ping.signature",
        "message": "Signature must be 0x5548",
        "path": "signature",
        "offset": 2,
        "length": 2,
        "spec": "[MS-MQQB] 2.2.7",
    }


def test_inspect_shows_the_same_keys_whatever_the_bytes_are() -> None:
    ping = bytes.fromhex("0100 4855 07000000 5b0cd3a17e24454f9a31c5d20e6f7788")
    shown = inspect_view(inspect(ping + b"rest"))
    keys = ["schema_version", "type", "packet", "anomalies", "consumed", "remainder", "error"]
    assert list(shown) == keys
    # A packet without headers has its fields directly under packet.
    assert shown["packet"] == {
        "flags": {"raw": 1, "rc": True, "rf": False, "x": 0},
        "signature": 0x5548,
        "cookie": 7,
        "qm_guid": "a1d30c5b-247e-4f45-9a31-c5d20e6f7788",
    }
    assert (shown["type"], shown["consumed"], shown["remainder"]) == ("ping", 24, "cmVzdA==")
    nothing = inspect_view(inspect(b""))
    assert list(nothing) == keys
    assert (nothing["type"], nothing["packet"], nothing["consumed"]) == (None, None, 0)
    assert nothing["error"]["code"] == "missing-bytes"


def test_a_record_of_nothing_has_null_where_nothing_is_known() -> None:
    row = record_view(Record(id=3, type="gap", missing=None, reason="loss"))
    assert row["missing"] is None
    assert {key for key in ROW_KEYS if row[key] is None} == {
        "parent",
        "time",
        "src",
        "dst",
        "stream",
        "packet",
        "error",
        *ROW_KEYS[-5:],
    }
    assert message_view(Record(id=3, type="gap")) is None


@pytest.mark.parametrize(
    ("name", "raw"),
    [
        (WcharText.of("orders"), None),
        # Cut to its length: no terminator, and nothing is lost without it.
        (WcharText("orders".encode("utf-16-le")), None),
        (WcharText.of("a\ud800"), b"a\0\x00\xd8\0\0"),
        (WcharText(b"a\0b"), b"a\0b"),
    ],
)
def test_a_text_that_its_characters_do_not_give_back_has_its_bytes_beside_it(
    name: WcharText, raw: bytes | None
) -> None:
    shown = view(MessageProperties(label=name))
    assert shown["label"] == name.text
    assert shown.get("label_raw") == (None if raw is None else base64.b64encode(raw).decode())
