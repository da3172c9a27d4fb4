"""Transport payloads in, packets and records out: composes reassembly and framing.

The rule kept here: a connection is followed if it is on an MSMQ port or looks like MSMQ; what is not
followed is counted. Memory is bounded whatever comes in.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from msmq_wire.engines.codec import inspect
from msmq_wire.reassembly.tcp import TcpReassembler
from msmq_wire.reassembly.tcp_events import (
    Direction,
    Endpoints,
    StreamBytes,
    StreamConflict,
    StreamEvent,
    StreamGap,
    TcpEvent,
    TcpSegment,
)
from msmq_wire.reassembly.tcp_evidence import TooBigEvidence
from msmq_wire.records.endpoint import MSMQ_PORT, PING_PORT, RPC_PORTS, endpoint
from msmq_wire.records.networks import Networks, address_of
from msmq_wire.records.other_ports import OtherPorts
from msmq_wire.records.packet_reader import PacketReader
from msmq_wire.records.proxy_header import HEADER_BEGINS, Front, ProxyHeaders
from msmq_wire.records.recognition import Content, Ports, check_ports, content_of, datagram_kind
from msmq_wire.records.record import FoundPacket, Item, Record
from msmq_wire.rpc.pdu_protection import Negotiator
from msmq_wire.wire.headers.base_header import SIGNATURE
from msmq_wire.wire.packets.ping import PING_SIGNATURE

if TYPE_CHECKING:
    from msmq_wire.records.rpc_reader import RpcReader
    from msmq_wire.records.srmp_reader import SrmpReader

_PROXIED = "with a PROXY header in front: column proxied_client names the client, by the sender's word"
_PING = PING_SIGNATURE.to_bytes(2, "little")
_PACKET = SIGNATURE.to_bytes(4, "little")
_MAX_CARRIED = 1 << 17
"""Frames of fragments remembered, all datagrams together."""
_UNREAD = {
    "out_of_window": "outside the window",
    "after_rst": "behind a reset",
    "after_close": "behind the end of the connection",
    "after_fin": "behind a FIN",
    "before_start": "before the start",
    "unconfirmed_syn": "in a SYN of no connection",
}
"""How a reader is told why bytes are in no connection."""


Reader: TypeAlias = "PacketReader | RpcReader | SrmpReader"


class PacketFinder:
    """Follows MSMQ traffic through one capture.

    ``ports`` are TCP ports followed beside 1801; a mapping says what they carry. Other connections are
    followed from the segment on that starts with a credible header: of a packet, of a DCE/RPC PDU, or of an
    HTTP request to MSMQ.
    ``negotiator`` makes what opens sealed calls. The steps of connections are ``tcp_stream`` records.
    ``first_id`` numbers the first record.

    Each method returns what its argument completes, packets undecoded; ``understood`` counts the frames
    that belong to followed traffic, ``on_ports`` says whether any is on a port of MSMQ, ``skipped`` counts
    the others by reason, ``notices`` what a reader should know beside that, such as traffic that is opaque.
    ``next_id`` numbers the next record, ``tcp`` puts the segments in order, ``networks`` keeps connections
    of several networks apart, ``others`` decides about connections on other ports, ``packets`` reads those of
    the binary protocol. What can be a ping only because of its port is decoded, and so is discovery.
    """

    def __init__(
        self,
        *,
        capture: str = "",
        ports: Ports = (),
        first_id: int = 1,
        negotiator: Negotiator | None = None,
    ) -> None:
        check_ports(ports)
        self._capture = capture
        self.ports = frozenset((MSMQ_PORT, *ports))
        self._own_ports = self.ports | RPC_PORTS
        self._decode_as = dict(ports) if isinstance(ports, Mapping) else {}
        self.next_id = first_id
        self.tcp = TcpReassembler(server_ports=self.ports)
        self.networks = Networks(self.tcp)
        self._names: dict[int, tuple[str, str]] = {}
        self._carriers: OrderedDict[int, tuple[int, ...]] = OrderedDict()
        self._carried = 0
        self.understood = 0
        self.on_ports = False
        self.skipped: Counter[str] = Counter()
        self.notices: Counter[str] = Counter()
        self.others = OtherPorts(self.skipped, self.notices)
        self._headers = ProxyHeaders()
        self._negotiator = negotiator
        self._basis: dict[str, Any] = {
            "record": self._record,
            "names": self.names,
            "frames": self._frames,
            "notices": self.notices,
        }
        self._opened: dict[Content, Reader] = {}
        self.packets = PacketReader(
            record=self._record,
            packet=self._packet,
            names=self.names,
            path=self.path,
            frames=self._frames,
            unknown=lambda stream, data: self.others.note(data, self.tcp.connection(stream)[3]),
        )
        self._readers: dict[int, Reader] = {}

    def carried_by(self, frame: int, frames: tuple[int, ...]) -> None:
        """Say that what will come as ``frame`` was put together from several frames (IP fragments)."""
        self._carriers[frame] = frames
        self._carried += len(frames)
        while self._carried > _MAX_CARRIED:
            self._carried -= len(self._carriers.popitem(last=False)[1])

    # For a caller that puts many segments in order at once and must leave everything as if each was fed here.

    def follows(self, endpoints: Endpoints) -> bool:
        """Whether segments between ``(src, sport, dst, dport)`` are followed from now on."""
        if endpoints[1] in self.ports or endpoints[3] in self.ports:
            return True
        return self.others.content(endpoints) is not None

    def wants_each(self, endpoints: Endpoints) -> bool:
        """Whether segments between ``(src, sport, dst, dport)`` must come one by one: not to ``packets``."""
        flow = self.tcp.flow(endpoints)
        if flow is not None and flow.connection.stream in self._headers:
            return True
        if self._is_msmq(endpoints):
            return False
        return flow is None or self._readers.get(flow.connection.stream) is not self.packets

    def _is_msmq(self, endpoints: Endpoints) -> bool:
        """Whether a connection is of the binary protocol, whatever the port of its client may mean."""
        return MSMQ_PORT in endpoints[1::2] and MSMQ_PORT not in self._decode_as

    def has_room(self, payload: int, segments: int) -> bool:
        """Whether so many bytes in so many segments can be fed without a limit on held bytes at work."""
        return self.packets.has_room(self.networks.held + self.tcp.pending_bytes, payload, segments)

    @property
    def carries_fragments(self) -> bool:
        """Whether frames may have to be named by those that carried their fragments."""
        return bool(self._carriers)

    def count(self, endpoints: Endpoints, segments: int) -> None:
        """Count segments of a followed connection."""
        self.understood += segments
        self.on_ports = self.on_ports or not self._own_ports.isdisjoint(endpoints[1::2])

    def segment(self, segment: TcpSegment) -> Sequence[Item]:
        """Take a TCP segment."""
        if segment.dport in self.ports or segment.sport in self.ports:
            self.understood += 1
            self.on_ports = True
            if segment.path or self.networks.used:
                return self._fed((segment,))
            events = self.tcp.feed(segment)
            return self._tcp_records(events) if events else []
        followed = self.others.take(segment)
        if followed:
            self.count((segment.src, segment.sport, segment.dst, segment.dport), len(followed))
        return self._fed(followed)

    def _fed(self, segments: Iterable[TcpSegment]) -> list[Item]:
        """Take segments of what is followed, each into its network."""
        records: list[Item] = []
        for segment in segments:
            if segment.path or self.networks.used:
                for one in self.networks.take(segment):
                    records += self._tcp_records(self.tcp.feed(one))
            else:
                records += self._tcp_records(self.tcp.feed(segment))
        return records

    def datagram(
        self,
        src: bytes,
        sport: int,
        dst: bytes,
        dport: int,
        payload: bytes,
        frame: int,
        time: int,
        path: bytes = b"",
    ) -> Sequence[Item]:
        """Take a UDP datagram; pings are read on port 3527, directory service discovery on port 1801.

        ``path`` is as in `TcpSegment`.
        """
        kind, skipped = datagram_kind(sport, dport, payload)
        if kind is None:
            self.skipped[skipped] += 1
            return []
        self.understood += 1
        self.on_ports = True
        frames, names = self._frames((frame,)), (endpoint(src, sport), endpoint(dst, dport))
        if kind == "ping" and payload[2:4] == _PING and payload[4:8] != _PACKET:
            return [self._packet(payload, frames, time, names, None, 0, path)]
        return [self._datagram(payload, kind, frames, time, names, path)]

    def _datagram(
        self,
        payload: bytes,
        kind: str,
        frames: tuple[int, ...],
        time: int,
        names: tuple[str, str],
        path: bytes,
    ) -> Record:
        result = inspect(payload, kind)
        return self._record(
            type=kind,
            frames=frames,
            time=time,
            src=names[0],
            dst=names[1],
            length=len(payload),
            packet=result.packet,
            anomalies=result.anomalies,
            consumed=result.consumed,
            remainder=result.remainder,
            error=result.error,
            path=path,
        )

    def unreachable(self, original: Endpoints, code: int, frame: int, time: int) -> Sequence[Record]:
        """Take an ICMP unreachable about a packet sent from and to ``original``."""
        src, sport, dst, dport = original
        if not self.ports & {sport, dport} and PING_PORT not in (sport, dport):
            self.skipped["ICMP, not about MSMQ"] += 1
            return []
        self.understood += 1
        self.on_ports = True
        return [
            self._record(
                type="tcp_stream",
                event="icmp_unreachable",
                reason=f"code {code}",
                frames=self._frames((frame,)),
                time=time,
                src=endpoint(src, sport),
                dst=endpoint(dst, dport),
            )
        ]

    def too_big(self, original: Endpoints, router: bytes, mtu: int, frame: int, time: int) -> Sequence[Item]:
        """Take an ICMP message by which a packet sent from and to ``original`` was too big for a link.

        The link behind the ``router`` takes ``mtu`` bytes, 0 where that is not said.
        """
        items = self.unreachable(original, 0, frame, time)
        return [
            msgspec.structs.replace(
                one,
                event="packet_too_big",
                reason=f"MTU {mtu}" if mtu else "MTU not said",
                network=TooBigEvidence(router=router, mtu=mtu),
            )
            for one in items
        ]

    def finish(self) -> Iterable[Item]:
        """Yield what was left open: the capture ends here."""
        for segment in self.networks.finish():
            yield from self._tcp_records(self.tcp.feed(segment))
        for reason, size in self.tcp.unread.items():
            if size:
                self.notices[f"payload bytes in no connection: {_UNREAD[reason]}"] += size
        for events in self.tcp.ends():
            yield from self._tcp_records(events)
        for stream in self._headers.streams:
            yield from self._behind(stream, self._headers.end(stream))
        yield from self.packets.finish()
        for _, reader in sorted(self._opened.items()):
            yield from reader.finish()
        # At the end, so that the ids of all other records stay as they are.
        for event in self.tcp.open_ends:
            yield self._open_end(event)
        self.others.finish()

    def lacks(self, dropped: int, filters: Iterable[str], cut: int, snapped: int) -> list[Record]:
        """Records of what a file lacks as a whole: gaps without a connection.

        They are of the frames that it says were dropped, and of the ``cut`` frames that it has in part, at
        most ``snapped`` bytes of each. Its capture filters are notices.
        """
        for text in filters:
            self.notices[f"recorded with the filter {text}"] += 1
        found = [self._record(type="gap", reason="dropped", frames_missing=dropped)] if dropped else []
        if cut:
            found.append(self._record(type="gap", reason="snaplen", frames_missing=cut, length=snapped))
        return found

    def file_error(self, reason: str, offset: int) -> Record:
        """The record of a damaged file; ``offset`` counts bytes of the file."""
        return self._record(type="error", reason=reason, offset=offset)

    def _record(self, *, time: int | None = None, **values: Any) -> Record:
        # Time 0 is how a frame without a time comes.
        stream = values.get("stream")
        if stream is not None:
            values["path"] = self.path(stream)
        record = Record(id=self.next_id, capture=self._capture, time=time or None, **values)
        self.next_id += 1
        return record

    def _packet(
        self,
        data: bytes,
        frames: tuple[int, ...],
        time: int,
        names: tuple[str, str],
        stream: int | None,
        offset: int,
        path: bytes,
    ) -> FoundPacket:
        number, self.next_id = self.next_id, self.next_id + 1
        return FoundPacket(number, self._capture, data, frames, time, *names, stream, offset, path)

    def _frames(self, frames: tuple[int, ...]) -> tuple[int, ...]:
        if not self._carriers:
            return frames
        return tuple(dict.fromkeys(one for frame in frames for one in self._carriers.get(frame, (frame,))))

    # Events of followed connections.

    def _tcp_records(self, events: list[TcpEvent]) -> list[Item]:
        records: list[Item] = []
        for event in events:
            match event:
                case StreamBytes(stream, direction, offset, data, frame, time):
                    front = not direction and (not offset or self._headers)
                    if front and self._is_front(stream, offset, data):
                        records += self._behind(stream, self._headers.take(stream, data, frame, time))
                    else:
                        records += self._bytes(stream, direction, data, frame, time)
                case StreamGap(stream, direction, _, length, reason, frame, time, since):
                    if not direction and stream in self._headers:
                        records += self._behind(stream, self._headers.end(stream))
                    reader = self._reader(stream, b"")
                    records += reader.gap(stream, direction, length, reason, frame, time, since)
                case StreamConflict():
                    records.append(self._conflict(event))
                case StreamEvent():
                    records += self._step(event)
        return records

    def _bytes(self, stream: int, direction: Direction, data: bytes, frame: int, time: int) -> Sequence[Item]:
        return self._reader(stream, data).feed(stream, direction, data, frame, time)

    def _is_front(self, stream: int, offset: int, data: bytes) -> bool:
        """Whether bytes of who opened a connection belong to a PROXY header, or may begin one."""
        if offset or not data or data[0] not in HEADER_BEGINS:
            return stream in self._headers
        return self.tcp.is_opened(stream)

    def _behind(self, stream: int, front: Front) -> list[Item]:
        """Tell the PROXY header of a connection; take what follows it."""
        records: list[Item] = []
        header = front.header
        if header is not None:
            self.notices[_PROXIED] += 1
            src, dst = self.names(stream, 0)
            records.append(
                self._record(
                    type="tcp_stream",
                    event="proxied",
                    reason=header.reason,
                    frames=self._frames(header.frames),
                    time=header.time,
                    src=src,
                    dst=dst,
                    stream=stream,
                    length=header.length,
                )
            )
        if front.skipped:
            first = front.chunks[0][0] if front.chunks else b""
            self._reader(stream, first).advance(stream, front.skipped)
        for chunk in front.chunks:
            records += self._bytes(stream, 0, *chunk)
        return records

    def _reader(self, stream: int, data: bytes) -> Reader:
        """Return what reads a stream: as its port says, else its first bytes."""
        if stream not in self._readers:
            src, sport, dst, dport = self.tcp.connection(stream)
            src, dst = address_of(src), address_of(dst)
            content = None if self._is_msmq((src, sport, dst, dport)) else self._decode_as.get(dport)
            if content is None and MSMQ_PORT not in (sport, dport):
                believed = self.others.content((src, sport, dst, dport))
                content = content_of(data, believed or "msmq")
            self._readers[stream] = self._reader_of(content or "msmq")
        return self._readers[stream]

    def _reader_of(self, content: Content) -> Reader:
        """What reads calls or HTTP: most captures hold neither, so it is imported when bytes ask for it."""
        if content == "msmq":
            return self.packets
        if content not in self._opened:
            if content == "rpc":
                from msmq_wire.records.rpc_reader import RpcReader

                self._opened[content] = RpcReader(negotiator=self._negotiator, **self._basis)
            else:
                from msmq_wire.records.srmp_reader import SrmpReader

                self._opened[content] = SrmpReader(**self._basis)
        return self._opened[content]

    def _open_end(self, event: StreamEvent) -> Record:
        """What the segments of a connection showed that goes on: no frame, but all of them."""
        src, dst = self.names(event.stream, event.direction)
        return self._record(
            type="tcp_stream",
            event=event.kind,
            src=src,
            dst=dst,
            stream=event.stream,
            network=event.evidence,
        )

    def _step(self, event: StreamEvent) -> list[Item]:
        records: list[Item] = []
        ended = event.kind in ("closed", "evicted")
        if (ended or (event.kind == "fin" and not event.direction)) and event.stream in self._headers:
            records += self._behind(event.stream, self._headers.end(event.stream))
        if event.kind == "fin":
            reader = self._readers.get(event.stream, self.packets)
            records += reader.end_side(event.stream, event.direction)
        elif ended:
            records += self._readers.pop(event.stream, self.packets).end(event.stream)
        src, dst = self.names(event.stream, event.direction)
        evidence = event.evidence
        records.append(
            self._record(
                type="tcp_stream",
                event=event.kind,
                frames=self._frames((event.frame,)),
                time=event.time,
                src=src,
                dst=dst,
                stream=event.stream,
                network=None if evidence is None else evidence.seen_from(event.direction),
            )
        )
        if ended:
            self._names.pop(event.stream, None)
            self._headers.forget(event.stream)
        return records

    def _conflict(self, event: StreamConflict) -> Record:
        src, dst = self.names(event.stream, event.direction)
        return self._record(
            type="tcp_stream",
            event="conflict",
            reason=f"{event.length} bytes were sent again with other content; the first copy is kept",
            frames=self._frames((event.frame,)),
            time=event.time,
            src=src,
            dst=dst,
            stream=event.stream,
            offset=event.offset,
            length=event.length,
        )

    def path(self, stream: int) -> bytes:
        """Return what a connection was captured in, and whose it is by its PROXY header."""
        return (self.tcp.path(stream) if self.networks.used else b"") + self._headers.path(stream)

    def names(self, stream: int, direction: int) -> tuple[str, str]:
        """Return the texts for source and destination of a direction."""
        names = self._names.get(stream)
        if names is None:
            src, sport, dst, dport = self.tcp.connection(stream)
            names = (endpoint(address_of(src), sport), endpoint(address_of(dst), dport))
            self._names[stream] = names
        return names if direction == 0 else (names[1], names[0])
