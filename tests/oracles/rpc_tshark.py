"""The stubs that tshark sees, against the facts beside a capture.

``python tests/oracles/rpc_tshark.py CAPTURE FACTS [--password TEXT] [--keytab FILE]``

Prints a JSON list with an entry for each call of FACTS: ``{connection, method, call_id, request, response}``.
The last two say how tshark's stub compares: ``"equal"``, ``"longer"`` (the plain stub, and octets behind it:
a verification trailer or padding), ``"sealed"`` (not opened), ``"other"``, ``"absent"`` (no stub is shown) or
``"fault"``; a call that is not answered has null. Needs tshark 4.0 or newer on PATH.
"""

from __future__ import annotations

import argparse
import io
import json
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

_REQUEST, _RESPONSE, _FAULT = 0, 2, 3
_STUBS = ("dcerpc.stub_data", "dcerpc.decrypted_stub_data", "dcerpc.encrypted_stub_data")


@dataclass
class Pdu:
    """A PDU as tshark dissects it: its stubs in the order they are shown."""

    stream: int
    kind: int = -1
    flags: int = 0
    call_id: int = 0
    opnum: int = -1
    stubs: list[tuple[str, bytes]] = field(default_factory=list)


def _read(pdu: Pdu, name: str, element: ElementTree.Element) -> None:
    show, value = element.get("show", ""), element.get("value", "")
    if name == "dcerpc.pkt_type":
        pdu.kind = int(show)
    elif name == "dcerpc.cn_flags":
        pdu.flags = int(show, 16)
    elif name == "dcerpc.cn_call_id":
        pdu.call_id = int(show)
    elif name == "dcerpc.opnum":
        pdu.opnum = int(show)
    elif name in _STUBS and value:
        pdu.stubs.append((name, bytes.fromhex(value)))


def _pdus(document: bytes) -> list[Pdu]:
    found: list[Pdu] = []
    stream, current = -1, None
    for event, element in ElementTree.iterparse(io.BytesIO(document), events=("start", "end")):
        name = element.get("name", "")
        if event == "start" and element.tag == "proto" and name == "dcerpc":
            current = Pdu(stream)
            found.append(current)
        elif event == "start" and element.tag == "packet":
            current = None
        elif event == "start" and name == "tcp.stream":
            stream = int(element.get("show", "-1"))
        elif event == "start" and element.tag == "field" and current is not None:
            _read(current, name, element)
        elif event == "end" and element.tag == "packet":
            element.clear()
    return [pdu for pdu in found if pdu.kind in (_REQUEST, _RESPONSE, _FAULT)]


def dissected(capture: Path, password: str | None, keytab: Path | None) -> list[Pdu]:
    """The requests, responses and faults of a capture, in order."""
    command = ["tshark", "-r", str(capture), "-T", "pdml", "-Y", "dcerpc"]
    if password is not None:
        command += ["-o", f"ntlmssp.nt_password:{password}"]
    if keytab is not None:
        command += ["-K", str(keytab), "-o", "kerberos.decrypt:TRUE"]
    return _pdus(subprocess.run(command, check=True, capture_output=True).stdout)


def _stub(fragments: list[Pdu]) -> bytes | None:
    """What is shown as the stub of a call: on its last fragment, the last one that is not sealed."""
    stubs = [stub for stub in fragments[-1].stubs if stub[0] != "dcerpc.encrypted_stub_data"]
    return stubs[-1][1] if stubs else None


def _compared(fragments: list[Pdu], expected: bytes) -> str:
    seen = _stub(fragments)
    if seen is None:
        return "sealed" if fragments[-1].stubs else "equal" if not expected else "absent"
    if seen == expected:
        return "equal"
    return "longer" if seen.startswith(expected) and len(seen) <= len(expected) + 80 else "other"


def compare(pdus: list[Pdu], calls: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """How every call of the facts looks in the dissection."""
    by_call: dict[tuple[int, bool, int], list[Pdu]] = {}
    order: dict[int, list[int]] = {}
    for pdu in pdus:
        key = pdu.stream, pdu.kind == _REQUEST, pdu.call_id
        if pdu.kind == _REQUEST and key not in by_call:
            order.setdefault(pdu.stream, []).append(pdu.call_id)
        by_call.setdefault(key, []).append(pdu)
    found = []
    for call in calls:
        stream = call["connection"]
        call_id = order[stream].pop(0)
        requests, answers = (by_call.get((stream, sent, call_id), []) for sent in (True, False))
        answer = None
        if answers and answers[0].kind == _FAULT:
            answer = "fault"
        elif answers:
            answer = _compared(answers, bytes.fromhex(call["response_hex"]))
        found.append(
            {
                "connection": stream,
                "method": call["method"],
                "call_id": call_id,
                "request": _compared(requests, bytes.fromhex(call["request_hex"])),
                "response": answer,
            }
        )
    return found


def main() -> None:
    """Compare one capture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("capture", type=Path)
    parser.add_argument("facts", type=Path)
    parser.add_argument("--password")
    parser.add_argument("--keytab", type=Path)
    options = parser.parse_args()
    facts = json.loads(options.facts.read_text(encoding="utf-8"))
    pdus = dissected(options.capture, options.password, options.keytab)
    json.dump(compare(pdus, facts["calls"]), sys.stdout, indent=1)


if __name__ == "__main__":
    main()
