# SPDX-License-Identifier: GPL-2.0-or-later
"""`register` makes scapy dissect MSMQ by itself, `unregister` undoes it; both may be called twice.

The rule kept here: nothing is bound at import, and everything that is bound is unbound again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

from scapy.layers import dcerpc
from scapy.layers.inet import TCP, UDP
from scapy.packet import bind_bottom_up, bind_top_down, split_bottom_up, split_top_down

from msmq_scapy.declarations import recognised
from msmq_scapy.packets import MSMQ, packet_class
from msmq_scapy.stubs import stub_class
from msmq_wire.reassembly.packet_framer import is_credible
from msmq_wire.records.endpoint import MSMQ_PORT, PING_PORT
from msmq_wire.rpc.interfaces import INTERFACES
from msmq_wire.rpc.pdu.decoding import is_credible as starts_pdu
from msmq_wire.wire.headers.topology_packet_header import DISCOVERY
from msmq_wire.wire.packets.message_packet import MessagePacket
from msmq_wire.wire.packets.ping import Ping
from msmq_wire.wire.registry import PACKETS

__all__ = ["register", "unregister"]

_Undo = Callable[[], None]
_interface: Any = dcerpc.DceRpcInterface
_undoing: list[_Undo] = []
"""What takes back each step of the registration, in order."""


def register() -> None:
    """Bind MSMQ to TCP 1801, UDP 3527 and UDP 1801, both directions, and to payloads that begin like one of
    its packets on other ports; let DCE/RPC be found on any port, and its sessions decode stubs of MSMQ."""
    if _undoing:
        return
    for lower, port in ((TCP, MSMQ_PORT), (UDP, PING_PORT)):
        for side in ("sport", "dport"):
            bind_bottom_up(lower, MSMQ, **{side: port})
            _undoing.append(_splitter(split_bottom_up, lower, MSMQ, {side: port}))
    for kind in PACKETS.values():
        if kind is MessagePacket:
            continue
        # With one port of a datagram left to scapy it would be that of DNS, which then comes first.
        upper, port = packet_class(kind), PING_PORT if kind is Ping else MSMQ_PORT
        lower, ports = (
            (UDP, {"sport": port, "dport": port})
            if kind is Ping or kind.stem() in DISCOVERY.values()
            else (TCP, {"dport": port})
        )
        bind_top_down(lower, upper, **ports)
        _undoing.append(_splitter(split_top_down, lower, upper, ports))
    _watch_content(TCP, _tcp_content)
    _watch_content(UDP, _udp_content)
    _register_interfaces()


def unregister() -> None:
    """Undo `register`."""
    while _undoing:
        _undoing.pop()()


def _tcp_content(lower: Any, data: bytes) -> Any:
    if is_credible(data) and recognised(data) is not None:
        return MSMQ
    return dcerpc.DceRpc if starts_pdu(data) else None


def _udp_content(lower: Any, data: bytes) -> Any:
    if MSMQ_PORT in (lower.sport, lower.dport) and data[:4] in DISCOVERY:
        return packet_class(PACKETS[DISCOVERY[data[:4]]])
    whole = len(data) == Ping.schema().sizeof()
    return MSMQ if whole and recognised(data) is Ping else None


def _splitter(split: Callable[..., Any], lower: Any, upper: Any, values: dict[str, int]) -> _Undo:
    return lambda: split(lower, upper, **values)


def _watch_content(lower: Any, class_of: Callable[[Any, bytes], Any]) -> None:
    """Where no port tells what a payload is, let its bytes tell."""
    before = lower.__dict__.get("default_payload_class")
    inherited = lower.default_payload_class

    def default_payload_class(self: Any, payload: bytes) -> Any:
        return class_of(self, payload) or inherited(self, payload)

    def undo() -> None:
        if lower.__dict__.get("default_payload_class") is not default_payload_class:
            return
        if before is None:
            del lower.default_payload_class
        else:
            lower.default_payload_class = before

    lower.default_payload_class = default_payload_class
    _undoing.append(undo)


def _register_interfaces() -> None:
    by_uuid, names, uuids = (
        dcerpc.DCE_RPC_INTERFACES,
        dcerpc.DCE_RPC_INTERFACES_NAMES,
        dcerpc.DCE_RPC_INTERFACES_NAMES_rev,
    )
    for interface in INTERFACES.values():
        uuid = UUID(str(interface.uuid))
        opnums = {}
        for opnum, method in interface.methods.items():
            request, response = stub_class(method.name, "request"), stub_class(method.name, "response")
            opnums[opnum] = dcerpc.DceRpcOp(request, response)
            bind_top_down(dcerpc.DceRpc5Request, request, opnum=opnum)
            _undoing.append(_splitter(split_top_down, dcerpc.DceRpc5Request, request, {"opnum": opnum}))
        made = _interface(interface.name, uuid, (1, 0), 1, opnums)
        # Others may have registered an interface with the same UUID: theirs comes back afterwards.
        for table, key, value in ((by_uuid, (uuid, 1), made), (names, uuid, interface.name)):
            _undoing.append(_restorer(table, key))
            table[key] = value
        _undoing.append(_restorer(uuids, interface.name.lower()))
        uuids[interface.name.lower()] = uuid


def _restorer(table: dict[Any, Any], key: Any) -> _Undo:
    if key in table:
        before = table[key]
        return lambda: table.__setitem__(key, before)

    def remove() -> None:
        table.pop(key, None)

    return remove
