"""`Facts`: what a diagnosis collects from records, beyond sessions and lives.

The rule kept here: facts are counters and limited lists, never records. Items over a limit are counted.
"""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import Any

import msgspec

from msmq_wire.detection.diagnosis.bodies import FIRST, Bodies, BodyKind
from msmq_wire.detection.diagnosis.inventory import Inventory
from msmq_wire.detection.diagnosis.managed import ManagementAnswers
from msmq_wire.detection.diagnosis.phrases import port
from msmq_wire.detection.diagnosis.returns import Returns
from msmq_wire.detection.diagnosis.security_counts import Security
from msmq_wire.records.endpoint import host_of
from msmq_wire.records.record import Record, is_read
from msmq_wire.records.rpc_packets import RpcBind, RpcCall
from msmq_wire.records.run import Run, bounds
from msmq_wire.rpc.interfaces import Role
from msmq_wire.sessions import Moment
from msmq_wire.sessions.followed_message import moment_of
from msmq_wire.wire.headers.extended_address_header import ExtendedAddressHeader
from msmq_wire.wire.headers.user_header import AddressOverlay, address_text

_MOST_PORTS = 256
_MOST_PAIRS = 256
_MOST_ADDRESSES = 256
_MESSAGES = frozenset(("user_message", "message_packet", "transfer_buffer", "srmp_message"))
_BROUGHT = frozenset(("message_packet", "transfer_buffer"))
_NO_MSMQ = frozenset(("gap", "tcp_stream", "error"))
_CUT = "missing-bytes"


class PortUse(msgspec.Struct):
    """A port of servers: its protocols, its clients, and where it was seen first."""

    first: Moment
    count: int = 0
    pairs: dict[tuple[str, str], int] = {}


class Facts:
    """Takes all records of a run, in order of their ids.

    ``captures`` are the first record ids and the names of the files. ``records`` counts those of MSMQ,
    ``gaps`` the places where bytes are missing from the capture, ``missing`` how many are known to be,
    ``cut`` packets that end early, ``brought`` the messages that calls carry.
    ``calls`` and ``sealed`` count calls and those that no key opens. ``ports`` are those of calls and HTTP by
    (port, role); ``tried`` the ports whose SYN was seen. ``addresses`` are the hosts that
    ExtendedAddressHeader and QueueManagerAddress name. ``levels`` counts binds by authentication level.
    ``bodies``, ``security``, ``inventory``, ``returns`` and ``managed`` are what questions 11, 10, 18, 15 and
    2 with 14 need. The first three take most of the time and name no cause: without ``contents`` they stay
    empty, and of packets that a run has by column nothing is counted.
    """

    def __init__(self, *, contents: bool = True) -> None:
        self._contents = contents
        self.captures: list[tuple[int, str]] = []
        self.gaps = 0
        self.missing = 0
        self.first_gap: Moment | None = None
        self.cut = 0
        self.brought = 0
        self.records = 0
        self.calls = self.sealed = 0
        self.first_sealed: Moment | None = None
        self.ports: dict[tuple[int, str], PortUse] = {}
        self.tried: dict[int, PortUse] = {}
        self.named_ports: dict[tuple[str, int], Moment] = {}
        self.addresses: dict[tuple[str, str], Moment] = {}
        self.levels: Counter[int] = Counter()
        self.bodies = Bodies()
        self.security = Security()
        self.inventory = Inventory()
        self.returns = Returns()
        self.managed = ManagementAnswers()

    def feed(self, record: Record) -> None:
        """Take the next record."""
        self._begin(record.id, record.capture)
        looks = self._contents and record.type in _MESSAGES
        self._feed(record, self.bodies.feed(record) if looks else None)

    def take(self, run: Run) -> None:
        """Take a whole run; the result is that of feeding its records."""
        if not self._contents:
            self._begin(bounds(run)[0], run.capture)
            for record in run.others:
                self._feed(record, None)
            return
        # Loads numpy, as whoever has a run did.
        from msmq_wire.detection.diagnosis.message_groups import GroupedMessages

        grouped, ids = GroupedMessages(run, FIRST), run.id
        singles = {record.id: record for record in (*map(run.record, grouped.rest), *run.others)}
        first, last = bounds(run)
        self._begin(first, run.capture)
        self.records += last + 1 - first - len(singles)
        # Who is first of something is kept: so what is alike comes where its first one does.
        kinds: dict[int, BodyKind | None] = {}
        found: list[BodyKind | None] = [None] * len(grouped.looks)
        looked = {int(ids[group.first]): (display, group) for display, group in grouped.looked()}
        messages = {number for number, record in singles.items() if record.type in _MESSAGES}
        for number in sorted(messages | looked.keys()):
            if number in messages:
                kinds[number] = self.bodies.feed(singles[number])
                continue
            display, group = looked[number]
            looks = grouped.looks[display]
            if looks is None:
                self.bodies.empty += group.count
            else:
                example = partial(run.record, group.first)
                found[display] = self.bodies.add(looks, example, group.count, group.total, group.cut)
        known = {id(kind): kind for kind in found}
        of_numbers, numbers = [*known.values()], {kind: number for number, kind in enumerate(known)}
        shaped = grouped.shaped([numbers[id(kind)] for kind in found])
        groups = {int(ids[group.first]): (kind, group) for kind, group in shaped}
        for number in sorted(singles.keys() | groups.keys()):
            if number in singles:
                self._feed(singles[number], kinds.get(number))
                continue
            kind, group = groups[number]
            record, end = run.record(group.first), group.last
            self.security.feed(record, group.count)
            time = int(run.time[end]) or None
            moment = Moment(int(ids[end]), int(run.carriers[run.last[end] - 1]), time)
            more = moment, group.count, group.total, group.smallest, group.largest
            self.inventory.feed(record, moment_of(record), of_numbers[kind], more)

    def _begin(self, number: int, capture: str) -> None:
        if not self.captures or self.captures[-1][1] != capture:
            self.captures.append((number, capture))

    def _feed(self, record: Record, kind: BodyKind | None) -> None:
        """Take a record; ``kind`` is the kind of the message body."""
        type_ = record.type
        self.records += type_ not in _NO_MSMQ
        if record.error is not None and record.error.code == _CUT:
            self.cut += 1
        if type_ in _MESSAGES:
            self._message(record, kind)
        elif type_ == "srmp_receipt":
            if record.parent is None:
                self._use(self.ports, (port(record.dst or "") or 0, "receipts over HTTP (SRMP)"), record)
        elif type_ == "gap":
            if record.missing != 0 and record.stream is not None:
                self.gaps += 1
                self.missing += record.missing or 0
                self.first_gap = self.first_gap or moment_of(record)
        elif type_ == "tcp_stream":
            if record.event == "syn":
                self._use(self.tried, port(record.dst or "") or 0, record)
        elif type_ == "rpc_call":
            self._call(record)
        elif type_ == "rpc_bind":
            self._bind(record)

    def _message(self, record: Record, kind: BodyKind | None) -> None:
        moment = moment_of(record)
        self.brought += record.type in _BROUGHT
        if self._contents:
            self.security.feed(record)
            self.inventory.feed(record, moment, kind)
        if record.type == "srmp_message":
            if record.parent is None:
                self._use(self.ports, (port(record.dst or "") or 0, "messages over HTTP (SRMP)"), record)
            return
        if is_read(record):
            self.returns.message(record, moment)
            header = getattr(record.packet, "extended_address_header", None)
            if isinstance(header, ExtendedAddressHeader):
                self._address("ExtendedAddressHeader", header, record)
            user = getattr(record.packet, "user_header", None)
            overlay = getattr(user, "queue_manager_address", None)
            if isinstance(overlay, AddressOverlay):
                self._address("QueueManagerAddress", overlay, record)

    def _address(self, header: str, holder: AddressOverlay | ExtendedAddressHeader, record: Record) -> None:
        if not isinstance(holder.address, bytes) or not any(holder.address):
            return
        text = address_text(holder.address_type, holder.address)
        if text and len(self.addresses) < _MOST_ADDRESSES:
            self.addresses.setdefault((header, text), moment_of(record))

    def _call(self, record: Record) -> None:
        call = record.packet
        if not isinstance(call, RpcCall):
            return
        self.calls += 1
        self.returns.call(record, call, moment_of(record))
        self.managed.call(record, call, moment_of(record))
        if call.sealed:
            self.sealed += 1
            self.first_sealed = self.first_sealed or moment_of(record)
        number = port(record.dst or "") or 0
        self._use(self.ports, (number, f"calls of {call.interface}"), record)
        named = getattr(call.response, "return_value", None)
        if call.role is not Role.ASK_PORT or not isinstance(named, int) or not 0 < named < 0x10000:
            return
        if len(self.named_ports) < _MOST_PORTS:
            self.named_ports.setdefault((call.method or "", named), moment_of(record))

    def _bind(self, record: Record) -> None:
        bind = record.packet
        if not isinstance(bind, RpcBind):
            return
        self.levels[bind.auth_level] += 1
        for context in bind.contexts[:16]:
            self._use(self.ports, (port(record.dst or "") or 0, f"calls of {context.interface}"), record, 0)

    @staticmethod
    def _use(uses: dict[Any, PortUse], key: Any, record: Record, times: int = 1) -> None:
        use = uses.get(key)
        if use is None:
            if len(uses) >= _MOST_PORTS:
                return
            use = uses[key] = PortUse(first=moment_of(record))
        use.count += times
        pair = host_of(record.src), host_of(record.dst)
        if pair in use.pairs or len(use.pairs) < _MOST_PAIRS:
            use.pairs[pair] = use.pairs.get(pair, 0) + times
