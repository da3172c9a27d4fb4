"""Nothing that names a host is left in what ``--redact hosts`` prints."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from msmq_wire.capture.reader import read_capture
from msmq_wire.records.record import Record
from msmq_wire.report.redaction.forms import FORMS
from msmq_wire.report.redaction.redactor import Redaction, Redactor
from msmq_wire.report.redaction.stand_ins import StandIns
from msmq_wire.rpc.types.context_handle import ContextHandle
from msmq_wire.wire.headers.establish_connection_header import EstablishConnectionHeader
from msmq_wire.wire.headers.security_header import (
    ProviderInfo,
    SecurityData,
    SecurityHeader,
    security_id_text,
)
from msmq_wire.wire.headers.subqueue_header import SubqueueHeader
from msmq_wire.wire.private import QUEUE_NAME
from msmq_wire.wire.types.guid import GUID, NULL_GUID
from msmq_wire.wire.types.mqf_distribution_queue_format_name import MQFDistributionQueueFormatName
from msmq_wire.wire.types.multicast_id import MulticastID
from msmq_wire.wire.types.public_queue_format_name import PublicQueueFormatName
from msmq_wire.wire.types.wchar_text import FixedWcharText, WcharText
from tests.sessions.reports import reports, traced

_CAPTURES = Path(__file__).resolve().parents[3] / "fixtures" / "captures"
_KEPT = {"public_queue_identifier", "distribution_list_identifier", "queue_identifier", "connector_type"}

Run = Callable[..., Any]
Read = Callable[[str], bytes]
Make = Callable[..., Path]


def redacted(run: Run, capture: Path) -> dict[str, Any]:
    """The packet of the first row, without what names hosts."""
    out = run("decode", capture, "--format", "jsonl", "--redact", "hosts", "-q").out
    packet: dict[str, Any] = json.loads(out.splitlines()[0])["packet"]
    return packet


def guids(value: Any, name: str = "") -> set[bytes]:
    """The identifiers of queue managers in a structure, however deep."""
    if isinstance(value, GUID):
        return set() if name in _KEPT or value == NULL_GUID else {bytes(value)}
    if isinstance(value, tuple):
        return set().union(*(guids(item, name) for item in value))
    fields = (*getattr(value, "__struct_fields__", ()), *getattr(value, "INSIDE", ()))
    return set().union(*(guids(getattr(value, field), field) for field in fields))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["demo.pcap", "structures.pcapng"])
def test_no_queue_manager_and_no_address_is_left(run: Run, name: str) -> None:
    capture = _CAPTURES / name
    known = set().union(*(guids(record.packet) for record in read_capture(capture)))
    assert known
    for command in (("decode", "--format", "jsonl"), ("decode",), ("messages", "--format", "csv", "--all")):
        status, out, _ = run(command[0], capture, *command[1:], "--redact", "hosts", "-q")
        assert status == 0
        assert [str(GUID(one)) for one in known if str(GUID(one)) in out] == []
        assert re.search(r"\b192\.0\.2\.\d+:", out) is None
        assert str(_CAPTURES) not in out


def test_one_host_has_one_stand_in_in_every_row(run: Run) -> None:
    capture = _CAPTURES / "demo.pcap"
    out = run("decode", capture, "--format", "jsonl", "--redact", "hosts", "-q").out
    rows = {row["id"]: row["packet"] for row in map(json.loads, out.splitlines())}
    (final,) = [packet for packet in rows.values() if "final_ack_body" in packet]
    sender = {
        packet["user_header"]["source_queue_manager"] for packet in rows.values() if "user_header" in packet
    }
    assert final["final_ack_body"]["source_guid"] in sender


def test_the_machine_of_an_account_is_redacted_and_its_own_number_stays(run: Run) -> None:
    out = run("decode", _CAPTURES / "published.pcap", "--format", "jsonl", "--redact", "hosts", "-q").out
    assert "3181267629" not in out
    assert re.search(r"S-1-5-21-0-0-\d+-1000", out)


def test_the_unused_bytes_of_an_order_acknowledgment_go_and_its_numbers_stay(
    run: Run, make_capture: Make, packet_bytes: Read
) -> None:
    data = bytearray(packet_bytes("order_ack/recoverable_dirty_reserved"))
    at = len(data) - 20
    assert data[at : at + 3] == b"\xe0\xe1\xe2"
    # They may name a queue manager.
    data[at : at + 16] = data[16:32]
    packet = redacted(run, make_capture(bytes(data)))
    assert base64.b64decode(packet["order_ack_body"]["reserved"]) == bytes(20)
    body = base64.b64decode(packet["message_properties_header"]["message_body"])
    assert body == bytes(data[at - 16 : at]) + bytes(20)


def test_a_cut_acknowledgment_names_no_queue_manager(
    run: Run, make_capture: Make, packet_bytes: Read
) -> None:
    data = packet_bytes("final_ack/received")
    source = data[-20:-4]
    for end in (len(data) - 4, len(data) - 10):
        packet = redacted(run, make_capture(data[:end]))
        body = base64.b64decode(packet["message_properties_header"]["message_body"])
        assert len(body) == 36 - (len(data) - end)
        assert body[:16] == data[-36:-20]
        assert body[16:24] != source[:8]


@pytest.mark.parametrize(
    ("st", "sid", "shown"),
    [
        # BUILTIN\\Administrators is as long as a GUID and names no machine.
        (1, "01 02 000000000005 20000000 20020000", "S-1-5-32-544"),
        (1, "01 01 000000000005 12000000", "S-1-5-18"),
        (1, "01 01 000000000001 00000000", "S-1-1-0"),
        # A service by the hash of its name, an account of a cloud, and what only begins like a SID.
        (1, "01 06 000000000005 50000000 01000000 02000000 03000000 04000000 05000000", None),
        (1, "01 05 00000000000c 01000000 01000000 02000000 03000000 04000000", None),
        (1, "01 05 000000000005 15000000 01000000 02000000 03000000 04000000 41414141", None),
        (2, "d1587355 5091 9595 4997b6e611ea26c6", "00000000-0000-0000-0000-000000000001"),
    ],
)
def test_what_identifies_the_sender_says_whether_it_names_a_queue_manager(
    st: int, sid: str, shown: str | None
) -> None:
    sender = bytes.fromhex(sid)
    header = SecurityHeader(
        flags=st, sender_id_size=len(sender), security_data=SecurityData(security_id=sender)
    )
    redacted_header = Redactor({Redaction.HOSTS}).record(Record(id=1, type="", packet=header)).packet
    if shown is None:
        assert redacted_header.security_data.security_id == bytes(len(sender))
    else:
        assert security_id_text(redacted_header) == shown


def test_a_certificate_of_the_sender_is_blanked() -> None:
    header = SecurityHeader(sender_cert_size=5, security_data=SecurityData(sender_cert=b"CN=me"))
    record = Record(id=1, type="user_message", packet=header)
    assert Redactor({Redaction.HOSTS}).record(record).packet.security_data.sender_cert == bytes(5)


@pytest.mark.parametrize("what", list(Redaction))
def test_what_no_list_names_goes_whatever_is_asked_for(what: Redaction) -> None:
    data = SecurityData(
        encryption_key=b"key",
        signature=b"signed",
        signature_padding=b"xy",
        provider_info=ProviderInfo(provider_name=WcharText.of("mystery")),
    )
    header = SecurityHeader(encryption_key_size=3, signature_size=6, security_data=data)
    shown = Redactor({what}).record(Record(id=1, type="user_message", packet=header)).packet.security_data
    assert (shown.encryption_key, shown.signature, shown.signature_padding) == (bytes(3), bytes(6), bytes(2))
    assert shown.provider_info.provider_name.text == "xxxxxxx"


def test_a_subqueue_may_be_called_like_a_host_and_keeps_its_size() -> None:
    header = SubqueueHeader(subqueue_name=FixedWcharText.padded("srv01", 64))
    record = Record(id=1, type="message_packet", packet=header)
    hosts, labels = (Redactor({what}).record(record).packet for what in (Redaction.HOSTS, Redaction.LABELS))
    assert (hosts.subqueue_name.text, len(hosts.subqueue_name)) == ("xxxxx", 64)
    assert hosts.target_subqueue_name == header.target_subqueue_name
    assert labels == header


def test_a_multicast_group_is_a_host() -> None:
    record = Record(id=1, type="user_message", packet=MulticastID(address=0x0101010A, port=8001))
    assert Redactor({Redaction.HOSTS}).record(record).packet == MulticastID(address=0, port=8001)
    assert Redactor({Redaction.BODIES}).record(record).packet == record.packet


def test_of_the_padding_of_a_response_only_its_filler_is_left() -> None:
    header = EstablishConnectionHeader(padding=b"\x5a" * 510 + b"ab")
    shown = (
        Redactor({Redaction.LABELS}).record(Record(id=1, type="establish_connection", packet=header)).packet
    )
    assert shown.padding == b"\x5a" * 510 + bytes(2)


@pytest.mark.parametrize("capture", ["/home/jane.doe/x.pcap", "C:\\Users\\jane.doe\\x.pcap"])
def test_of_the_path_of_a_capture_nothing_stays_but_its_place(capture: str) -> None:
    record = Record(id=1, type="error", capture=capture, reason=f"cannot read {capture}: Input/output error")
    shown = Redactor({Redaction.HOSTS}).record(record)
    assert (shown.capture, shown.reason) == ("file 1", "cannot read file 1: Input/output error")


def test_bodies_are_not_written_where_something_is_to_be_redacted(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "bodies"
    status, out, err = run("messages", _CAPTURES / "demo.pcap", "--redact", "hosts", "--bodies", folder)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert not folder.exists()


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("{}: its parent 'srv01.vmdk' is no VMDK image", "file 1: its parent a name is no VMDK image"),
        (r"in 'srv01\'\\x.raw' its end is not there", "in a name its end is not there"),
        (
            "cannot open {}: its parent /home/jane/srv01.vmdk is gone",
            "cannot open file 1: its parent a path is gone",
        ),
        (r"cannot open {}: \\\\srv01\\share\\x is gone", "cannot open file 1: a path is gone"),
        (r"cannot open {}: C:\\srv01\\x is gone", "cannot open file 1: a path is gone"),
        ("cannot open {}: ../srv01/x is gone", "cannot open file 1: a path is gone"),
        ("{}: no DCE/RPC in 12 frames", "file 1: no DCE/RPC in 12 frames"),
    ],
)
def test_a_reason_names_no_other_file(said: str, shown: str) -> None:
    record = Record(id=1, type="error", capture="disk.vmdk", reason=said.format("disk.vmdk"))
    assert Redactor({Redaction.HOSTS}).record(record).reason == shown
    assert Redactor({Redaction.LABELS}).record(record) == record


_BY_TIME = GUID.parse("31ea4ab9-9264-11d0-b3b4-00a0c90d8051")
_BY_CHANCE = GUID.parse("31ea4ab9-9264-4d60-b3b4-d1a7b9d49c2e")


@pytest.mark.parametrize("guid", [_BY_TIME, _BY_CHANCE], ids=["of version 1", "of version 4"])
def test_a_guid_that_holds_the_address_of_a_network_card_goes_with_hosts(guid: GUID) -> None:
    queue = f"PUBLIC={str(guid).upper()}"
    shown = Redactor({Redaction.HOSTS})
    for place in (
        PublicQueueFormatName(public_queue_identifier=guid),
        MQFDistributionQueueFormatName(distribution_list_identifier=guid),
        ContextHandle(uuid=guid),
    ):
        text = str(shown.redacted(place))
        assert (str(guid) in text) == (guid == _BY_CHANCE)
    assert (shown.redacted(queue, QUEUE_NAME) == queue) == (guid == _BY_CHANCE)
    assert str(guid) in str(Redactor({Redaction.LABELS}).redacted(ContextHandle(uuid=guid)))
    # The same stands for it everywhere, so a handle is still followed.
    assert shown.redacted(ContextHandle(uuid=guid)) == shown.redacted(ContextHandle(uuid=guid))


def test_redactors_of_one_run_call_a_file_and_a_host_the_same() -> None:
    whole = Redactor({Redaction.HOSTS, Redaction.BODIES})
    files = [whole.file(path) for path in ("a/srv01.pcap", "b/srv01.pcap", "a/srv01.pcap", "-")]
    assert files == ["file 1", "file 2", "file 1", "-"]
    assert whole.only({Redaction.HOSTS}).file("b/srv01.pcap") == "file 2"
    assert Redactor(set()).file("a/srv01.pcap") == "a/srv01.pcap"


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("DIRECT=HTTP://a\\srv01/q", "DIRECT=HTTP://xxxxxxx/q"),
        ("DIRECT=OS:a/srv01\\private$\\q", "DIRECT=OS:xxxxxxx\\private$\\q"),
        ("a/srv01\\private$\\q", "xxxxxxx\\private$\\q"),
        ("DIRECT=OS:srv01/private$/q", "DIRECT=OS:xxxxx/private$/q"),
        ("DIRECT=HTTP:\\\\srv01\\q", "DIRECT=HTTP:\\\\xxxxxxx"),
    ],
)
def test_all_of_a_host_goes_whichever_stroke_is_in_it(name: str, shown: str) -> None:
    assert FORMS["queue"](StandIns(), name, None) == shown


@pytest.mark.parametrize(("what", "goes"), [(Redaction.HOSTS, True), (Redaction.LABELS, False)])
def test_the_texts_of_a_report_message_name_hosts(what: Redaction, goes: bool) -> None:
    captured = reports(2)[0].message_properties_header
    shown = Redactor({what}).redacted(captured)
    assert captured is not None
    assert shown is not None
    assert (b"1\x009\x002\x00" not in shown.message_body) == goes
    assert len(shown.message_body) == len(captured.message_body)
    assert ("A1D3" not in shown.label.text) == (goes or what is Redaction.LABELS)
    kept = Redactor({what}).redacted(traced().message_properties_header)
    assert kept is not None
    assert kept.message_body == b"body"
    assert (kept.label.text == "order 4162") == (what is Redaction.HOSTS)
