"""The Wireshark script for calls against the Python decoder: every stub of the fixtures, every recorded one.

tshark shows a stub as fields with names; the JSON view, flattened, must be the same list: the same names in
the same order with the same values. Nothing here knows a method.
"""

from __future__ import annotations

import base64
import gzip
import importlib.util
import json
import os
import random
import re
import shutil
import struct
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from msmq_wire.capture.reader import read_capture
from msmq_wire.records.rpc_packets import RpcCall
from msmq_wire.records.view import view
from msmq_wire.rpc.decoding import NDR64_SYNTAX, NDR_SYNTAX
from msmq_wire.rpc.events import SyntaxId
from msmq_wire.rpc.interfaces import INTERFACES, NAMED_ONLY
from msmq_wire.rpc.ndr import NDR, NDR64, NDR_BIG_ENDIAN, inspect_stub
from msmq_wire.rpc.ndr.stub import InspectedStub
from msmq_wire.rpc.pdu.encoding import encode_pdu
from msmq_wire.rpc.pdu.values import (
    PFC_FIRST_FRAG,
    PFC_LAST_FRAG,
    AlterContext,
    AlterContextResp,
    Bind,
    BindAck,
    ContextElement,
    ContextResult,
    Fault,
    Pdu,
    Request,
    Response,
)
from msmq_wire.rpc.unseal.negotiation import negotiator
from msmq_wire.rpc.unseal.secrets import Secrets
from msmq_wire.rpc.verification_trailer import SIGNATURE
from tests.effort import share

ROOT = Path(__file__).resolve().parents[3]
SCRIPTS = ROOT / "dissectors" / "msmq_wireshark"
TABLES = SCRIPTS / "msmq_rpc_tables.lua"
CASES = sorted((ROOT / "fixtures" / "rpc").glob("*/*.json"))
CAPTURES = sorted((ROOT / "fixtures" / "rpc_captures").glob("*.pcap*"))
KEYTAB = ROOT / "fixtures" / "rpc_captures" / "rpc_kerberos.keytab"

_MUTATIONS = int(os.environ.get("MSMQ_WIRE_MUTATIONS", "400"))
"""How many stubs, and how many PDUs or so, are mutated."""

_SYNTAXES = {("ndr", "little"): NDR, ("ndr", "big"): NDR_BIG_ENDIAN, ("ndr64", "little"): NDR64}
_IDS = {"ndr": SyntaxId(NDR_SYNTAX, 2, 0), "ndr64": SyntaxId(NDR64_SYNTAX, 1, 0)}
_BIG_ENDIAN = bytes(4)
_LITTLE_ENDIAN = b"\x10\0\0\0"
_KINDS = dict(
    re.findall(r'\["((?:request|response)\.[^"]+)"\] = \{kind = "(\w+)"', TABLES.read_text("utf-8"))
)
_SHOWN_AS_CODE = re.compile(r"(ndr|section_buffer)\.")
# tshark writes these as they are, and an XML reader takes none of them.
_NO_XML = re.compile("[\\0-\\x08\\x0b-\\x1f\\ufffe\\uffff]")

Leaf = tuple[str, Any]


class Conversation:
    """Frames of one TCP connection, client 192.0.2.21, server 192.0.2.10:2103, as a capture.

    ``frames`` are those of other connections in the same capture.
    """

    def __init__(self, port: int = 49200, frames: list[bytes] | None = None) -> None:
        self.frames = [] if frames is None else frames
        self._port = port
        self._sent = [1, 1]

    def send(self, from_server: bool, *pdus: Pdu | bytes) -> int:
        """Send PDUs in one segment; return the number of the frame."""
        payload = b"".join(pdu if isinstance(pdu, bytes) else encode_pdu(pdu) for pdu in pdus)
        hosts, ports = [bytes((192, 0, 2, 21)), bytes((192, 0, 2, 10))], [self._port, 2103]
        if from_server:
            hosts.reverse()
            ports.reverse()
        numbers = self._sent[from_server], self._sent[not from_server]
        self._sent[from_server] += len(payload)
        tcp = struct.pack(">HHIIHHHH", *ports, *numbers, 0x5018, 64240, 0, 0) + payload
        ip = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(tcp), len(self.frames) & 0xFFFF, 0x4000, 64, 6, 0)
        self.frames.append(bytes(12) + b"\x08\0" + ip + b"".join(hosts) + tcp)
        return len(self.frames)

    def save(self, path: Path) -> Path:
        """Write the capture."""
        parts = [struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 0x40000, 1)]
        for number, frame in enumerate(self.frames):
            parts.append(struct.pack("<IIII", 1_700_000_000, number, len(frame), len(frame)) + frame)
        path.write_bytes(b"".join(parts))
        return path


def bound(conversation: Conversation) -> dict[tuple[str, str], int]:
    """Bind every interface in both syntaxes; return the context ids."""
    wanted = [(interface, syntax) for interface in INTERFACES.values() for syntax in _IDS]
    offer = tuple(
        ContextElement(number, SyntaxId(interface.uuid, 1, 0), (_IDS[syntax],))
        for number, (interface, syntax) in enumerate(wanted)
    )
    conversation.send(False, Bind(call_id=1, max_xmit_frag=4280, max_recv_frag=4280, contexts=offer))
    results = tuple(ContextResult(0, 0, _IDS[syntax]) for _, syntax in wanted)
    answer = BindAck(
        call_id=1, max_xmit_frag=4280, max_recv_frag=4280, sec_addr_padding=b"\0\0", results=results
    )
    conversation.send(True, answer)
    return {(interface.name, syntax): number for number, (interface, syntax) in enumerate(wanted)}


def _send(
    conversation: Conversation,
    contexts: Mapping[tuple[str, str], int],
    case: Mapping[str, Any],
    stub: bytes,
    call_id: int,
) -> int:
    """Send a stub as the call of a case, behind an empty request if it is a response; return its frame."""
    context = contexts[case["interface"], case["syntax"]]
    drep = _LITTLE_ENDIAN if case["byte_order"] == "little" else _BIG_ENDIAN
    sent = stub if case["direction"] == "request" else b""
    number = conversation.send(
        False, Request(call_id=call_id, context_id=context, opnum=case["opnum"], packed_drep=drep, stub=sent)
    )
    if case["direction"] == "response":
        answer = Response(call_id=call_id, context_id=context, packed_drep=drep, stub=stub)
        number = conversation.send(True, answer)
    return number


def tshark(capture: Path, *options: str, script: Path = SCRIPTS / "msmq_rpc.lua") -> bytes:
    command = ["tshark", "-n", "-r", str(capture), "-X", f"lua_script:{script}", *options]
    return subprocess.run(command, check=True, capture_output=True).stdout


def dissected(capture: Path, *options: str) -> dict[int, list[ElementTree.Element]]:
    """The trees of the script by frame number."""
    found: dict[int, list[ElementTree.Element]] = {}
    shown = tshark(capture, "-T", "pdml", "-J", "frame msmq_rpc", *options)
    assert b"Lua Error" not in shown
    for packet in ElementTree.fromstring(_NO_XML.sub("?", shown.decode("utf-8"))).iter("packet"):
        number = next(
            field.get("show", "") for field in packet.iter("field") if field.get("name") == "frame.number"
        )
        trees = [proto for proto in packet if proto.get("name") == "msmq_rpc"]
        if trees:
            found[int(number)] = trees
    return found


def shown_in(tree: ElementTree.Element, label: str) -> list[str]:
    """What the fields of a name show, in order."""
    return [field.get("show", "") for field in tree.iter("field") if field.get("name") == f"msmq_rpc.{label}"]


def shown_leaves(tree: ElementTree.Element) -> list[Leaf]:
    """The values of a stub as tshark shows them: (name, value) in order."""
    found: list[Leaf] = []
    for field in tree.iter("field"):
        label = field.get("name", "").removeprefix("msmq_rpc.")
        shown = field.get("show", "")
        if label in ("null", "null_pointee"):
            found.append((label, shown))
        elif _KINDS.get(label, "none") != "none":
            found.append((label, _value(_KINDS[label], shown)))
    return found


def _value(kind: str, shown: str) -> Any:
    if "int" in kind:
        return int(shown, 0)
    return bytes.fromhex(shown.replace(":", "")) if kind == "bytes" else shown


def expected_leaves(value: Any, path: str) -> Iterator[Leaf]:
    """The values of the JSON view as the script has to show them.

    A variant inside a variant has the names of the outer one. What is no format name has no field.
    """
    path = path.replace(".capropvar.p_elems", "", path.count(".capropvar.p_elems.capropvar."))
    if value == {"pointee": None}:
        yield "null_pointee", path
    elif isinstance(value, dict):
        path = re.sub(r"(\.capropvar\.p_elems)+$", "", path)
        for key, one in value.items():
            if not key.endswith("_raw") and (key, one) != ("format_name", None):
                yield from expected_leaves(one, f"{path}.{key}")
    elif isinstance(value, list):
        for one in value:
            yield from expected_leaves(one, path)
    elif value is None:
        yield "null", path
    else:
        yield path, _as_shown(_KINDS[path], value)


def _as_shown(kind: str, value: Any) -> Any:
    if kind == "bytes":
        return base64.b64decode(value)
    # Of text tshark shows what comes before a NUL; an attribute of XML has spaces for what breaks a line.
    if isinstance(value, str):
        return re.sub("[\t\n]", " ", _NO_XML.sub("?", value.partition("\0")[0]))
    return value


def _codes(result: InspectedStub) -> list[str]:
    return sorted(anomaly.code for anomaly in result.anomalies if _SHOWN_AS_CODE.match(anomaly.code))


@pytest.fixture(scope="module")
def cases() -> list[dict[str, Any]]:
    """Every case of the fixtures, with its interface and opnum.

    Callbacks are left out: the dissector cannot tell their opnums from those of methods.
    """
    found = []
    for path in CASES:
        fixture = json.loads(path.read_text(encoding="utf-8"))
        if "callback" in fixture:
            continue
        head = {key: fixture[key] for key in ("interface", "uuid", "opnum", "method")}
        found += [{**case, **head} for case in fixture["cases"]]
    return found


@pytest.fixture(scope="module")
def in_wireshark(
    cases: list[dict[str, Any]], tmp_path_factory: pytest.TempPathFactory
) -> list[ElementTree.Element]:
    """The tree of each case, all of them calls of one connection."""
    conversation = Conversation()
    contexts = bound(conversation)
    numbers = [
        _send(conversation, contexts, case, bytes.fromhex(case["hex"]), call_id)
        for call_id, case in enumerate(cases, 2)
    ]
    trees = dissected(conversation.save(tmp_path_factory.mktemp("calls") / "calls.pcap"))
    return [trees[number][0] for number in numbers]


def _generator() -> Any:
    spec = importlib.util.spec_from_file_location("rpc_tables", SCRIPTS / "rpc_tables.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_the_generated_table_is_what_the_declarations_say() -> None:
    files = _generator().files()
    assert set(files) == {TABLES.name}
    for file, text in files.items():
        assert (SCRIPTS / file).read_text(encoding="utf-8") == text


def test_every_method_has_cases_in_both_directions_and_syntaxes(cases: list[dict[str, Any]]) -> None:
    found = {(case["interface"], case["opnum"], case["direction"], case["syntax"]) for case in cases}
    assert found == {
        (interface.name, opnum, direction, syntax)
        for interface in INTERFACES.values()
        for opnum in interface.methods
        for direction in ("request", "response")
        for syntax in ("ndr", "ndr64")
    }


@pytest.mark.slow
@pytest.mark.tshark
def test_every_stub_has_the_fields_and_values_of_the_json_view(
    cases: list[dict[str, Any]], in_wireshark: list[ElementTree.Element]
) -> None:
    by_uuid = {str(uuid): interface for uuid, interface in INTERFACES.items()}
    for case, tree in zip(cases, in_wireshark, strict=True):
        where = (
            f"{case['method']}, {case['name']}, {case['direction']}, {case['syntax']}, {case['byte_order']}"
        )
        method = by_uuid[case["uuid"]].methods[case["opnum"]]
        syntax = _SYNTAXES[case["syntax"], case["byte_order"]]
        result = inspect_stub(method.parameters(case["direction"]), bytes.fromhex(case["hex"]), syntax)
        assert shown_in(tree, "method") == [case["method"]], where
        assert shown_in(tree, "kind") == [case["direction"]], where
        assert bool(shown_in(tree, "error")) == (result.error is not None), where
        assert sorted(shown_in(tree, "anomaly")) == _codes(result), where
        if result.error is None:
            assert shown_leaves(tree) == list(expected_leaves(view(result.value), case["direction"])), where
            remainder = bytes.fromhex("".join(shown_in(tree, "remainder")).replace(":", ""))
            assert remainder == result.remainder, where


@pytest.mark.slow
@pytest.mark.tshark
def test_cut_stubs_are_errors_in_both_with_what_came_before(
    cases: list[dict[str, Any]], tmp_path: Path
) -> None:
    by_uuid = {str(uuid): interface for uuid, interface in INTERFACES.items()}
    conversation = Conversation()
    contexts = bound(conversation)
    cut = {}
    for call_id, case in enumerate(cases[::9], 2):
        data = bytes.fromhex(case["hex"])
        data = data[: len(data) * (call_id % 10) // 10]
        cut[_send(conversation, contexts, case, data, call_id)] = case, data
    trees = dissected(conversation.save(tmp_path / "cut.pcap"))
    for number, (case, data) in cut.items():
        method = by_uuid[case["uuid"]].methods[case["opnum"]]
        syntax = _SYNTAXES[case["syntax"], case["byte_order"]]
        result = inspect_stub(method.parameters(case["direction"]), data, syntax)
        where = f"{case['method']}, {case['name']}, {case['direction']}, {len(data)} bytes"
        assert bool(shown_in(trees[number][0], "error")) == (result.error is not None), where
        if result.error is None:
            assert shown_leaves(trees[number][0]) == list(
                expected_leaves(view(result.value), case["direction"])
            ), where
        elif result.value is not None:
            whole = inspect_stub(method.parameters(case["direction"]), bytes.fromhex(case["hex"]), syntax)
            leaves = list(expected_leaves(view(whole.value), case["direction"]))
            first = result.error.path.partition(".")[0].partition("[")[0]
            before = [leaf for leaf in leaves if leaf[0].split(".")[1:2] != [first] and leaf[1] != first]
            reached = view(result.value)
            kept = [leaf for leaf in before if leaf[0].partition(".")[2].partition(".")[0] in reached]
            shown = shown_leaves(trees[number][0])
            assert [leaf for leaf in kept if leaf not in shown] == [], where


def _options(facts: Mapping[str, Any]) -> list[str]:
    secrets = facts["secrets"]
    if "password" in secrets:
        return ["-o", f"ntlmssp.nt_password:{secrets['password']}"]
    if "principal" in secrets:
        return ["-K", str(KEYTAB), "-o", "kerberos.decrypt:TRUE"]
    return []


def _unpacked(capture: Path, folder: Path) -> Path:
    if capture.suffix != ".gz":
        return capture
    target = folder / capture.stem
    with gzip.open(capture, "rb") as source, target.open("wb") as file:
        shutil.copyfileobj(source, file)
    return target


def _mutated(data: bytes, source: random.Random) -> bytes:
    """Bytes with a few of them changed, cut, or put in."""
    changed = bytearray(data)
    for _ in range(source.choice((1, 1, 1, 2, 4))):
        at = source.randrange(len(changed) + 1)
        match source.randrange(6):
            case 0 if at < len(changed):
                changed[at] ^= 1 << source.randrange(8)
            case 1 if at < len(changed):
                changed[at] = source.choice((0, 1, 2, 0x7F, 0x80, 0xFF))
            case 2:
                words = (b"\xff" * 4, b"\0\0\0\x80", bytes(4), b"\1\0\0\0", b"\0\0\1\0", b"\x08\0\0\0")
                changed[at & ~3 : (at & ~3) + 4] = source.choice(words)
            case 3:
                del changed[at:]
            case 4:
                changed[at:at] = bytes(source.randrange(1, 9))
            case _:
                changed[at : at + 8] = b"\xff" * 8
    return bytes(changed)


def _without_text(leaves: Iterable[Leaf]) -> list[Leaf]:
    """Leaves without text: how tshark escapes it is its own, and only Python judges direct format names."""
    return [
        (label, "" if isinstance(value, str) and _KINDS.get(label) == "string" else value)
        for label, value in leaves
        if not label.endswith(".format_name")
    ]


@pytest.mark.slow
@pytest.mark.tshark
def test_mutated_stubs_read_alike_and_are_wrong_alike(cases: list[dict[str, Any]], tmp_path: Path) -> None:
    source = random.Random(1801)
    by_uuid = {str(uuid): interface for uuid, interface in INTERFACES.items()}
    conversation = Conversation()
    contexts = bound(conversation)
    sent = {}
    for call_id in range(2, 2 + _MUTATIONS):
        case = source.choice(cases)
        data = _mutated(bytes.fromhex(case["hex"]), source)
        sent[_send(conversation, contexts, case, data, call_id)] = case, data
    trees = dissected(conversation.save(tmp_path / "mutated.pcap"))
    for number, (case, data) in sent.items():
        method = by_uuid[case["uuid"]].methods[case["opnum"]]
        syntax = _SYNTAXES[case["syntax"], case["byte_order"]]
        result = inspect_stub(method.parameters(case["direction"]), data, syntax)
        where = f"{case['method']}, {case['direction']}, {case['syntax']}, {data.hex()}"
        (tree,) = trees[number]
        assert bool(shown_in(tree, "error")) == (result.error is not None), where
        assert sorted(shown_in(tree, "anomaly")) == _codes(result), where
        if result.error is None:
            expected = expected_leaves(view(result.value), case["direction"])
            assert _without_text(shown_leaves(tree)) == _without_text(expected), where


@pytest.mark.slow
@pytest.mark.tshark
def test_mutated_pdus_give_no_error_of_lua(cases: list[dict[str, Any]], tmp_path: Path) -> None:
    source = random.Random(2103)
    frames: list[bytes] = []
    for connection in range(max(1, _MUTATIONS // 20)):
        conversation = Conversation(49152 + connection % 16000, frames)
        whole = Conversation()
        contexts = bound(whole)
        for call_id in range(2, 12):
            case = source.choice(cases)
            _send(whole, contexts, case, bytes.fromhex(case["hex"]), call_id)
        for place, frame in enumerate(whole.frames):
            payload = frame[54:]
            # Most binds stay as they are, so that there is something to look up.
            change = source.randrange(8) == 0 if place < 2 else source.randrange(2)
            conversation.send(frame[34:36] == b"\x08\x37", _mutated(payload, source) if change else payload)
    trees = dissected(conversation.save(tmp_path / "mutated.pcap"))
    assert len(trees) > len(frames) // 4


def _parts(trees: Iterable[ElementTree.Element], call: RpcCall, kinds: tuple[str, ...]) -> list[Any]:
    """The trees of one side of a call; those of its fragments come before the whole."""
    return [
        tree
        for tree in trees
        if shown_in(tree, "kind")[0] in kinds and shown_in(tree, "call_id") == [str(call.call_id)]
    ]


@pytest.mark.slow
@pytest.mark.tshark
@pytest.mark.parametrize("capture", share(CAPTURES, 4), ids=lambda path: path.name)
def test_recorded_calls_have_the_values_that_python_reads(capture: Path, tmp_path: Path) -> None:
    facts = json.loads((capture.parent / f"{capture.name.partition('.')[0]}.json").read_text("utf-8"))
    passwords = [facts["secrets"]["password"]] if "password" in facts["secrets"] else []
    given = negotiator(Secrets.of(passwords=passwords, keytabs=[KEYTAB.read_bytes()]))
    records = [
        record
        for record in read_capture(str(capture), negotiator=given)
        if isinstance(record.packet, RpcCall)
    ]
    records.sort(key=lambda record: (record.stream, record.packet.call_id))
    known = sorted(facts["calls"], key=lambda call: call["connection"])
    trees = dissected(_unpacked(capture, tmp_path), *_options(facts))
    for record, fact in zip(records, known, strict=True):
        call = record.packet
        own = [tree for frame in record.frames for tree in trees.get(frame, ())]
        for side, kinds in (("request", ("request",)), ("response", ("response", "fault"))):
            # How tshark opened it is one of the facts: behind an empty sealed stub it loses its place.
            seen = fact["tshark"][side]
            if seen not in ("equal", "longer", "fault"):
                continue
            tree = _parts(own, call, kinds)[-1]
            assert shown_in(tree, "interface") == [call.interface]
            assert shown_in(tree, "method") == [call.method] == [fact["method"]]
            assert shown_in(tree, "sealed") == []
            # What numbers of qmcomm stand for, and handles of calls that are sealed, only Python follows.
            assert shown_in(tree, "queue") in ([], [call.queue])
            if side == "response":
                statuses = [] if call.status is None else [call.status]
                assert [int(one, 0) for one in shown_in(tree, "status")] == statuses
            if seen != "fault":
                leaves = list(expected_leaves(view(getattr(call, side)), side))
                assert shown_leaves(tree) == leaves
                assert shown_in(tree, "error") == []


@pytest.mark.slow
@pytest.mark.tshark
def test_without_a_key_calls_are_said_to_be_sealed() -> None:
    trees = dissected(ROOT / "fixtures" / "rpc_captures" / "rpc_ntlm_privacy.pcap")
    calls = [tree for found in trees.values() for tree in found if shown_in(tree, "kind") != ["bind"]]
    assert calls
    for tree in calls:
        # R_GetServerPort has no parameters, so nothing is sealed.
        empty = shown_in(tree, "method") + shown_in(tree, "kind") == ["R_GetServerPort", "request"]
        # Newer tsharks write True for 1.
        assert [word.replace("True", "1") for word in shown_in(tree, "sealed")] == ([] if empty else ["1"])
        assert shown_leaves(tree) == []
        assert shown_in(tree, "method")[0].startswith("R_")


@pytest.mark.slow
@pytest.mark.tshark
def test_requests_and_responses_link_to_each_other_in_the_second_pass() -> None:
    capture = ROOT / "fixtures" / "rpc_captures" / "rpc_faults_and_fragments.pcap"
    once, twice = dissected(capture), dissected(capture, "-2")
    links = {
        label: {
            (number, int(other))
            for number, trees in twice.items()
            for tree in trees
            for other in shown_in(tree, label)
        }
        for label in ("request_in", "response_in")
    }
    assert links["request_in"]
    # Every fragment of a request has a link, the response has one to the last of them.
    assert {(request, response) for response, request in links["request_in"]} <= links["response_in"]
    for number, trees in once.items():
        for first, second in zip(trees, twice[number], strict=True):
            assert shown_leaves(first) == shown_leaves(second)
            for label in ("interface", "method", "syntax", "status", "queue", "anomaly", "error"):
                assert shown_in(first, label) == shown_in(second, label)


def _open_queue(syntax: str) -> bytes:
    fixture = json.loads((ROOT / "fixtures" / "rpc" / "remote_read" / "r_open_queue.json").read_text("utf-8"))
    found = next(
        case
        for case in fixture["cases"]
        if (case["direction"], case["syntax"], case["byte_order"]) == ("request", syntax, "little")
    )
    return bytes.fromhex(found["hex"])


@pytest.mark.slow
@pytest.mark.tshark
def test_a_context_means_what_was_negotiated_last_before_the_call(tmp_path: Path) -> None:
    (remote_read,) = (one for one in INTERFACES.values() if one.name == "RemoteRead")
    (qmcomm,) = (one for one in INTERFACES.values() if one.name == "qmcomm")
    conversation = Conversation()
    stubs = {"ndr": _open_queue("ndr"), "ndr64": _open_queue("ndr64")}
    expected = {}

    def offer(kind: type[Bind], call_id: int, uuid: Any, *syntaxes: str, context: int = 0) -> None:
        elements = (
            ContextElement(context, SyntaxId(uuid, 1, 0), tuple(_IDS[syntax] for syntax in syntaxes)),
        )
        conversation.send(
            False, kind(call_id=call_id, max_xmit_frag=4280, max_recv_frag=4280, contexts=elements)
        )

    def answer(kind: type[BindAck], call_id: int, result: int, syntax: str) -> None:
        results = (ContextResult(result, 0, _IDS[syntax]),)
        conversation.send(True, kind(call_id=call_id, sec_addr_padding=b"\0\0", results=results))

    def call(call_id: int, opnum: int, stub: bytes, *want: str, context: int = 0) -> None:
        request = Request(call_id=call_id, context_id=context, opnum=opnum, stub=stub)
        expected[conversation.send(False, request)] = want

    offer(Bind, 1, remote_read.uuid, "ndr", "ndr64")
    answer(BindAck, 1, 0, "ndr64")
    call(2, 2, stubs["ndr64"], "RemoteRead", "R_OpenQueue", "ndr64")
    offer(AlterContext, 3, qmcomm.uuid, "ndr", context=1)
    answer(AlterContextResp, 3, 0, "ndr")
    call(4, 9, b"", "qmcomm", "R_QMDeleteObject", "ndr", context=1)
    call(5, 2, stubs["ndr64"], "RemoteRead", "R_OpenQueue", "ndr64")
    offer(AlterContext, 6, qmcomm.uuid, "ndr", context=0)
    answer(AlterContextResp, 6, 0, "ndr")
    call(7, 9, b"", "qmcomm", "R_QMDeleteObject", "ndr")
    offer(AlterContext, 8, remote_read.uuid, "ndr", context=1)
    answer(AlterContextResp, 8, 2, "ndr")
    refused = conversation.send(False, Request(call_id=9, context_id=1, opnum=2, stub=stubs["ndr"]))
    for options in ((), ("-2",)):
        trees = dissected(conversation.save(tmp_path / "contexts.pcap"), *options)
        for number, want in expected.items():
            (tree,) = trees[number]
            assert tuple(shown_in(tree, label)[0] for label in ("interface", "method", "syntax")) == want
        assert refused not in trees


@pytest.mark.slow
@pytest.mark.tshark
def test_pdus_of_one_frame_keep_their_own_stubs(tmp_path: Path) -> None:
    conversation = Conversation()
    context = bound(conversation)["RemoteRead", "ndr"]
    stub = _open_queue("ndr")
    number = conversation.send(
        False,
        Request(call_id=2, context_id=context, opnum=0),
        Request(call_id=3, context_id=context, opnum=2, stub=stub),
        Request(call_id=4, context_id=context, opnum=4, stub=bytes(range(20))),
    )
    answers = conversation.send(
        True,
        Response(call_id=2, context_id=context, stub=b"\x37\x08\0\0"),
        Fault(call_id=3, context_id=context, status=0xC00E0003),
        Response(call_id=4, context_id=context, stub=bytes(range(8))),
    )
    trees = dissected(conversation.save(tmp_path / "several.pcap"))
    assert [shown_in(tree, "method") for tree in trees[number]] == [
        ["R_GetServerPort"],
        ["R_OpenQueue"],
        ["R_CreateCursor"],
    ]
    first, second, third = (shown_leaves(tree) for tree in trees[number])
    assert first == []
    assert ("request.p_queue_format.m_qft", stub[0]) in second
    assert third == [
        ("request.ph_context.attributes", 0x03020100),
        ("request.ph_context.uuid", "07060504-0908-0b0a-0c0d-0e0f10111213"),
    ]
    assert [shown_leaves(tree) for tree in trees[answers]] == [
        [("response.return_value", 2103)],
        [],
        [("response.ph_cursor", 0x03020100), ("response.status", 0x07060504)],
    ]
    assert shown_in(trees[answers][1], "status") == ["0xc00e0003"]


@pytest.mark.slow
@pytest.mark.tshark
def test_fragments_are_read_once_they_are_whole(tmp_path: Path) -> None:
    conversation = Conversation()
    context = bound(conversation)["RemoteRead", "ndr"]
    stub = _open_queue("ndr")
    flags = [PFC_FIRST_FRAG, 0, PFC_LAST_FRAG]
    pieces = [stub[:16], stub[16:24], stub[24:]]
    fragments = [
        Request(call_id=2, context_id=context, opnum=2, stub=piece, pfc_flags=flag)
        for piece, flag in zip(pieces, flags, strict=True)
    ]
    first = conversation.send(False, fragments[0])
    last = conversation.send(False, *fragments[1:])
    trees = dissected(conversation.save(tmp_path / "fragments.pcap"))
    assert [shown_leaves(tree) for tree in (*trees[first], trees[last][0])] == [[], []]
    (remote_read,) = (one for one in INTERFACES.values() if one.name == "RemoteRead")
    expected = view(inspect_stub(remote_read.methods[2].request, stub).value)
    assert shown_leaves(trees[last][1]) == list(expected_leaves(expected, "request"))


@pytest.mark.slow
@pytest.mark.tshark
def test_a_verification_trailer_is_no_part_of_the_parameters(tmp_path: Path) -> None:
    trailer = SIGNATURE + bytes.fromhex("0140 0400 01000000")
    conversation = Conversation()
    context = bound(conversation)["RemoteRead", "ndr"]
    request = Request(call_id=2, context_id=context, opnum=4, stub=bytes(20) + trailer)
    number = conversation.send(False, request)
    (tree,) = dissected(conversation.save(tmp_path / "trailer.pcap"))[number]
    assert shown_in(tree, "remainder") == shown_in(tree, "error") == []
    # tshark itself takes a trailer away where it finds one; what is left of it is shown as such.
    found = "".join(shown_in(tree, "verification_trailer")).replace(":", "")
    assert bytes.fromhex(found) in (b"", trailer)
    assert len(shown_leaves(tree)) == 2


@pytest.mark.slow
@pytest.mark.tshark
@pytest.mark.parametrize("stem", ["rpc_sections", "rpc_none_ndr", "rpc_none_ndr64", "rpc_qmcomm_qm2qm"])
def test_messages_in_calls_go_to_the_dissector_of_packets(stem: str) -> None:
    capture = ROOT / "fixtures" / "rpc_captures" / f"{stem}.pcap"
    kind = "user_message" if "qm2qm" in stem else "message_packet"
    messages = [record for record in read_capture(str(capture)) if record.type == kind]
    expected = [
        (str(record.frames[-1]), record.packet.message_properties_header.label.text) for record in messages
    ]
    fields = ["-T", "fields", "-e", "frame.number", "-e", "msmq.message_properties_header.label"]
    both = ["-X", f"lua_script:{SCRIPTS / 'msmq.lua'}", *fields]
    shown = tshark(capture, *both, "-Y", "msmq.message_properties_header").decode("utf-8")
    assert expected
    assert [tuple(line.split("\t")) for line in shown.splitlines()] == expected
    types = tshark(capture, *both, "-e", "msmq.type", "-Y", "msmq.message_properties_header").decode()
    assert {line.split("\t")[2] for line in types.splitlines()} == {kind}


@pytest.mark.slow
@pytest.mark.tshark
def test_an_interface_without_parameters_here_is_named(tmp_path: Path) -> None:
    uuid, label = next(iter(NAMED_ONLY.items()))
    conversation = Conversation()
    offer = ContextElement(0, SyntaxId(uuid, 1, 0), (_IDS["ndr"],))
    conversation.send(False, Bind(call_id=1, contexts=(offer,)))
    result = ContextResult(0, 0, _IDS["ndr"])
    conversation.send(True, BindAck(call_id=1, sec_addr_padding=b"\0\0", results=(result,)))
    number = conversation.send(False, Request(call_id=2, opnum=3, stub=bytes(12)))
    capture = conversation.save(tmp_path / "named.pcap")
    (tree,) = dissected(capture)[number]
    assert (shown_in(tree, "interface"), shown_in(tree, "opnum")) == ([label], ["3"])
    assert not shown_in(tree, "method")
    assert not shown_leaves(tree)
    assert f"{label} opnum 3 request" in tshark(capture).decode("utf-8")


@pytest.mark.slow
@pytest.mark.tshark
def test_the_info_column_tells_method_queue_and_status() -> None:
    shown = tshark(ROOT / "fixtures" / "rpc_captures" / "rpc_none_ndr.pcap").decode("utf-8")
    queue = r"DIRECT=OS:srv01.corp.example\private$\orders"
    assert f"R_StartReceive request, {queue}\n" in shown
    assert f"R_StartReceive response, {queue}, MQ_OK\n" in shown
    assert f"R_StartReceive response, {queue}, MQ_ERROR_IO_TIMEOUT\n" in shown
    assert "MSMQ-RPC" in shown


@pytest.mark.slow
@pytest.mark.tshark
def test_null_is_an_anomaly_where_the_size_of_its_array_is_a_later_parameter(tmp_path: Path) -> None:
    conversation = Conversation()
    context = bound(conversation)["dscomm", "ndr"]
    numbers = [
        # S_DSSetObjectSecurityGuid: kind of object, identifier, parts, no descriptor, its length.
        conversation.send(
            False,
            Request(
                call_id=2 + length,
                context_id=context,
                opnum=14,
                stub=struct.pack("<I16xIII", 1, 4, 0, length),
            ),
        )
        for length in (0, 5)
    ]
    trees = dissected(conversation.save(tmp_path / "later.pcap"))
    assert [shown_in(trees[number][0], "anomaly") for number in numbers] == [[], ["ndr.null-array"]]


@pytest.mark.slow
@pytest.mark.tshark
def test_sections_that_claim_much_cost_little_and_show_what_is_there(tmp_path: Path) -> None:
    conversation = Conversation()
    context = bound(conversation)["RemoteRead", "ndr"]
    conversation.send(False, Request(call_id=2, context_id=context, opnum=7, stub=bytes(56)))
    count = 0xFFFFFFFF
    head = struct.pack("<IIQII", 1, 0, 2, count, 0x20000)
    number = conversation.send(
        True, Response(call_id=2, context_id=context, stub=head + struct.pack("<II", count, 1))
    )
    (tree,) = dissected(conversation.save(tmp_path / "claims.pcap"))[number]
    assert shown_in(tree, "error") == ["missing-bytes"]
    assert shown_leaves(tree) == [
        ("response.pdw_arrive_time", 1),
        ("response.p_sequence_id", 2),
        ("response.pdw_number_of_sections", count),
    ]
