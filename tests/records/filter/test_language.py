"""The language of ``--filter``: what each form matches, and how mistakes are told."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import msgspec
import pytest

from msmq_wire.capture.reader import read_capture
from msmq_wire.engines.codec import inspect
from msmq_wire.errors import MsmqWireError
from msmq_wire.records.filter.compiling import compile_filter
from msmq_wire.records.filter.subject import Subject
from msmq_wire.records.record import Record
from msmq_wire.records.srmp_packets import SrmpField, SrmpMessage, SrmpResponse
from msmq_wire.srmp.envelope import parse_envelope
from msmq_wire.srmp.http.connection import parse_message
from msmq_wire.srmp.mime import parse_multipart
from msmq_wire.srmp.xml.fields import IsoDate

# 2023-11-14 22:13:20.5 UTC
TIME = 1_700_000_000_500_000_000


_FIXTURES = Path(__file__).resolve().parents[3] / "fixtures"


@pytest.fixture
def message() -> Subject:
    """Frame 7 completed, as a record of a connection."""
    hex_ = (_FIXTURES / "packets" / "user_message" / "frame_7_completed_synthetic.hex").read_text("utf-8")
    result = inspect(bytes.fromhex(" ".join(line.partition("#")[0] for line in hex_.splitlines())))
    return Subject(
        Record(
            id=7,
            type="user_message",
            capture="x.pcap",
            time=TIME,
            src="192.0.2.1:1025",
            dst="[2001:db8::1]:1801",
            stream=0,
            length=2224,
            frames=(11, 12),
            packet=result.packet,
            anomalies=result.anomalies,
        )
    )


@pytest.mark.parametrize(
    "expression",
    [
        "type == user_message",
        "type==user_message",
        "type != ping",
        "id == 7",
        "id >= 7 and id < 8",
        "length > 0x100",
        "stream == 0",
        "anomalies > 0",
        "anomalies",
        "queue == DIRECT=OS:A04BM02\\Q",
        "queue == 'direct=os:a04bm02\\q'",
        'label == "mqsender label"',
        "label ~ SENDER",
        "body ~ aaaa",
        "message_id == 2286",
        "message_id == 557358D1-9150-9595-4997-b6e611ea26c6\\2286",
        "message_id > 2000",
        "host == 192.0.2.1",
        "host == 192.0.2.1:1025",
        "host == 192.0.2.0/24",
        "host == 2001:db8::1",
        "host == [2001:db8::1]:1801",
        "src ~ 192.0",
        "dst == 2001:db8::/32",
        "host != 192.0.2.9",
        "time == 2023-11-14",
        "time == 22:13",
        "time == 2023-11-14T22:13:20Z",
        "time == 2023-11-14T22:13:20.5Z",
        "time == 2023-11-14T23:13:20+01:00",
        "time >= 22:13:20 and time < 22:13:21",
        "time > 2023-11-13",
        "time > 2023-11-14",
        "time == 2023-11-14 22:13:20",
        "(time >= 2023-11-14 22:13:20.5Z) and time < 2023-11-14 23:13:21+01:00",
        "user_header.sent_time == 2013-10-04 23:03:40",
        "sent_time >= 2013-10-04 and sent_time < 2013-10-05",
        "message_class ~ normal",
        "body_type == vt_bstr",
        "user_header.flags.sh ~ true",
        "packet.base_header.packet_size == 2224",
        "base_header.packet_size > 2000",
        "user_header.flags.dq == 7",
        "user_header.flags.dq == direct",
        "user_header.flags.sh == true",
        "user_header.flags.sh",
        "user_header.flags == 0x281c00",
        "user_header.destination_queue ~ a04bm02",
        "user_header.destination_queue.type == 7",
        "message_properties_header.message_class == MQMSG_CLASS_NORMAL",
        "security_header.security_data.security_id ~ S-1-5-21",
        "security_header",
        "not type == ping",
        "not (type == ping or id == 8)",
        "type == ping or id == 7 and label",
        "not not id == 7",
        "NOT type == ping AND id == 7",
    ],
)
def test_what_is_true_of_frame_7_matches_it(message: Subject, expression: str) -> None:
    assert compile_filter(expression)(message)


@pytest.mark.parametrize(
    "expression",
    [
        "type == ping",
        "anomalies == 0",
        "label == MQSENDER",
        "label ~ other",
        "message_id == 2287",
        "host == 192.0.2.2",
        "host != 192.0.2.1",
        "host == 10.0.0.0/8",
        "src == 2001:db8::1",
        "time == 2023-11-15",
        "time == 22:14",
        "time < 22:13",
        "time <= 2023-11-14",
        "transaction_header",
        "transaction_header.tx_sequence_number != 5",
        "user_header.flags.th",
        "error",
        "error == missing-bytes",
        "error != missing-bytes",
        "not id == 7",
        "(type == ping or id == 7) and id == 8",
    ],
)
def test_what_is_not_true_of_frame_7_does_not_match_it(message: Subject, expression: str) -> None:
    assert not compile_filter(expression)(message)


def test_times_without_a_zone_are_in_the_zone_that_is_shown(message: Subject) -> None:
    berlin = ZoneInfo("Europe/Berlin")
    assert compile_filter("time == 23:13", berlin)(message)
    assert not compile_filter("time == 22:13", berlin)(message)
    assert compile_filter("time == 2023-11-14T23:13:20", berlin)(message)


@pytest.mark.parametrize(
    ("text", "captured", "matching"),
    [
        # 23 hours.
        ("2024-03-31", "2024-03-30T23:00Z", True),
        ("2024-03-31", "2024-03-31T21:59Z", True),
        ("2024-03-31", "2024-03-31T22:00Z", False),
        # 25 hours.
        ("2024-10-27", "2024-10-26T22:00Z", True),
        ("2024-10-27", "2024-10-27T22:59Z", True),
        ("2024-10-27", "2024-10-27T23:00Z", False),
        # Twice, and never.
        ("2024-10-27T02:30", "2024-10-27T00:30Z", True),
        ("2024-10-27T02:30", "2024-10-27T01:30Z", True),
        ("2024-10-27T02:30+01:00", "2024-10-27T00:30Z", False),
        ("2024-03-31T02:30", "2024-03-31T01:30Z", False),
        ("2024-03-31T03:30", "2024-03-31T01:30Z", True),
    ],
)
def test_a_period_is_what_clocks_show_where_they_change(text: str, captured: str, matching: bool) -> None:
    time = int(datetime.fromisoformat(captured).timestamp()) * 1_000_000_000
    subject = Subject(Record(id=1, type="gap", time=time))
    berlin = ZoneInfo("Europe/Berlin")
    for operator, expected in (("==", matching), ("~", matching), ("!=", not matching)):
        assert compile_filter(f"time {operator} {text}", berlin)(subject) is expected
    assert compile_filter(f"time in ({text})", berlin)(subject) is matching


def test_an_address_with_a_port_is_the_same_in_upper_case(message: Subject) -> None:
    assert compile_filter("dst == [2001:DB8:0::1]:1801")(message)
    assert not compile_filter("dst == [2001:DB8::1]:1802")(message)


def test_a_record_without_a_packet_matches_by_what_it_has() -> None:
    gap = Subject(Record(id=1, type="gap", src=None, dst=None))
    assert compile_filter("type == gap")(gap)
    for expression in (
        "label ~ a",
        "queue",
        "host == 192.0.2.1",
        "time > 2000-01-01",
        "body ~ x",
        "message_id == 1",
    ):
        assert not compile_filter(expression)(gap)


@pytest.mark.parametrize(
    ("expression", "column", "words"),
    [
        ("", 1, "name is missing"),
        ("typ == ping", 1, "nothing is called 'typ'"),
        ("type == ", 9, "value is missing"),
        ("type == ping and", 17, "name is missing"),
        ("type == 'ping", 9, "quote is not closed"),
        ("(type == ping", 1, "not closed"),
        ("type == ping)", 13, "not expected"),
        ("type == ping id == 1", 14, "not expected"),
        ("id == x", 7, "no number"),
        ("time == yesterday", 9, "no time"),
        ("time == 25:00", 9, "no time"),
        ("time == 2023-02-30", 9, "no time"),
        ("host < 192.0.2.1", 8, "only"),
        ("message_id == x", 15, "no message identifier"),
        ("user_header.packet_size == 1", 1, "nothing is called"),
        ("and == 1", 1, "name is expected"),
        ("== 1", 1, "name is expected"),
        ("(" * 100 + "id", 52, "too deep"),
    ],
)
def test_a_mistake_names_its_column(expression: str, column: int, words: str) -> None:
    with pytest.raises(MsmqWireError, match=words) as caught:
        compile_filter(expression)
    assert str(caught.value).startswith(f"column {column} of ")


@pytest.mark.parametrize(
    ("expression", "column", "words"),
    [
        ("type = ping", 6, "did you mean '=='?"),
        ("type === ping", 6, "did you mean '=='?"),
        ("type eq ping", 6, "did you mean '=='?"),
        ("type <> ping", 6, "did you mean '!='?"),
        ("label contains order", 7, "did you mean '~'?"),
        ("label =~ order", 7, "did you mean 'matches'?"),
        ("id == 1 && id == 2", 9, "did you mean 'and'?"),
        ("id == 1 || id == 2", 9, "did you mean 'or'?"),
        ("id==1&&id==2", 6, "did you mean 'and'?"),
        ("! id == 1", 1, "did you mean 'not'?"),
        ("(id == 1 | id == 2)", 10, "did you mean 'or'?"),
        ("lable ~ order", 1, "did you mean 'label'?"),
        ("ms > 1", 1, "did you mean 'latency'? Nanoseconds from"),
        ("id in 1, 2", 7, "as in (1, 2)"),
        ("id in (1, 2", 7, "this list is not closed"),
        ("id in ()", 8, "a value is missing"),
        ("id not 1", 4, "'not in' is expected"),
        ("id in (1, x)", 11, "no number"),
        ("label matches '('", 15, "is no pattern: missing ): ("),
        ("label matches '(?=a)'", 15, "is no pattern: invalid perl operator"),
        ("label matches a{1001}", 15, "is no pattern: invalid repetition size"),
        (f"label matches {'a' * 1001}", 15, "at most 1000 characters"),
        ("label matches \ud800", 15, "is no text"),
    ],
)
def test_what_other_languages_write_is_told(expression: str, column: int, words: str) -> None:
    with pytest.raises(MsmqWireError) as caught:
        compile_filter(expression)
    assert str(caught.value).startswith(f"column {column} of ")
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("expression", "matching"),
    [
        ("time > 2023-11-14T22:13:20", True),
        ("time > 2023-11-14T22:13", True),
        ("time >= 2023-11-14T22:13:20.5", True),
        ("time > 2023-11-14T22:13:20.5", False),
        ("time <= 2023-11-14T22:13:20.5", True),
        ("time <= 2023-11-14T22:13:20", False),
        ("time == 2023-11-14T22:13", True),
        ("time != 2023-11-14T22:13", False),
        ("time ~ 2023-11-14T22", False),
        ("time ~ 22:13", True),
        ("time < 22:13", False),
        ("time > 22:13", True),
        ("time matches '^2023-11-.*:20[.]5'", True),
        ("time in (2023-11-13, 2023-11-14)", True),
        ("time not in (2023-11-13, 2023-11-14)", False),
        ("sent_time == 2013-10-04T23:03:40", True),
        ("sent_time > 2013-10-04T23:03:40", False),
        ("sent_time > 2013-10-04T23:03", True),
        ("sent_time ~ 2013-10-04", True),
    ],
)
def test_a_time_is_a_moment_for_what_has_an_order_and_else_a_period(
    message: Subject, expression: str, matching: bool
) -> None:
    if expression == "time ~ 2023-11-14T22":
        with pytest.raises(MsmqWireError, match="no time"):
            compile_filter(expression)
    else:
        assert compile_filter(expression)(message) is matching


@pytest.mark.parametrize(
    ("expression", "matching"),
    [
        ("queue matches 'a04bm02.q$'", True),
        ("queue matches '(?-i)A04BM02'", False),
        ("queue matches '^a04'", False),
        ("message_class matches '^mqmsg_class_normal$'", True),
        ("message_class matches '^0$'", True),
        ("host matches '^192[.]0'", True),
        ("not label matches order", True),
        ("message_class in (normal, order_ack)", True),
        ("message_class not in {normal, order_ack}", False),
        ("label in ('mqsender label', \"a, b\")", True),
        ("host in (192.0.2.0/24, 198.51.100.1)", True),
        ("host not in (198.51.100.1)", True),
        ("transaction_header.tx_sequence_number not in (5)", False),
        ("frame == 11", True),
        ("frame.number == 11 and frames != 11", False),
        ("frames > 11 and frame_no == 12", True),
        ("msmq.user_header.flags.dq == 7 and msmq.type == user_message", True),
        ("frame.time ~ 2023-11-14 and ip.src == 192.0.2.1", True),
        ("class == normal and size > 0", True),
        ("user_message", None),
        ("msmq.ping.cookie == 0", False),
        ("anomaly_codes ~ base_header or anomalies", True),
        ("IN == 1", None),
    ],
)
def test_operators_and_names(message: Subject, expression: str, matching: bool | None) -> None:
    if matching is None:
        with pytest.raises(MsmqWireError, match="nothing is called"):
            compile_filter(expression)
    else:
        assert compile_filter(expression)(message) is matching


@pytest.fixture
def posted() -> Subject:
    """Section 4.2 of [MC-MQSRM], as a record of a connection."""
    folder = _FIXTURES / "srmp"
    http, _ = parse_message((folder / "msmq_element.http").read_bytes())
    assert http is not None
    multipart = parse_multipart(http.header("content-type") or "", http.body)
    assert multipart.root is not None
    packet = SrmpMessage(
        kind="message",
        queue="DIRECT=http://machine2/msmq/private$/simpleQ",
        label="order 17",
        message_id="caf195ea-615c-4264-ae08-11a4e60194c0\\20503",
        method=http.method,
        target=http.target,
        http_version=http.http_version,
        headers=(SrmpField(name="Host", value="machine2"),),
        envelope=parse_envelope(multipart.root.data).value,
        body=multipart.parts[1].data,
        extension=None,
        parts=(),
        response=SrmpResponse(
            status=202, reason="Accepted", headers=(), body=b"", frames=(5,), complete=True
        ),
        latency=2_500_000,
    )
    return Subject(Record(id=4, type="srmp_message", time=TIME, packet=packet))


@pytest.mark.parametrize(
    "expression",
    [
        "queue == direct=HTTP://machine2/msmq/private$/simpleq",
        "queue ~ simpleQ",
        "label == 'order 17'",
        "message_id == 20503",
        "message_id == CAF195EA-615C-4264-ae08-11a4e60194c0\\20503",
        "delivery == express",
        "body ~ orderid",
        "message_class == normal",
        "message_class ~ NORMAL",
        "priority == 3",
        "body_type == VT_EMPTY",
        "sent_time == 2007-07-19",
        "sent_time == 2007-07-19T03:11:40Z",
        "sent_time > 2007-07-19",
        "type == srmp_message",
        "type ~ srmp",
        "kind == Message",
        "method == post",
        "target ~ simpleq",
        "http_version == 1.1",
        "headers.name == Host and headers.value == machine2",
        "headers[0].value ~ MACHINE",
        "response.status == 202",
        "response.status >= 200 and response.status < 300",
        "response.complete",
        "latency > 1000000",
        "certain",
        "not extension",
        "envelope.header.path.to ~ machine2",
        "envelope.header.path.id ~ 20503",
        "envelope.header.properties.sent_at == 20070719T031140",
        "envelope.header.msmq.class == MQMSG_CLASS_NORMAL",
        "envelope.header.msmq.hash_algorithm == SHA_1",
        "envelope.header.msmq.source_qm_guid ~ caf195ea",
        "not envelope.header.stream",
        "not envelope.header.path.other_elements.name == new",
    ],
)
def test_what_is_true_of_a_message_over_http_matches_it(posted: Subject, expression: str) -> None:
    assert compile_filter(expression)(posted)


@pytest.mark.parametrize(
    "expression",
    [
        "label == order",
        "message_id == 1",
        "delivery == transactional",
        "message_class == ACK_RECEIVE",
        "priority > 3",
        "sent_time < 2007-07-19",
        "response.status == 404",
        "envelope.header.signature",
        "user_header",
    ],
)
def test_what_is_not_true_of_a_message_over_http_does_not_match_it(posted: Subject, expression: str) -> None:
    assert not compile_filter(expression)(posted)


def test_a_message_in_a_packet_is_found_by_the_same_names(posted: Subject) -> None:
    stored = Subject(msgspec.structs.replace(posted.record, parent=3))
    for expression in ("delivery == express", "message_id == 20503", "sent_time > 2007-01-01", "queue"):
        assert compile_filter(expression)(stored)


@pytest.mark.parametrize("id_", ["order", "17-a", "9" * 5000, "a\\b", ""])
def test_an_identifier_of_another_form_has_no_number(posted: Subject, id_: str) -> None:
    packet = msgspec.structs.replace(posted.record.packet, message_id=id_)
    subject = Subject(msgspec.structs.replace(posted.record, packet=packet))
    for operator in ("==", "<", "<=", ">", ">="):
        assert not compile_filter(f"message_id {operator} 17")(subject)
    assert compile_filter("message_id != 17")(subject)
    assert compile_filter("message_id not in (16, 17)")(subject)


@pytest.mark.parametrize("sent_at", ["00010101T000000", "99991231T235959", "yesterday", ""])
def test_a_date_at_the_end_of_the_calendar_matches_no_time_of_day(posted: Subject, sent_at: str) -> None:
    packet = posted.record.packet
    header = packet.envelope.header
    dated = msgspec.structs.replace(header.properties, sent_at=IsoDate.of(sent_at))
    envelope = msgspec.structs.replace(
        packet.envelope, header=msgspec.structs.replace(header, properties=dated)
    )
    changed = msgspec.structs.replace(packet, envelope=envelope)
    subject = Subject(msgspec.structs.replace(posted.record, packet=changed))
    for zone in ("America/New_York", "Asia/Tokyo"):
        assert not compile_filter("sent_time == 10:15", ZoneInfo(zone))(subject)


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("envelope.header.path.too == 1", "nothing is called"),
        ("response.status == fine", "'fine' is no number and no name of one"),
        ("status == MQ_ERROR_IO_TIMEOT", "and no name of one: did you mean 'MQ_ERROR_IO_TIMEOUT'"),
        ("envelope.header.msmq.class == ACKRECEIVE", "MQMSG_CLASS_ACK_RECEIVE"),
    ],
)
def test_mistakes_in_paths_of_messages_over_http_are_told(expression: str, words: str) -> None:
    with pytest.raises(MsmqWireError, match=words):
        compile_filter(expression)


@pytest.mark.parametrize(("capture", "shown"), [("com_cut", 1), ("path_snaplen_96", 2), ("lab_sessions", 0)])
def test_what_was_captured_in_part_is_found_by_one_name(capture: str, shown: int) -> None:
    matches = compile_filter("cut")
    path = Path(__file__).resolve().parents[3] / "fixtures" / "captures" / f"{capture}.pcap"
    assert sum(matches(Subject(one)) for one in read_capture(path)) == shown
