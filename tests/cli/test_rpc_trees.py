"""``msmq-wire decode`` on remote read: binds, calls, faults and transfer buffers as trees."""

from __future__ import annotations

import io
import json
import re
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from msmq_wire.capture.reader import CaptureReader
from msmq_wire.cli.render.screen import Screen
from msmq_wire.errors import DecodeError
from msmq_wire.records.call import CallFinder, CallValues
from msmq_wire.records.rpc_packets import RpcBind, RpcBindContext, RpcCall, RpcFault, TransferBuffer
from msmq_wire.records.tree.call_values import call_number_text, status_text
from msmq_wire.records.tree.rpc_nodes import rpc_nodes
from msmq_wire.records.tree.tree import TreeOptions, print_record
from msmq_wire.records.tree.tree_node import NodeOptions, TreeNode
from msmq_wire.report.redaction.redactor import Redaction, Redactor
from msmq_wire.rpc.constants import AccessMode, RemoteReadAck
from msmq_wire.rpc.interfaces.qm2qm import RemoteQMStartReceiveRequest
from msmq_wire.rpc.interfaces.qmcomm_objects import (
    GetObjectPropertiesRequest,
    GetObjectPropertiesResponse,
    ObjectRequest,
)
from msmq_wire.rpc.interfaces.remote_read import OpenQueueRequest, StartReceiveRequest
from msmq_wire.rpc.transfer_properties import MessageProperties
from msmq_wire.rpc.types.propvariant import PropVariant
from msmq_wire.rpc.types.queue_format import ObjectFormat, QueueFormat
from msmq_wire.rpc.types.remote_read_descriptor import RemoteReadDesc
from msmq_wire.spec import SpecRef
from msmq_wire.wire.musts import Anomaly
from msmq_wire.wire.types.wchar_text import WcharText
from tests.effort import examples

Run = Callable[..., Any]

_CAPTURES = Path(__file__).resolve().parents[2] / "fixtures" / "rpc_captures"
_ORDERS = QueueFormat(m_qft=3, arm=WcharText.of("OS:srv01\\private$\\orders"))


def lines(run: Run, capture: str, *arguments: object) -> list[str]:
    """What decode prints, runs of blanks as one."""
    status, out, _ = run("decode", _CAPTURES / capture, "-q", *arguments)
    assert status == 0
    return [re.sub(r" +", " ", line).strip() for line in out.splitlines()]


def nodes(packet: Any, **options: Any) -> dict[str, TreeNode]:
    """The nodes of a packet by path."""
    found: dict[str, TreeNode] = {}

    def walk(level: list[TreeNode]) -> None:
        for node in level:
            found.setdefault(node.path or node.name, node)
            walk(node.children)

    marks = {name: options.pop(name) for name in ("anomalies", "error") if name in options}
    walk(rpc_nodes(packet, NodeOptions(**options), **marks))
    return found


def shown(node: TreeNode) -> str:
    """A node on one line."""
    return f"{node.value} {node.note}".strip()


def call(interface: str, opnum: int, method: str, **values: Any) -> RpcCall:
    return RpcCall(interface=interface, opnum=opnum, method=method, syntax="ndr", **values)


def test_a_bind_says_what_was_asked_for_and_what_came_of_it(run: Run) -> None:
    found = lines(run, "rpc_none_ndr.pcap", "--id", 4)
    assert found[1] == "bind RemoteRead 1.0 in ndr accepted in ndr"
    assert found[2] == "bind RemoteRead 1.0 in ndr64 refused: the server takes none of the transfer syntaxes"
    assert found[3].endswith("no interface: features agreed on")
    assert "auth_type 0 none" in found
    assert "auth_level 1 NONE: not protected" in found


def test_the_security_of_a_bind_is_told_by_name(run: Run) -> None:
    keytab = _CAPTURES / "rpc_kerberos.keytab"
    found = lines(run, "rpc_kerberos_aes256.pcap", "--filter", "type == rpc_bind", "--keytab", keytab)
    assert "auth_type 9 SPNEGO" in found
    assert "auth_level 6 PKT_PRIVACY: calls are signed and sealed" in found
    assert "account alice@CORP.EXAMPLE whom the client says it is" in found


def test_a_refused_bind_gives_the_reason() -> None:
    context = RpcBindContext(context_id=0, interface="qmcomm", version="1.0", transfer_syntaxes=("ndr",))
    bind = RpcBind(
        call_id=1,
        alter_context=False,
        answered=True,
        nak_reason=8,
        contexts=(context,),
        auth_type=0x44,
        auth_level=9,
        header_signing=False,
        account="",
        note="",
        max_xmit_frag=1,
        max_recv_frag=1,
        association_group=0,
        secondary_address="",
    )
    found = nodes(bind)
    assert shown(found["nak_reason"]) == "8 refused: the security provider is not known"
    assert shown(found["contexts[0]"]) == "qmcomm 1.0 in ndr refused"
    assert shown(found["auth_type"]) == "68 NETLOGON"
    assert shown(found["auth_level"]) == "9 unknown value: unknown value"


def test_a_call_has_its_parameters_under_the_names_of_the_idl(run: Run) -> None:
    found = lines(run, "rpc_none_ndr.pcap", "--filter", "method == R_OpenQueue")
    assert "R_OpenQueue" in found[0]
    assert "DIRECT=OS:srv01.corp.example\\private$\\orders" in found[0]
    assert "method R_OpenQueue RemoteRead, opnum 2" in found
    assert "├─ dw_access 1 MQ_RECEIVE_ACCESS" in found
    assert "├─ dw_share_mode 0 MQ_DENY_NONE" in found
    assert "├─ p_queue_format DIRECT=OS:srv01.corp.example\\private$\\orders DIRECT" in found
    assert "├─ p_client_id 5c1f0e67-2d3b-4a58-9e01-7f8091a2b304 the client's queue manager" in found
    assert "└─ pph_context 01eeffc0-3e5b-7a4d-9f10-a1b2c3d4e5f6 the open queue" in found


def test_a_receive_shows_times_statuses_and_sections(run: Run) -> None:
    found = lines(run, "rpc_none_ndr.pcap", "--id", 8, "--body-limit", 16)
    assert "├─ ul_action 0x80000000 MQ_ACTION_PEEK_CURRENT" in found
    assert "├─ ul_timeout 10000 ms 10 s" in found
    assert "├─ pdw_arrive_time 1700000000 2023-11-14 22:13:20Z" in found
    assert "│ └─ [0] 336 bytes stFullPacket" in found
    assert "│ … 320 more bytes; --body-limit 0 shows all" in found
    assert "└─ status 0 MQ_OK success" in found


def test_an_error_and_a_fault_are_told_with_symbol_and_meaning(run: Run) -> None:
    timed_out = lines(run, "rpc_none_ndr.pcap", "--filter", "status ~ TIMEOUT")
    assert timed_out[0].count("R_StartReceive, MQ_ERROR_IO_TIMEOUT") == 1
    assert any(line.startswith("└─ status 0xC00E001B MQ_ERROR_IO_TIMEOUT") for line in timed_out)
    faults = lines(run, "rpc_faults_and_fragments.pcap", "--filter", "status == RPC_S_ACCESS_DENIED")
    assert "R_OpenQueue, fault RPC_S_ACCESS_DENIED" in faults[0]
    assert any(line.startswith("fault 0x00000005 RPC_S_ACCESS_DENIED") for line in faults)
    assert any("rpc_fault" in line for line in faults)


def test_a_call_without_an_answer_says_so(run: Run) -> None:
    found = lines(run, "rpc_faults_and_fragments.pcap", "--filter", "method == R_StartReceive", "--id", 15)
    assert "R_StartReceive, no answer" in found[0]
    assert "response not captured" in found


def test_a_sealed_call_says_what_opens_it(run: Run) -> None:
    found = lines(run, "rpc_ntlm_privacy.pcap", "--id", 6)
    assert "R_OpenQueue, sealed" in found[0]
    hint = "sealed not readable without the password, NT hash or keytab (--nt-password, --nt-hash, --keytab)"
    assert hint in found
    opened = lines(run, "rpc_ntlm_privacy.pcap", "--id", 6, "--nt-password", "Passw0rd!")
    assert "auth_level 6 PKT_PRIVACY signatures are right" in opened
    assert "├─ dw_access 1 MQ_RECEIVE_ACCESS" in opened


def test_a_transfer_buffer_is_a_message_and_room_in_memory_is_none(run: Run) -> None:
    found = lines(run, "rpc_qmcomm_qm2qm.pcap", "--filter", "type == transfer_buffer", "--id", 11)
    assert '"order 17"' in found[0]
    assert "via rpc" in found[0]
    assert 'label "order 17"' in found
    assert any(line.startswith("body 16 bytes") for line in found)
    assert "sent_time 1700000001 2023-11-14 22:13:21Z" in found
    request = lines(run, "rpc_qmcomm_qm2qm.pcap", "--id", 10)
    assert "│ ├─ pp_body 16 bytes room for it" in request
    assert "│ ├─ pp_title 9 characters room for it" in request


def test_anomalies_and_errors_stand_where_they_are_wrong() -> None:
    request = StartReceiveRequest(ul_timeout=1)
    anomaly = Anomaly(
        code="ndr.range",
        message="not in the range",
        path="request.ul_timeout",
        offset=40,
        length=4,
        spec=SpecRef("MS-RPCE", "3.1.1.5.3"),
    )
    error = DecodeError("missing-bytes", "4 bytes needed", path="response.status", offset=8)
    found = nodes(call("RemoteRead", 7, "R_StartReceive", request=request), anomalies=(anomaly,), error=error)
    assert [mark.kind for mark in found["request.ul_timeout"].children] == ["anomaly"]
    assert [mark.name for mark in found["response"].children] == ["missing-bytes"]


def test_a_queue_format_that_no_queue_can_have_shows_its_parts_beside_the_name() -> None:
    odd = QueueFormat(m_qft=3, m_suffix_and_flags=0x0F, m_reserved=1, arm=WcharText.of("OS:h\\q"))
    found = nodes(call("RemoteRead", 2, "R_OpenQueue", request=OpenQueueRequest(p_queue_format=odd)))
    assert found["request.p_queue_format"].value == "DIRECT=OS:h\\q"
    assert found["request.p_queue_format.m_suffix_and_flags"].value == "15"
    assert found["request.p_queue_format.m_p_direct_id"].value == '"OS:h\\q"'
    none = OpenQueueRequest(p_queue_format=QueueFormat(m_qft=3))
    found = nodes(call("RemoteRead", 2, "R_OpenQueue", request=none))
    assert found["request.p_queue_format"].value == "no format name"
    plain = nodes(call("RemoteRead", 2, "R_OpenQueue", request=OpenQueueRequest(p_queue_format=_ORDERS)))
    assert "request.p_queue_format.m_qft" not in plain


def test_properties_of_a_queue_stand_under_their_names() -> None:
    request = GetObjectPropertiesRequest(
        p_object_format=ObjectFormat(arm=_ORDERS),
        cp=2,
        a_prop=(108, 105),
        ap_var=(PropVariant(), PropVariant()),
    )
    response = GetObjectPropertiesResponse(
        ap_var=(PropVariant(vt=31, arm=WcharText.of("orders")), PropVariant(vt=19, arm=4096))
    )
    found = nodes(call("qmcomm", 10, "R_QMGetObjectProperties", request=request, response=response))
    assert (found["response.ap_var[0]"].name, shown(found["response.ap_var[0]"])) == (
        "PROPID_Q_LABEL",
        '"orders" VT_LPWSTR',
    )
    assert shown(found["response.ap_var[1]"]) == "4096 VT_UI4"
    assert shown(found["request.a_prop[1]"]) == "105 PROPID_Q_QUOTA"
    assert found["request.p_object_format.p_queue_format"].value == "DIRECT=OS:srv01\\private$\\orders"


def test_null_and_unused_members_are_left_out() -> None:
    found = nodes(call("qmcomm", 9, "R_QMDeleteObject", request=ObjectRequest()))
    assert "request.p_object_format.p_queue_format" not in found
    descriptor = RemoteReadDesc(ul_timeout=0xFFFFFFFF)
    read = call(
        "qm2qm",
        0,
        "RemoteQMStartReceive",
        request=RemoteQMStartReceiveRequest(lp_remote_read_desc=descriptor),
    )
    assert "request.lp_remote_read_desc.lp_buffer" not in nodes(read)
    assert "request.lp_remote_read_desc.reserved" not in nodes(read)
    assert "request.lp_remote_read_desc.reserved" in nodes(read, everything=True)
    assert shown(nodes(read)["request.lp_remote_read_desc.ul_timeout"]) == "4294967295 infinite"


def test_a_fault_says_whether_the_call_was_carried_out() -> None:
    found = nodes(RpcFault(call_id=1, status=0x1C010002, flags=0x23, cancel_count=1))
    assert found["status"].value == "0x1C010002 nca_op_rng_error"
    assert shown(found["flags"]) == "0x23 the call was not carried out"


def test_an_encrypted_body_is_not_shown_as_text() -> None:
    message = MessageProperties(body=b"<a>text</a>", body_length=20, body_encrypted=True)
    body = nodes(TransferBuffer(queue=None, properties=message))["properties.body"]
    assert shown(body) == "11 of 20 bytes encrypted"
    assert body.block is None


@pytest.mark.parametrize(
    ("name", "value", "names", "expected"),
    [
        ("dw_access", 0xA0, AccessMode, ("0xa0", "MQ_PEEK_ACCESS | MQ_ADMIN_ACCESS")),
        ("dw_access", 0, AccessMode, ("0", "none")),
        ("dw_ack", 2, RemoteReadAck, ("2", "RR_ACK")),
        ("dw_ack", 77, RemoteReadAck, ("0x4d", "unknown value")),
        ("status", 0, None, ("0 MQ_OK", "success")),
        ("status", 0xDEAD0001, None, ("0xDEAD0001", "not a known status")),
        ("p_sent_time", 0, None, ("0", "")),
        ("dw_size", 1, None, ("1 byte", "")),
        ("f_workgroup", 1, None, ("1", "yes")),
        ("f_workgroup", -1, None, ("-1", "")),
        ("tracing_requested", True, None, ("yes", "")),
    ],
)
def test_numbers_have_their_meaning(name: str, value: int, names: Any, expected: tuple[str, str]) -> None:
    text, note = call_number_text(name, value, names)
    assert text == expected[0]
    assert note.startswith(expected[1])


def test_a_status_is_unsigned() -> None:
    assert status_text(-1072824293)[0] == "0xC00E001B MQ_ERROR_IO_TIMEOUT"


@pytest.mark.parametrize("capture", sorted(_CAPTURES.glob("*.pcap")), ids=lambda path: path.stem)
def test_every_recording_has_a_tree_that_fits_a_narrow_terminal(
    run: Run, monkeypatch: pytest.MonkeyPatch, capture: Path
) -> None:
    monkeypatch.setattr("msmq_wire.cli.render.screen.Screen._width", lambda screen: 80)
    status, out, _ = run("decode", capture, "-q", "--body-limit", 64, "--nt-password", "Passw0rd!")
    assert status == 0
    assert max(map(len, out.splitlines())) <= 80


def test_json_lines_have_the_values_by_the_same_names(run: Run) -> None:
    out = run("decode", _CAPTURES / "rpc_none_ndr.pcap", "-q", "--id", 6, "--format", "jsonl").out
    packet = json.loads(out)["packet"]
    assert packet["request"]["dw_access"] == 1
    assert packet["request"]["p_queue_format"]["format_name"] == packet["queue"]


def test_no_room_is_left_for_bytes_that_values_of_calls_do_not_have(run: Run) -> None:
    plain = run("decode", _CAPTURES / "rpc_none_ndr.pcap", "-q", "--id", 5).out
    assert run("decode", _CAPTURES / "rpc_none_ndr.pcap", "-q", "--id", 5, "--hex").out == plain


_WHOLE = (_CAPTURES / "rpc_qmcomm_qm2qm.pcap").read_bytes()


def _payloads() -> list[tuple[int, int]]:
    """Where the stubs of PDUs lie in the capture."""
    found, at = [], 24
    while at + 16 <= len(_WHOLE):
        (length,) = struct.unpack_from("<I", _WHOLE, at + 8)
        if length > 54 + 24:
            found.append((at + 16 + 54 + 24, at + 16 + length))
        at += 16 + length
    return found


@pytest.mark.slow
@settings(max_examples=examples(25), deadline=None)
@given(st.data())
def test_whatever_stubs_hold_has_a_tree_and_a_row(data: st.DataObject) -> None:
    capture = bytearray(_WHOLE)
    places = _payloads()
    for _ in range(data.draw(st.integers(1, 8))):
        start, end = data.draw(st.sampled_from(places))
        capture[data.draw(st.integers(start, end - 1))] = data.draw(st.integers(0, 255))
    redactor, rows = Redactor(set(Redaction)), CallFinder()
    found: list[CallValues] = []
    calls = 0
    for record in CaptureReader(io.BytesIO(bytes(capture))):
        out = io.StringIO()
        for one in (record, redactor.record(record)):
            print_record(Screen(out, "never"), one, TreeOptions(hex=True))
        assert out.getvalue().count(f"#{record.id} ") == 2
        found += rows.take(record)
        calls += record.type == "rpc_call"
    found += rows.finish()
    assert len(found) == calls
    assert all(call["what"] and call.row() for call in found)
