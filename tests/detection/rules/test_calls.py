"""Rules about calls, SRMP, bodies and pings: what hits, how grave, and where it points; and what does not."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from msmq_wire.capture.reader import read_capture
from msmq_wire.detection import registry
from msmq_wire.detection.address_scope import is_loopback, is_outside
from msmq_wire.detection.call_queues import split_path
from msmq_wire.detection.finding import SEVERITIES, Finding
from msmq_wire.detection.judge import judge
from msmq_wire.detection.rule import Rule
from msmq_wire.records.record import Record
from msmq_wire.records.rpc_packets import RpcCall
from msmq_wire.records.view import view
from msmq_wire.rpc.constants import ReceiveAction
from msmq_wire.rpc.interfaces.qm2qm import RemoteQMStartReceive2Request, RemoteQMStartReceiveRequest
from msmq_wire.rpc.interfaces.qmcomm2 import RpcACReceiveMessageExRequest
from msmq_wire.rpc.interfaces.remote_read import StartReceiveRequest
from msmq_wire.rpc.types.cac_transfer_buffer import CACTransferBufferV1, CACTransferBufferV2, TransferReceive
from msmq_wire.rpc.types.remote_read_descriptor import RemoteReadDesc, RemoteReadDesc2
from tests.effort import examples

RULES = {
    id_: rule
    for id_, rule in registry.RULES.items()
    if id_.startswith(("RPC-", "SRM-", "BOD-", "PNG-", "CNT-LOOPBACK"))
}
_FINDINGS = Path(__file__).resolve().parents[3] / "fixtures" / "findings"
_CAPTURES = _FINDINGS.parent / "captures"
_BODY = "message_properties_header.message_body"
_DIRECT = "m_p_direct_id"

# Severity, confidence, then path, offset and frames of the evidence. Offsets: a message body stands behind 16
# bytes of BaseHeader, 48 of UserHeader, 52 of its queue name and 68 of MessagePropertiesHeader and label; in
# stubs they count from the first byte of the parameters.
_HITS = {
    "RPC-OLD/hit_call": (
        ("high", "certain", "contexts[0].interface", 0, (4, 5)),
        ("high", "published", "opnum", 0, (6,)),
    ),
    "RPC-OLD/hit_refused": (("medium", "certain", "contexts[0].interface", 0, (4, 5)),),
    "RPC-LEVEL/hit_none": (("medium", "certain", "auth_level", 0, (6, 7)),),
    "RPC-LEVEL/hit_refused": (("low", "certain", "auth_level", 0, (6, 7)),),
    "RPC-ANON/hit_delete": (("medium", "likely", "auth_level", 0, (6, 7)),),
    "RPC-ANON/hit_refused": (("low", "likely", "auth_level", 0, (6, 7)),),
    "RPC-OPNUM/hit_local": (("medium", "certain", "opnum", 0, (6, 7)),),
    "RPC-OPNUM/hit_beyond": (("medium", "certain", "opnum", 0, (6, 7)),),
    "RPC-FMTLEN/hit_delete": (
        ("high", "published", f"request.p_object_format.p_queue_format.{_DIRECT}", 0, (6, 7)),
    ),
    "RPC-FMTLEN/hit_create": (("high", "published", "request.lpwcs_path_name", 0, (6, 7)),),
    "RPC-FMTLEN/hit_public_module": (("high", "published", "request.lpwcs_path_name", 0, (6, 7)),),
    "CNT-LOOPBACK/hit_call": (("low", "certain", f"request.p_queue_format.{_DIRECT}", 0, (6, 7)),),
    "CNT-LOOPBACK/hit_plain": (
        ("low", "certain", f"request.p_object_format.p_queue_format.{_DIRECT}", 0, (6, 7)),
    ),
    "RPC-FMTLEN/hit_computer": (("high", "certain", f"request.p_queue_format.{_DIRECT}", 0, (6, 7)),),
    "RPC-QFT/hit_suffix": (("medium", "certain", "request.p_queue_format.m_suffix_and_flags", 0, (6, 7)),),
    "RPC-QFT/hit_tag": (("medium", "certain", "request.p_queue_format.arm", 4, (6, 7)),),
    "RPC-QFT/hit_kind": (("medium", "certain", "request.p_queue_format.m_qft", 0, (6, 7)),),
    "RPC-QFT/hit_url": (("medium", "certain", "request.p_queue_format.m_qft", 0, (6, 7)),),
    "RPC-NDR/hit_count": (("high", "certain", "request.p_queue_format.arm", 24, (6, 7)),),
    "RPC-NDR/hit_null": (
        ("high", "certain", "request.a_prop", 44, (6, 7)),
        ("high", "certain", "request.ap_var", 48, (6, 7)),
    ),
    "RPC-SEC-SEQ/hit_second_alone": (("medium", "certain", "", 0, (9,)),),
    "RPC-SEC-SEQ/hit_alloc": (("medium", "certain", "[0].section_size_alloc", 0, (9,)),),
    "RPC-SEC-SIZE/hit_sum": (("low", "certain", "", 0, (9,)),),
    "RPC-SEC-SIZE/hit_alloc": (("low", "certain", "[0].section_size_alloc", 0, (9,)),),
    "RPC-PURGE/hit_purged": (("medium", "certain", "opnum", 0, (8, 9)),),
    "RPC-PURGE/hit_refused": (("low", "certain", "opnum", 0, (8, 9)),),
    "RPC-READ/hit_journal": (("medium", "certain", "request.ul_action", 0, (8, 9)),),
    "RPC-PENDING/hit_closed": (("low", "certain", "opnum", 0, (9,)),),
    "RPC-PENDING/hit_cut_short": (("info", "certain", "opnum", 0, (9,)),),
    "RPC-AGAIN/hit_put_back": (("low", "certain", "", 0, (9,)),),
    "RPC-ABORTS/hit_retry": (("low", "certain", "subqueue_header.abort_counter", 236, (9,)),),
    "RPC-FRAG/hit_no_first": (("medium", "certain", "call_id", 0, (6, 7, 8)),),
    "RPC-FRAG/hit_unasked": (("medium", "certain", "call_id", 0, (8,)),),
    "RPC-FRAG/hit_no_pdu": (("medium", "certain", "", 208, (8,)),),
    "RPC-SEALED/hit_privacy": (("info", "certain", "", 0, (6, 7)),),
    "SRM-TO/hit_other_host": (("medium", "likely", "envelope.header.path.to", 0, (4, 5)),),
    "SRM-TO/hit_other_address": (("medium", "likely", "envelope.header.path.to", 0, (4, 5)),),
    "SRM-ID/hit_zero": (("medium", "certain", "envelope.header.path.id", 0, (4, 5)),),
    "SRM-ID/hit_other_source": (("low", "likely", "envelope.header.path.id", 575, (4, 5)),),
    "SRM-ID/hit_no_guid": (("low", "certain", "envelope.header.path.id", 575, (4, 5)),),
    "SRM-PART/hit_no_close": (("medium", "certain", "body", 1142, (4, 5)),),
    "SRM-PART/hit_two_bodies": (("medium", "certain", "parts[2]", 1287, (4, 5)),),
    "SRM-PART/hit_unnamed": (("medium", "certain", "parts[1]", 1082, (4, 5)),),
    "SRM-PART/hit_no_envelope": (("medium", "certain", "envelope", 313, (4, 5)),),
    "SRM-BODYELEM/hit_content": (("info", "likely", "envelope.body", 958, (4, 5)),),
    "SRM-ELEM/hit_elements": (
        ("low", "certain", "envelope.header.properties.expires_at", 670, (4, 5)),
    ),
    "SRM-XML/hit_doctype": (("medium", "certain", "envelope", 312, (4, 5)),),
    "SRM-XML/hit_entity": (("medium", "certain", "envelope", 504, (4, 5)),),
    "SRM-XML/hit_undeclared": (("low", "certain", "envelope", 500, (4, 5)),),
    "SRM-CUT/hit_short": (("low", "likely", "body", 0, (4,)),),
    "SRM-CUT/hit_capture_ends": (("info", "guess", "body", 0, (4,)),),
    "SRM-CUT/hit_last_chunk": (("low", "likely", "body", 0, (4,)),),
    "SRM-HTTP/hit_both_lengths": (("low", "likely", "headers", 0, (4, 5)),),
    "SRM-PGM/hit_multicast": (("info", "certain", "envelope.header.path.to", 0, (4, 5)),),
    "BOD-BINFMT/hit_inside": (("low", "likely", _BODY, 184, (4,)),),
    "BOD-BINFMT/hit_outside": (("high", "likely", "body", 910, (4, 5)),),
    "BOD-WCF/hit_preamble": (("info", "likely", _BODY, 184, (4,)),),
    "BOD-NOTIFY/hit_unsigned": (("medium", "likely", _BODY, 184, (4,)),),
    "BOD-EXEC/hit_program": (("medium", "likely", _BODY, 184, (4,)),),
    "BOD-EXEC/hit_archive": (("medium", "likely", _BODY, 184, (4,)),),
    "BOD-EXEC/hit_script": (("medium", "likely", _BODY, 184, (4,)),),
    "BOD-TYPE/hit_wide": (("low", "likely", _BODY, 184, (4,)),),
    "BOD-TYPE/hit_odd": (("low", "likely", _BODY, 184, (4,)),),
    "BOD-HEADERS/hit_cut": (("low", "likely", _BODY, 294, (4,)),),
    "BOD-HEADERS/hit_envelope": (("low", "likely", _BODY, 184, (4,)),),
    "BOD-ENC/hit_even": (("info", "guess", _BODY, 184, (4,)),),
    "PNG-SIG/hit_swapped": (("low", "certain", "signature", 2, (1,)),),
    "PNG-SIG/hit_long": (("low", "certain", "", 0, (1,)),),
    "PNG-NOANS/hit_silence": (("info", "certain", "cookie", 4, (1,)),),
    "PNG-SCAN/hit_twelve": (("medium", "likely", "", 0, (1,)),),
    "PNG-SCAN/hit_again": (("low", "guess", "", 0, (1,)),),
    "PNG-RF/hit_refused": (("info", "certain", "flags", 0, (2,)),),
    "PNG-GUID/hit_other": (("low", "certain", "qm_guid", 8, (2,)),),
    "PNG-COOKIE/hit_late": (("medium", "likely", "cookie", 4, (3,)),),
    "PNG-COOKIE/hit_at_start": (("info", "likely", "cookie", 4, (1,)),),
}  # fmt: skip


def _captures(kind: str) -> list[str]:
    return sorted(
        f"{path.parent.name}/{path.stem}"
        for id_ in RULES
        for path in (_FINDINGS / id_).glob(f"{kind}_*.pcap")
    )


def _found(path: Path) -> list[Finding]:
    return list(judge(read_capture(path, streams=True), RULES))


def _own(name: str) -> list[Finding]:
    """What the rule says of its fixture."""
    id_ = name.partition("/")[0]
    return [one for one in _found(_FINDINGS / f"{name}.pcap") if one.id == id_ and not one.answered]


def test_every_capture_of_these_rules_is_told() -> None:
    assert set(_HITS) <= set(_captures("hit"))
    assert {name.partition("/")[0] for name in _captures("miss")} == set(RULES)


@pytest.mark.parametrize("name", sorted(_HITS))
def test_a_hit_is_found_where_it_is(name: str) -> None:
    reported = tuple(
        (one.severity, one.confidence, one.evidence[0].path, one.evidence[0].offset, one.evidence[0].frames)
        for one in _own(name)
    )
    assert reported == _HITS[name]


@pytest.mark.parametrize("name", _captures("miss"))
def test_what_comes_near_is_no_hit(name: str) -> None:
    assert _own(name) == []


@pytest.mark.parametrize("rule", RULES.values(), ids=list(RULES))
def test_a_rule_says_all_that_is_asked(rule: Rule) -> None:
    assert rule.meaning.endswith(".")
    assert rule.action.endswith(".")
    assert rule.spec


def test_the_published_frames_give_nothing_above_info() -> None:
    assert [one.id for one in _found(_CAPTURES / "published.pcap") if one.severity != "info"] == []


@pytest.mark.parametrize("capture", ["demo.pcap", "path_srmp_message.pcap", "path_srmp_receipts.pcap"])
def test_an_ordinary_capture_gives_nothing(capture: str) -> None:
    assert _found(_CAPTURES / capture) == []


@pytest.mark.parametrize(
    ("name", "cves"),
    [
        ("RPC-FMTLEN/hit_delete", ("CVE-2005-0059",)),
        ("RPC-FMTLEN/hit_create", ("CVE-2007-3039",)),
        ("RPC-FMTLEN/hit_public_module", ("CVE-2007-3039",)),
        ("BOD-BINFMT/hit_outside", ("CVE-2024-8068", "CVE-2024-8069")),
    ],
)
def test_a_published_condition_is_named_where_its_field_is_seen(name: str, cves: tuple[str, ...]) -> None:
    (found,) = _own(name)
    assert found.cves == cves
    assert "matches the published condition of " + " and ".join(cves) in found.message


@pytest.mark.parametrize("name", ["RPC-FMTLEN/hit_computer", "BOD-BINFMT/hit_inside", "RPC-OLD/hit_refused"])
def test_no_condition_is_named_where_its_field_is_not_seen(name: str) -> None:
    (found,) = _own(name)
    assert found.cves == ()
    assert "CVE" not in found.message


def test_the_old_interface_alone_is_not_said_to_match_a_condition() -> None:
    bind, call = _own("RPC-OLD/hit_call")
    assert (bind.cves, call.cves) == ((), ("CVE-2003-0995",))
    assert "length" in call.caveats[0]


def test_evidence_of_a_body_holds_its_first_bytes() -> None:
    (place,) = _own("BOD-EXEC/hit_archive")[0].evidence
    assert (place.data, place.length) == (b"PK\3\4" + bytes(12), 16)


def test_evidence_of_queue_managers_points_at_both_answers() -> None:
    ping, answer = _own("PNG-GUID/hit_other")[0].evidence
    assert (ping.path, ping.length) == ("qm_guid", 16)
    assert (answer.path, answer.offset) == ("establish_connection_header.server_guid", 36)


@pytest.mark.parametrize(
    ("text", "computer", "queue"),
    [
        ("OS:msg01\\private$\\orders", "msg01", "orders"),
        ("TCP:192.0.2.10\\orders;journal", "192.0.2.10", "orders"),
        ("http://msg01:8080/msmq/private$/orders", "msg01:8080", "orders"),
        ("msg01\\orders", "msg01", "orders"),
        (".\\private$\\q;urgent", ".", "q"),
        ("OS:[2001:db8::10]\\private$\\q", "[2001:db8::10]", "q"),
        ("TCP:127.0.0.1\\private$\\a://b/c", "127.0.0.1", "a://b/c"),
        ("OS:localhost\\private$\\q;http://msg01/msmq/q", "localhost", "q"),
        ("127.0.0.1\\q://192.0.2.10/r", "127.0.0.1", "q://192.0.2.10/r"),
        ("no separator", "no separator", ""),
        ("", "", ""),
    ],
)
def test_a_name_has_a_computer_and_a_queue(text: str, computer: str, queue: str) -> None:
    assert split_path(text) == (computer, queue)


@pytest.mark.parametrize(
    "computer",
    [
        "127.0.0.1", "127.10.10.103", "127.1", "127.0.0.1:8080", "::1", "[::1]", "[::1]:80",
        "2130706433", "0x7f.1", "0x7f000001", "0177.0.0.1", "user@127.0.0.1", "u:p@localhost",
        "::ffff:127.0.0.1", "localhost", "LocalHost", "localhost.", "localhost.localdomain", "a.localhost",
    ],
)  # fmt: skip
def test_the_loopback_address_is_known_in_each_of_its_forms(computer: str) -> None:
    assert is_loopback(computer)


@pytest.mark.parametrize(
    "computer",
    [
        "",
        "128.0.0.1",
        "127",
        "0x80.1",
        "3232235777",
        "0189.1",
        "127.0.0.1@msg01",
        "127.0.0.1.2",
        "127.example",
        "::2",
        "[::2]",
        "localhosts",
        "msg01",
        "x" * 999,
    ],
)
def test_another_host_is_no_loopback_address(computer: str) -> None:
    assert not is_loopback(computer)


@pytest.mark.slow
@given(st.text(max_size=60))
def test_the_parts_of_a_name_are_never_longer_than_it(text: str) -> None:
    assert len("".join(split_path(text))) <= len(text)


@pytest.mark.parametrize(
    ("client", "server", "outside"),
    [
        ("203.0.113.7:5000", "192.0.2.10:2103", True),
        ("192.0.99.7:5000", "192.0.2.10:2103", False),
        ("10.0.0.7:5000", "192.0.2.10:2103", False),
        ("[2001:db8:1::7]:5000", "[2001:db8:2::10]:2103", True),
        ("[2001:db8:1:5::7]:5000", "[2001:db8:1::10]:2103", False),
        ("[fe80::7]:5000", "[2001:db8:1::10]:2103", False),
        (None, "192.0.2.10:2103", False),
        ("nowhere", "192.0.2.10:2103", False),
    ],
)
def test_a_client_is_outside_when_its_network_is_public_and_another(
    client: str | None, server: str, outside: bool
) -> None:
    assert is_outside(client, server) is outside


@settings(
    max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.sampled_from(sorted(_HITS)), st.integers(0, 2000), st.binary(min_size=1, max_size=12))
def test_changed_bytes_give_findings_or_none_and_never_an_error(
    tmp_path: Path, name: str, at: int, junk: bytes
) -> None:
    data = bytearray((_FINDINGS / f"{name}.pcap").read_bytes())
    # The first frame, the handshake, and the file header stay.
    start = min(300 + at, len(data) - len(junk))
    data[start : start + len(junk)] = junk
    path = tmp_path / "changed.pcap"
    path.write_bytes(data)
    for one in _found(path):
        assert one.severity in SEVERITIES
        assert one.evidence
        assert one.message


def _of_call(rule: str, **fields: object) -> Finding:
    call = RpcCall(interface="RemoteRead", opnum=5, syntax="ndr", **fields)  # type: ignore[arg-type]  # its members
    (found,) = judge([Record(id=1, type="rpc_call", packet=call)], {rule: RULES[rule]})
    return found


def test_an_encrypted_call_names_the_account_where_it_is_known() -> None:
    reported = "is encrypted: its queue and its messages cannot be seen"
    method = "R_OpenQueue"
    assert _of_call("RPC-SEALED", method=method, sealed=True).message == f"R_OpenQueue {reported}"
    alice = _of_call("RPC-SEALED", method=method, sealed=True, account="CORP\\alice")
    assert alice.message == f"R_OpenQueue of CORP\\alice {reported}"


def test_a_purge_whose_bind_was_not_captured_is_a_guess() -> None:
    sure = _of_call("RPC-PURGE", method="R_PurgeQueue", status=0)
    guess = _of_call("RPC-PURGE", method="R_PurgeQueue", status=0, guessed=True)
    assert (sure.severity, sure.confidence, sure.caveats) == ("medium", "certain", ())
    assert (guess.severity, guess.confidence) == ("low", "likely")
    assert guess.caveats == ("the bind was not captured: the method is a guess",)


@pytest.mark.parametrize(
    ("answer", "caveats"),
    [
        ({"status": 0}, ()),
        ({"status": 0xC0000022}, ("the server refused it with 0xc0000022",)),
        ({"status": 1}, ("the server answered 0x00000001, which does not say that it purged the queue",)),
    ],
)
def test_a_purge_that_the_server_did_not_confirm_is_told_with_its_answer(
    answer: dict[str, int], caveats: tuple[str, ...]
) -> None:
    assert _of_call("RPC-PURGE", method="R_PurgeQueue", **answer).caveats == caveats


def test_a_null_array_is_told_with_its_number_of_elements() -> None:
    said = "request.a_prop: NULL where size_is says 1"
    assert said in {one.message for one in _own("RPC-NDR/hit_null")}


_DESCRIPTOR = RemoteReadDesc(ul_action=ReceiveAction.MQ_ACTION_RECEIVE)
_LOOKUP = RemoteReadDesc2(p_remote_read_desc=_DESCRIPTOR)


@pytest.mark.parametrize(
    ("method", "request_"),
    [
        ("R_StartReceive", StartReceiveRequest(ul_action=ReceiveAction.MQ_ACTION_RECEIVE)),
        ("RemoteQMStartReceive", RemoteQMStartReceiveRequest(lp_remote_read_desc=_DESCRIPTOR)),
        ("RemoteQMStartReceive2", RemoteQMStartReceive2Request(lp_remote_read_desc2=_LOOKUP)),
        (
            "rpc_ACReceiveMessageEx",
            RpcACReceiveMessageExRequest(
                ptb=CACTransferBufferV2(
                    old=CACTransferBufferV1(
                        u_transfer_type=1, arm=TransferReceive(action=ReceiveAction.MQ_ACTION_RECEIVE)
                    )
                )
            ),
        ),
    ],
)
def test_the_place_of_a_read_is_where_its_action_is_shown(method: str, request_: object) -> None:
    queue = "DIRECT=OS:host\\system$;journal"
    seen = _of_call("RPC-READ", method=method, request=request_, response=object(), queue=queue)
    assert seen.message.startswith(f"{method} receives")
    side, *path = seen.evidence[0].path.split(".")
    shown = view(request_)
    for name in path:
        shown = shown[name]
    assert (side, shown) == ("request", ReceiveAction.MQ_ACTION_RECEIVE)
