"""The bridge to tshark gives the records that `read_capture` gives, and ends what it starts."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from msmq_wire import CaptureError, read_capture
from msmq_wire.records.decoder import decoded
from msmq_wire.records.finder import PacketFinder
from msmq_wire.records.record import Record
from msmq_wire.records.rpc_packets import RpcCall
from msmq_wire.records.view import record_view
from msmq_wire.rpc.pdu_protection import Negotiation, ProtectedPdu, Unwrapped
from msmq_wire.rpc.unseal.negotiation import negotiator
from msmq_wire.rpc.unseal.secrets import Secrets
from msmq_wireshark.bridge import TsharkReader, read_with_tshark
from msmq_wireshark.frames import FrameFeeder
from msmq_wireshark.stubs import DecryptedStubs
from tests.effort import in_batches, share

_FIXTURES = Path(__file__).parents[3] / "fixtures"
_CAPTURES = sorted((_FIXTURES / "captures").glob("*.pcap*"))
_RPC = _FIXTURES / "rpc_captures"
_SEALED = [path for path in sorted(_RPC.glob("*.pcap*")) if "kerberos" in path.name or "ntlm" in path.name]
_PLAIN = [path for path in sorted(_RPC.glob("*.pcap*")) if path not in _SEALED]
_KEYTAB = _RPC / "rpc_kerberos.keytab"
_DEMO = _FIXTURES / "captures" / "demo.pcap"
_DAMAGED = ("path_cut_file.pcap", "path_damaged_record.pcap")

needs_tshark = pytest.mark.tshark


def views(records: Iterator[Record]) -> list[dict[str, Any]]:
    return [record_view(record) for record in records]


def calls(records: Iterator[Record]) -> dict[tuple[int | None, int, tuple[int, ...]], RpcCall]:
    """The calls of a capture by connection, call id and frames."""
    return {
        (record.stream, record.packet.call_id, record.frames): record.packet
        for record in records
        if isinstance(record.packet, RpcCall)
    }


def password_of(capture: Path) -> str | None:
    facts = json.loads((_RPC / f"{capture.name.partition('.')[0]}.json").read_text(encoding="utf-8"))
    found: str | None = facts["secrets"].get("password")
    return found


def wireshark_keys(capture: Path) -> dict[str, str]:
    """The preferences of Wireshark that open a capture."""
    password = password_of(capture)
    if "kerberos" in capture.name:
        return {"kerberos.decrypt": "TRUE", "kerberos.file": str(_KEYTAB)}
    return {"ntlmssp.nt_password": password or ""}


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[subprocess.Popen[bytes]]:
    """The processes that were started, except those that only tell a version."""
    found: list[subprocess.Popen[bytes]] = []

    class Recorded(subprocess.Popen[bytes]):
        def __init__(self, command: Any, *args: Any, **options: Any) -> None:
            super().__init__(command, *args, **options)
            if "-v" not in command:
                found.append(self)

    monkeypatch.setattr(subprocess, "Popen", Recorded)
    return found


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """Put a shell script before the programs of the same name."""
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")

    def make(name: str, script: str) -> None:
        path = tmp_path / name
        path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        path.chmod(0o755)

    return make


def assert_ended(processes: list[subprocess.Popen[bytes]]) -> None:
    assert processes
    for process in processes:
        assert process.returncode is not None
        with pytest.raises(ProcessLookupError):
            os.kill(process.pid, 0)


@pytest.mark.slow
@needs_tshark
@in_batches([path for path in _CAPTURES if path.name not in _DAMAGED], every=18)
def test_records_are_those_of_read_capture(path: Path) -> None:
    expected = views(read_capture(str(path), streams=True))
    assert views(read_with_tshark(path, streams=True)) == expected


@pytest.mark.slow
@needs_tshark
@pytest.mark.parametrize("capture", share([*_PLAIN, *_SEALED], 4), ids=lambda path: path.name)
def test_calls_without_keys_are_those_of_read_capture(capture: Path) -> None:
    assert views(read_with_tshark(capture)) == views(read_capture(str(capture)))


@pytest.mark.slow
@needs_tshark
@pytest.mark.parametrize("name", _DAMAGED)
def test_a_damaged_file_gives_what_is_before_the_damage_and_an_error(name: str) -> None:
    path = _FIXTURES / "captures" / name
    *expected, _ = views(read_capture(str(path)))
    *found, error = read_with_tshark(path)
    assert views(iter(found)) == expected
    assert (error.type, error.stream) == ("error", None)
    assert error.reason is not None
    assert error.reason.startswith("tshark: The file ")


@pytest.mark.slow
@needs_tshark
@pytest.mark.parametrize("capture", share(_SEALED, 3), ids=lambda path: path.name)
def test_keys_open_calls_as_they_do_without_wireshark(capture: Path) -> None:
    password = password_of(capture)
    secrets = Secrets.of(passwords=[] if password is None else [password], keytabs=[_KEYTAB.read_bytes()])
    expected = views(read_capture(str(capture), negotiator=negotiator(secrets)))
    assert views(read_with_tshark(capture, nt_password=password, keytab=_KEYTAB)) == expected


# Calls that Wireshark 4.0 cannot open, as requests with Kerberos, or opens wrongly: what follows several PDUs
# in a frame, or a place in the stream that it lost.
_STAYS_SEALED = {
    "rpc_kerberos_aes128_signed_headers.pcap": 0,
    "rpc_kerberos_aes256.pcap": 28,
    "rpc_kerberos_aes256_signed_headers.pcap": 0,
    "rpc_kerberos_rc4.pcap": 2,
    "rpc_kerberos_rc4_signed_headers.pcap": 0,
    "rpc_ntlm_integrity.pcap": 0,
    "rpc_ntlm_privacy.pcap": 6,
    "rpc_ntlm_privacy_large.pcap.gz": 0,
    "rpc_spnego_ntlm_signed_headers.pcap": 11,
}


@pytest.mark.slow
@needs_tshark
@pytest.mark.parametrize("capture", share(_SEALED, 3), ids=lambda path: path.name)
def test_what_only_wireshark_opens_is_right_or_stays_sealed(capture: Path) -> None:
    password = password_of(capture)
    secrets = Secrets.of(passwords=[] if password is None else [password], keytabs=[_KEYTAB.read_bytes()])
    expected = calls(read_capture(str(capture), negotiator=negotiator(secrets)))
    reader = TsharkReader(capture, preferences=wireshark_keys(capture))
    found = calls(iter(reader))
    assert found.keys() == expected.keys()
    opened = {key: call for key, call in found.items() if not call.sealed}
    for key, call in opened.items():
        assert (call.method, call.request, call.response) == (
            expected[key].method,
            expected[key].request,
            expected[key].response,
        )
    assert len(found) - len(opened) == _STAYS_SEALED[capture.name]
    levels = {call.auth_level for call in opened.values()}
    assert any("signature is not checked" in notice for notice in reader.summary.notices) == (6 in levels)


@pytest.mark.slow
@needs_tshark
def test_a_display_filter_hides_frames() -> None:
    records = list(read_with_tshark(_DEMO, display_filter="udp"))
    assert [record.type for record in records] == ["ping", "ping"]


def run_with_pyshark(program: str, tmp_path: Path) -> str:
    """What a program with a pyshark capture prints: in its own process, since pyshark leaves pipes open."""
    environment = os.environ | {"XDG_CACHE_HOME": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
    result = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False
    )
    if "does not support elastic-mapping" in result.stderr:
        pytest.xfail("pyshark 0.6 does not know the mapping of tshark 4.6")
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.mark.check
@needs_tshark
def test_a_pyshark_capture_is_read_as_it_is(tmp_path: Path) -> None:
    path = _FIXTURES / "captures" / "path_gre.pcap"
    program = f"""
import json, pyshark
from msmq_wire.records.view import record_view
from msmq_wireshark.bridge import read_with_tshark
with pyshark.FileCapture({str(path)!r}, use_ek=True, keep_packets=False) as capture:
    print(json.dumps([record_view(record) for record in read_with_tshark(capture)]))
"""
    assert json.loads(run_with_pyshark(program, tmp_path)) == views(read_capture(str(path)))


@pytest.mark.slow
@needs_tshark
@pytest.mark.xfail(
    sys.version_info >= (3, 14), reason="pyshark 0.6 wants an event loop to be there", strict=False
)
def test_a_pyshark_capture_in_another_mode_is_refused(tmp_path: Path) -> None:
    program = f"""
import pyshark
from msmq_wire.errors import CaptureError
from msmq_wireshark.bridge import read_with_tshark
with pyshark.FileCapture({str(_DEMO)!r}, keep_packets=False) as capture:
    try:
        list(read_with_tshark(capture))
    except CaptureError as error:
        print(error)
"""
    assert "use_ek=True" in run_with_pyshark(program, tmp_path)


@pytest.mark.slow
@needs_tshark
def test_a_reader_that_is_closed_early_ends_tshark(started: list[subprocess.Popen[bytes]]) -> None:
    records = read_with_tshark(_RPC / "rpc_ntlm_privacy_large.pcap.gz")
    assert len(list(islice(records, 1))) == 1
    records.close()  # type: ignore[attr-defined]  # it is a generator
    assert_ended(started)


@pytest.mark.check
@needs_tshark
def test_an_interrupt_ends_tshark(started: list[subprocess.Popen[bytes]]) -> None:
    def interrupted() -> None:
        for _ in read_with_tshark(_DEMO):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert_ended(started)


@pytest.mark.slow
@needs_tshark
def test_a_named_pipe_is_read_as_an_interface(tmp_path: Path, started: list[subprocess.Popen[bytes]]) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    code = "import sys; open(sys.argv[1], 'wb').write(open(sys.argv[2], 'rb').read())"
    with subprocess.Popen([sys.executable, "-c", code, str(pipe), str(_DEMO)]):
        found = views(read_with_tshark(interface=str(pipe)))
    expected = views(read_capture(str(_DEMO)))
    assert found == [row | {"capture": str(pipe)} for row in expected]
    assert [("dumpcap" in str(process.args), "tshark" in str(process.args)) for process in started[1:]] == [
        (True, False),
        (False, True),
    ]
    assert_ended(started)


@pytest.mark.slow
@needs_tshark
def test_stop_gives_what_was_captured(tmp_path: Path, started: list[subprocess.Popen[bytes]]) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    # The pipe stays open: only stop can end this.
    code = (
        "import sys, time; pipe = open(sys.argv[1], 'wb'); pipe.write(open(sys.argv[2], 'rb').read());"
        "pipe.flush(); time.sleep(600)"
    )
    with subprocess.Popen([sys.executable, "-c", code, str(pipe), str(_DEMO)]) as writer:
        try:
            reader = TsharkReader(interface=str(pipe))
            records = iter(reader)
            first = next(records)
            reader.stop()
            rest = list(records)
        finally:
            writer.send_signal(signal.SIGKILL)
    found = [first.type, *(record.type for record in rest)]
    assert found == [record.type for record in read_capture(str(_DEMO))][: len(found)]
    assert_ended(started[1:])


@pytest.mark.slow
@needs_tshark
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"interface": "no such interface"}, 'dumpcap: There is no device named "no such interface"'),
        ({"source": "no such file"}, "cannot open no such file: No such file or directory"),
        ({"source": _DEMO, "display_filter": "no.such == 1"}, "no.such"),
        ({"source": _DEMO, "preferences": {"no.such": "1"}}, "specifies unknown preference"),
        ({"source": _DEMO, "keytab": "no such file"}, "the keytab cannot be read"),
        ({"source": _DEMO, "capture_filter": "tcp"}, "a capture filter needs an interface"),
        ({"interface": "-", "capture_filter": "tcp"}, "a capture filter needs an interface"),
        ({"source": _DEMO, "interface": "lo"}, "either a source or an interface"),
        ({}, "either a source or an interface"),
    ],
)
def test_what_cannot_be_read_is_said_in_one_line(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(CaptureError) as caught:
        list(read_with_tshark(**arguments))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.slow
@needs_tshark
def test_no_permission_is_said_in_one_line(program: Callable[[str, str], None]) -> None:
    program(
        "dumpcap",
        "echo 'Capturing on lo' >&2\n"
        "echo 'dumpcap: You do not have permission to capture on device \"lo\".' >&2\n"
        "echo '(socket: Operation not permitted)' >&2\necho 'Please check.' >&2\nexit 1",
    )
    with pytest.raises(CaptureError, match=r"permission .* \(socket: Operation not permitted\)$"):
        list(read_with_tshark(interface="lo"))


@pytest.mark.slow
@needs_tshark
def test_frames_that_the_capture_dropped_are_counted(program: Callable[[str, str], None]) -> None:
    program(
        "dumpcap",
        f"cat '{_DEMO}'\necho \"Packets received/dropped on interface 'lo': 25/7 (pcap:7/dumpcap:0)\" >&2",
    )
    reader = TsharkReader(interface="lo")
    assert len(list(reader)) == 13
    assert reader.summary.notices == {"frames dropped: the capture was too slow": 7}


def test_an_old_tshark_is_refused(program: Callable[[str, str], None]) -> None:
    program("tshark", "echo 'TShark (Wireshark) 3.6.2 (Git v3.6.2)'")
    with pytest.raises(CaptureError, match=r"tshark 3\.6\.2 is too old: 4\.0 or newer is needed"):
        TsharkReader(_DEMO)


def test_a_missing_tshark_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CaptureError, match="tshark is not found"):
        TsharkReader(_DEMO)


# Layers written by hand, as tshark prints them.


def frame_of(protocols: str, **layers: Any) -> dict[str, Any]:
    return {
        "frame": {
            "frame_frame_number": "7",
            "frame_frame_time_epoch": "1700000000.123456789",
            "frame_frame_protocols": protocols,
        },
        **layers,
    }


_IP = {"ip_ip_src": "192.0.2.1", "ip_ip_dst": "192.0.2.2"}
_PING = "01:00:48:55:07:00:00:00:5b:0c:d3:a1:7e:24:45:4f:9a:31:c5:d2:0e:6f:77:88"
_UDP = {"udp_udp_srcport": "50217", "udp_udp_dstport": "3527", "udp_udp_payload": _PING}


def fed(*frames: dict[str, Any], streams: bool = False) -> tuple[list[Record], PacketFinder]:
    finder = PacketFinder()
    feeder = FrameFeeder(finder, DecryptedStubs())
    return [record for frame in frames for record in decoded(feeder.frame(frame), streams=streams)], finder


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("1700000000.123456789", 1700000000_123456789),
        ("2023-11-14T22:13:20.123456789Z", 1700000000_123456789),
        ("soon", None),
    ],
)
def test_a_time_is_exact_in_either_form(text: str, time: int | None) -> None:
    frame = frame_of("eth:ip:udp:data", ip=_IP, udp=_UDP)
    frame["frame"]["frame_frame_time_epoch"] = text
    (record,), _ = fed(frame)
    assert (record.type, record.time, record.frames) == ("ping", time, (7,))


def test_the_innermost_addresses_count() -> None:
    outer = {"ip_ip_src": "198.51.100.1", "ip_ip_dst": "198.51.100.2"}
    (record,), _ = fed(frame_of("eth:ip:gre:ip:udp:data", ip=[outer, _IP], udp=_UDP))
    assert (record.src, record.dst) == ("192.0.2.1:50217", "192.0.2.2:3527")


def test_an_unreachable_of_version_6_tells_of_the_packet_in_it() -> None:
    ipv6 = {"ipv6_ipv6_src": "2001:db8::1", "ipv6_ipv6_dst": "2001:db8::2"}
    quoted = {"ipv6_ipv6_src": "2001:db8::2", "ipv6_ipv6_dst": "2001:db8::1"}
    icmp = {"icmpv6_icmpv6_type": "1", "icmpv6_icmpv6_code": "4", "ipv6": quoted, "udp": _UDP}
    (record,), _ = fed(frame_of("eth:ipv6:icmpv6:ipv6:udp", ipv6=ipv6, icmpv6=icmp), streams=True)
    assert (record.event, record.src) == ("icmp_unreachable", "[2001:db8::2]:50217")


@pytest.mark.parametrize(
    ("frame", "reason"),
    [
        (frame_of("eth:arp"), "no TCP or UDP: arp"),
        (frame_of("eth:ip:tcp", ip=_IP, tcp={}), "cut before the transport header"),
        (
            frame_of("eth:ip:tcp", ip=_IP, tcp={"tcp_tcp_srcport": "1", "tcp_tcp_dstport": "1801"}),
            "cut before the transport header",
        ),
        (frame_of("eth:ip:udp", ip={"ip_ip_src": "nowhere"}, udp=_UDP), "no TCP or UDP: udp"),
        (
            frame_of("eth:ip:data", ip={**_IP, "ip_ip_frag_offset": "185"}),
            "IP fragments, not put together",
        ),
        (frame_of("eth:ip:icmp", ip=_IP, icmp={"icmp_icmp_type": "8"}), "ICMP type 8"),
        ({}, "no TCP or UDP: "),
    ],
)
def test_a_frame_that_gives_nothing_is_counted(frame: dict[str, Any], reason: str) -> None:
    records, finder = fed(frame)
    assert records == []
    assert finder.skipped == {reason: 1}


def sealed_layer(sealed: str, **more: Any) -> dict[str, Any]:
    return {
        "dcerpc_dcerpc_encrypted_stub_data": sealed,
        "dcerpc_dcerpc_auth_pad_len": "0",
        **{f"dcerpc_dcerpc_{name}": value for name, value in more.items()},
    }


def pdu(stub: str, padding: int = 0) -> ProtectedPdu:
    return ProtectedPdu(True, 6, b"", bytes.fromhex(stub), bytes((10, 6, padding, 0, 0, 0, 0, 0)), b"", False)


def test_a_stub_is_given_once_and_to_the_sealed_bytes_it_was_in() -> None:
    stubs = DecryptedStubs()
    stubs.take({"dcerpc": sealed_layer("0a:0b", decrypted_stub_data="01:02")})
    context = stubs.negotiation(10)
    assert context.unwrap(pdu("0b0a")).stub is None
    assert context.unwrap(pdu("0a0b")).stub == b"\x01\x02"
    assert context.unwrap(pdu("0a0b")).stub is None


def test_a_fragment_has_its_stub_behind_the_layers_and_the_last_one_at_the_end_of_all() -> None:
    stubs = DecryptedStubs()
    stubs.take({"dcerpc": sealed_layer("0a:0b"), "dcerpc_dcerpc_decrypted_stub_data": "01:02"})
    stubs.take({"dcerpc": sealed_layer("0c", decrypted_stub_data="01:02:03")})
    context = stubs.negotiation(16)
    assert [context.unwrap(pdu(stub)).stub for stub in ("0a0b", "0c")] == [b"\x01\x02", b"\x03"]


def test_of_several_sealed_pdus_in_a_frame_only_the_first_is_believed() -> None:
    layers = [sealed_layer("0a", decrypted_stub_data="01"), sealed_layer("0b", decrypted_stub_data="01")]
    stubs = DecryptedStubs()
    stubs.take({"dcerpc": layers})
    context = stubs.negotiation(16)
    assert [context.unwrap(pdu(stub)).stub for stub in ("0a", "0b")] == [b"\x01", None]


@pytest.mark.parametrize(("token", "opened"), [(b"NTLMSSP\0", False), (b"\x60\x82", True)])
def test_junk_in_the_padding_spoils_what_follows_in_a_stream(token: bytes, opened: bool) -> None:
    stubs = DecryptedStubs()
    junk = sealed_layer("0a:0b:0c", decrypted_stub_data="01", auth_pad_len="2", auth_padding="41:7f")
    stubs.take({"dcerpc": junk})
    stubs.take({"dcerpc": sealed_layer("0d", decrypted_stub_data="02")})
    context = stubs.negotiation(10)
    context.exchange(True, token)
    assert context.unwrap(pdu("0a0b0c", padding=2)).stub is None
    assert (context.unwrap(pdu("0d")).stub == b"\x02") is opened


def test_own_keys_come_first() -> None:
    class Own:
        account = "CORP\\alice"
        note = ""

        def exchange(self, from_client: bool, token: bytes) -> None:
            raise NotImplementedError

        def unwrap(self, pdu: ProtectedPdu) -> Unwrapped:
            return Unwrapped(b"\x05", True)

    own: Negotiation = Own()
    stubs = DecryptedStubs(lambda auth_type: own)
    stubs.take({"dcerpc": sealed_layer("0a", decrypted_stub_data="01")})
    context = stubs.negotiation(10)
    assert context.unwrap(pdu("0a")) == Unwrapped(b"\x05", True)
    assert stubs.pop(b"\x0a") is None
    assert context.account == "CORP\\alice"
