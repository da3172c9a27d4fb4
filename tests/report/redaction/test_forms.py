"""Names of queues and what names hosts, labels or bodies in calls: what of it goes, and what stays."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pytest

from msmq_wire.records.com_packets import ComCall, ComObject
from msmq_wire.records.record import Record
from msmq_wire.records.rpc_packets import RpcBind, RpcCall, TransferBuffer
from msmq_wire.report.redaction.forms import FORMS
from msmq_wire.report.redaction.redactor import Redaction, Redactor
from msmq_wire.report.redaction.web_forms import CHECKED
from msmq_wire.rpc.interfaces.qmcomm_objects import CreateObjectInternalRequest, SetObjectSecurityRequest
from msmq_wire.rpc.interfaces.qmcomm_queues import QueryRegistryResponse
from msmq_wire.rpc.interfaces.remote_read import OpenQueueRequest
from msmq_wire.rpc.transfer_properties import MessageProperties
from msmq_wire.rpc.types.propvariant import PropVariant
from msmq_wire.rpc.types.queue_format import DlId, MulticastId, ObjectId, QueueFormat
from msmq_wire.wire.private import QUEUE_NAME, Form
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.wchar_text import WcharText
from tests.effort import share

Run = Callable[..., Any]

_CAPTURES = Path(__file__).resolve().parents[3] / "fixtures" / "rpc_captures"
_MACHINE = GUID.parse("5c1f0e67-2d3b-4a58-9e01-7f8091a2b304")
_HOSTS = ("srv01", "srv02", "WS07", str(_MACHINE), "192.0.2.", "corp", "CORP", "alice")


def redacted(packet: Any, *what: Redaction) -> Any:
    record = Record(id=1, type="rpc_call", packet=packet)
    return Redactor(set(what)).record(record).packet


def call(request: Any = None, response: Any = None, queue: str | None = None) -> RpcCall:
    return RpcCall(
        interface="qmcomm",
        opnum=1,
        method=None,
        syntax="ndr",
        request=request,
        response=response,
        queue=queue,
    )


def test_every_form_is_known_once() -> None:
    assert set(FORMS) | set(CHECKED) == set(get_args(Form))
    assert set(FORMS) & set(CHECKED) == set()


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
        ("DIRECT=httl://srv01/q", "DIRECT=xxxxxxxxxxxxxx"),
        ("MSMQ:DIRECT=HTTP://srv01/q", "x" * 26),
        ("OS: \\\\srv01\\q", "OS:xxxxxxxxxx"),
        ("secret:\\srv01\\q", "x" * 15),
        ("http://srv01/q?at=http://srv02/", "http://xxxxx/qxxxxxxxxxxxxxxxxx"),
        ("http://srv01", "x" * 12),
        ("DIRECT=HTTP:\\\\srv01", "DIRECT=" + "x" * 12),
        ("\\\\srv01", "x" * 7),
        ("DIRECT=x\\:srv01\\q", "DIRECT=" + "x" * 10),
        ("OS:srv01", "xxxxxxxx"),
        ("", ""),
        ("OS:srv\U0001f5a5\\q", "OS:xxxxx\\q"),
    ],
)
def test_of_the_name_of_a_queue_the_host_goes(name: str, shown: str) -> None:
    value = WcharText.of(name)
    reported = Redactor({Redaction.HOSTS}).redacted(value, QUEUE_NAME)
    assert reported == WcharText.of(shown)
    assert len(reported) == len(value)


def test_what_stands_behind_the_end_of_a_name_goes() -> None:
    name = WcharText.of("OS:a\\q\0srv01")
    assert Redactor({Redaction.HOSTS}).redacted(name, QUEUE_NAME).text == "OS:x\\q" + "\0" * 6


@pytest.mark.parametrize("capture", share(sorted(_CAPTURES.glob("*.pcap")), 3), ids=lambda path: path.stem)
@pytest.mark.parametrize("command", ["calls", "messages", "decode"])
def test_no_host_and_no_account_is_left_on_either_stream(run: Run, capture: Path, command: str) -> None:
    keys = ("--nt-password", "Passw0rd!", "--keytab", _CAPTURES / "rpc_kerberos.keytab")
    for arguments in (keys, ("--nt-password", "wrong", "--format", "jsonl")):
        status, out, err = run(command, capture, *arguments, "--redact", "hosts")
        assert status == 0
        assert [name for name in _HOSTS if name in out + err] == []


@pytest.mark.parametrize("what", ["bodies", "labels"])
def test_bodies_and_labels_go_from_messages_and_their_calls(run: Run, what: str) -> None:
    out = run("decode", _CAPTURES / "rpc_qmcomm_qm2qm.pcap", "--format", "jsonl", "-q", "--redact", what).out
    rows = [json.loads(line) for line in out.splitlines()]
    sent = next(row["packet"] for row in rows if row["type"] == "rpc_call" and row["packet"]["opnum"] == 0)
    # What is not known to be safe goes from the call, whatever was asked for.
    assert sent["request"]["ptb"]["old"]["pp_title"] == "x" * 8
    assert sent["request"]["ptb"]["old"]["pp_body"] == "A" * 22 + "=="
    message = next(row["packet"]["properties"] for row in rows if row["type"] == "transfer_buffer")
    assert message["label"] == ("order 17" if what == "bodies" else "x" * 8)
    assert message["body"].startswith("A" * 20) is (what == "bodies")
    packets = [
        row for row in rows if row["type"] == "rpc_call" and row["packet"]["method"] == "RemoteQMStartReceive"
    ]
    assert set(packets[0]["packet"]["response"]["lp_remote_read_desc"]["lp_buffer"]) == {"A", "="}


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("DIRECT=OS:srv01\\private$\\q", "DIRECT=OS:xxxxx\\private$\\q"),
        ("DIRECT=http://srv01/msmq/q", "DIRECT=http://xxxxx/msmq/q"),
        ("srv01\\private$\\q", "xxxxx\\private$\\q"),
        ("srv01", "xxxxx"),
        (f"PRIVATE={_MACHINE}\\0000000f", "PRIVATE=00000000-0000-0000-0000-000000000001\\0000000f"),
        (f"MACHINE={_MACHINE};DEADXACT", "MACHINE=00000000-0000-0000-0000-000000000001;DEADXACT"),
        (f"PUBLIC={_MACHINE};JOURNAL", f"PUBLIC={_MACHINE};JOURNAL"),
        (f"DL={_MACHINE};corp.example", f"DL={_MACHINE}"),
    ],
)
def test_of_a_queue_the_host_goes_and_the_queue_stays(name: str, shown: str) -> None:
    assert redacted(call(queue=name), Redaction.HOSTS).queue == shown
    assert redacted(call(queue=name), Redaction.BODIES).queue == name


def test_the_queue_of_a_call_and_its_request_have_the_same_stand_ins() -> None:
    format_ = QueueFormat(m_qft=2, arm=ObjectId(lineage=_MACHINE, uniquifier=15))
    request = OpenQueueRequest(p_queue_format=format_, p_client_id=_MACHINE)
    shown = redacted(call(request, queue=f"PRIVATE={_MACHINE}\\0000000f"), Redaction.HOSTS)
    assert str(shown.request.p_queue_format.format_name) == shown.queue
    assert shown.request.p_client_id == shown.request.p_queue_format.arm.lineage


@pytest.mark.parametrize(
    ("format_", "kept"),
    [
        (QueueFormat(m_qft=1, arm=_MACHINE), True),
        (QueueFormat(m_qft=4, arm=_MACHINE), False),
        (QueueFormat(m_qft=5, arm=_MACHINE), False),
        (QueueFormat(m_qft=6, arm=DlId(m_dl_guid=_MACHINE)), True),
        (QueueFormat(m_qft=7, arm=MulticastId(m_address=1, m_port=2)), False),
    ],
)
def test_identifiers_stay_where_they_name_a_queue(format_: QueueFormat, kept: bool) -> None:
    shown = redacted(call(OpenQueueRequest(p_queue_format=format_)), Redaction.HOSTS)
    assert (shown.request.p_queue_format.arm == format_.arm) is kept


@pytest.mark.parametrize("what", list(Redaction))
def test_security_descriptors_and_settings_go_whatever_is_asked_for(what: Redaction) -> None:
    shown = redacted(
        call(
            SetObjectSecurityRequest(sd_size=4, p_security_descriptor=b"\1\2\3\4"),
            QueryRegistryResponse(lplp_mqis_server=WcharText.of("srv01")),
        ),
        what,
    )
    assert shown.request.p_security_descriptor == bytes(4)
    assert shown.response.lplp_mqis_server.text == "xxxxx"


def test_values_of_properties_go_and_path_names_keep_their_queue() -> None:
    request = CreateObjectInternalRequest(
        lpwcs_path_name=WcharText.of("srv01\\private$\\q"),
        a_prop=(108,),
        ap_var=(PropVariant(vt=31, arm=WcharText.of("secret")),),
    )
    shown = redacted(call(request), Redaction.HOSTS).request
    assert shown.lpwcs_path_name.text == "xxxxx\\private$\\q"
    assert shown.ap_var[0].arm.text == "xxxxxx"
    assert shown.a_prop == (108,)


def test_a_message_of_a_transfer_buffer_keeps_what_is_not_asked_for() -> None:
    message = MessageProperties(
        label=WcharText("order".encode("utf-16-le")),
        body=b"body",
        extension=b"ext",
        signature=b"sig",
        priority=3,
        source_machine_identifier=_MACHINE,
        correlation_identifier=_MACHINE + bytes(4),
        sender_identifier=bytes(_MACHINE),
        sender_identifier_type=2,
        sender_certificate=b"CN=srv01",
        response_queue_format_name="DIRECT=OS:srv01\\q",
    )
    buffer = TransferBuffer(queue="DIRECT=OS:srv01\\q", properties=message)
    hosts = redacted(buffer, Redaction.HOSTS)
    assert (hosts.queue, hosts.properties.response_queue_format_name) == ("DIRECT=OS:xxxxx\\q",) * 2
    assert (hosts.properties.label.text, hosts.properties.body, hosts.properties.priority) == (
        "order",
        b"body",
        3,
    )
    assert hosts.properties.sender_certificate == bytes(8)
    assert bytes(_MACHINE) not in hosts.properties.correlation_identifier
    assert hosts.properties.sender_identifier == hosts.properties.source_machine_identifier != _MACHINE
    labels = redacted(buffer, Redaction.LABELS)
    assert (labels.properties.label.text, labels.properties.body) == ("xxxxx", b"body")
    bodies = redacted(buffer, Redaction.BODIES)
    assert (bodies.properties.body, bodies.properties.extension) == (bytes(4), bytes(3))
    assert bodies.properties.signature == bytes(3)
    assert bodies.queue == buffer.queue


def test_a_bind_keeps_its_port_and_loses_account_and_note() -> None:
    bind = RpcBind(
        call_id=1,
        alter_context=False,
        answered=True,
        nak_reason=None,
        contexts=(),
        auth_type=10,
        auth_level=6,
        header_signing=False,
        account="CORP\\alice",
        note="NTLM: no secret for CORP\\alice",
        max_xmit_frag=1,
        max_recv_frag=1,
        association_group=0,
        secondary_address="2103",
    )
    shown = redacted(bind, Redaction.HOSTS)
    assert (shown.account, shown.note, shown.secondary_address) == ("x" * 10, "not shown", "2103")
    assert redacted(bind, Redaction.LABELS) == bind


def test_an_object_that_a_call_gives_back_stays_without_the_hosts_it_is_on() -> None:
    found = ComObject(kind="standard", iid=_MACHINE, interface="IMSMQMessage", bindings=("7:srv01[1801]",))
    given = ComCall(interface="IMSMQQueue", opnum=1, method=None, syntax="ndr", returned=found)
    returned = redacted(given, Redaction.HOSTS).returned
    assert (returned.kind, returned.interface) == ("standard", "IMSMQMessage")
    assert returned.bindings == ("7:xxxxxxxxxxx",)
    assert redacted(given, Redaction.BODIES).returned == found
