"""`SessionReplayer`: holds the sessions of the binary protocol against the rules of [MS-MQQB] 3.1.

The rule kept here: nothing that depends on the order of both directions is certain, since they may have been
captured in another order; a hole in the capture takes away what was counted. What the rules about sessions
in `findings` tell is not told here. At most 65,536 connections are followed, each with what it counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from msmq_wire.records.endpoint import AT_MSMQ
from msmq_wire.records.record import UNKNOWN_PACKET, Record
from msmq_wire.replay.acknowledgments import AcknowledgmentReplayer
from msmq_wire.replay.deviation import ReplayDeviation, ReplayKind
from msmq_wire.replay.packets import USER_PACKETS, frame_text, mqqb, packet_deviation
from msmq_wire.replay.state import Table
from msmq_wire.replay.user_packet import Asked, UserPacket, user_packet
from msmq_wire.wire.headers.session_header import SessionHeader
from msmq_wire.wire.partial import reached
from msmq_wire.wire.types.guid import NULL_GUID

_CS = 0x10
_SE = 0x100
_MASK = 0xFFFF
_HALF = 0x8000
_NO_WINDOW = 0
_HEADER = "establish_connection_header"
_PARAMETERS = "connection_parameters_header"


class _Side(msgspec.Struct, eq=False):
    """What one side of a session sent.

    ``sent`` counts its user packets, ``acknowledged`` those of them that the other side acknowledged.
    ``window`` is the largest that it announced, 0 for none. ``header`` is its last SessionHeader, None where
    there may have been another one. ``establish`` and ``parameters`` are the headers of its packets.
    """

    sent: int = 0
    acknowledged: int = 0
    window: int = 0
    header: SessionHeader | None = None
    establish: Any = None
    parameters: Any = None


class _Known(msgspec.Struct, eq=False):
    """A connection; side 0 is the initiator. ``whole`` says that nothing of it is missing.

    ``refused`` is why the initiator must have closed it, and the frame that says so.
    """

    client: str
    whole: bool
    sides: tuple[_Side, _Side]
    refused: tuple[str, int | None] | None = None
    overrun: bool = False


class SessionReplayer:
    """Feed records in the order of their ids. Nothing is raised on any record."""

    def __init__(self) -> None:
        self._sessions: Table[_Known] = Table()
        self._acknowledgments = AcknowledgmentReplayer()

    def feed(self, record: Record) -> list[ReplayDeviation]:
        """Take a record; return what is wrong with it."""
        if record.parent is not None or record.stream is None:
            return []
        match record.type:
            case "tcp_stream":
                self._step(record)
                return []
            case "gap":
                self._lost(record)
                return []
            case "establish_connection":
                return list(self._established(self._of(record), record))
            case "connection_parameters":
                return list(self._agreed(self._of(record), record))
            case "session_ack":
                header = None if record.error is not None else reached(record.packet, "session_header")
                return self.acknowledged(record.stream, record.src, record.dst, header, lambda: record)
            case type_ if type_ in USER_PACKETS:
                header, cut = reached(record.packet, "session_header"), record.error is not None
                ends = record.src, record.dst
                return self.sent(record.stream, *ends, user_packet(record), header, lambda: record, cut=cut)
            case type_ if type_ == UNKNOWN_PACKET:
                self._lost(record)
        return []

    def finish(self) -> list[ReplayDeviation]:
        """What waited until the end."""
        return []

    def acknowledged(
        self, stream: int, src: str | None, dst: str | None, header: SessionHeader | None, record: Asked
    ) -> list[ReplayDeviation]:
        """Take a SessionAck; ``header`` is None where its bytes end before it does."""
        session = self._sessions.get(stream) or self._opened(stream, src, dst)
        side = 0 if src == session.client else 1
        found = [*self._goes_on(session, record())] if session.refused is not None and side == 0 else []
        if header is not None:
            found += self._acked(session, side, header, record)
        return found

    def sent(
        self,
        stream: int,
        src: str | None,
        dst: str | None,
        packet: UserPacket | None,
        header: SessionHeader | None,
        record: Asked,
        *,
        cut: bool = False,
    ) -> list[ReplayDeviation]:
        """Take a user packet, None where it is not whole, and the SessionHeader behind it, if there is one.

        One that is ``cut`` may have had one.
        """
        session = self._sessions.get(stream) or self._opened(stream, src, dst)
        side = 0 if src == session.client else 1
        found: list[ReplayDeviation] = []
        if session.refused is not None and side == 0:
            found += self._goes_on(session, record())
        own = session.sides[side]
        own.sent += 1
        if cut:
            session.whole, own.header = False, None
        else:
            if header is not None:
                self._headed(session, side, header)
            one, other = session.sides
            agreed = one.parameters is not None and other.parameters is not None
            if agreed and session.whole and not session.overrun:
                found += self._overrun(session, own, record)
        if packet is None:
            return found
        found += self._acknowledgments.take(packet, record)
        return found

    def _step(self, record: Record) -> None:
        """Take a step of a TCP connection."""
        if record.event in ("syn", "syn_ack"):
            client = record.src if record.event == "syn" else record.dst
            if record.stream not in self._sessions:
                self._begin(record.stream, client or "", started=True)
        elif record.event in ("closed", "evicted"):
            self._sessions.pop(record.stream, None)

    def _begin(self, stream: int | None, client: str, *, started: bool) -> _Known:
        sides = _Side(), _Side()
        if started:
            # Nothing was acknowledged before.
            sides[0].header = sides[1].header = SessionHeader(window_size=_NO_WINDOW)
        return self._sessions.put(stream, _Known(client, started, sides))

    def _of(self, record: Record) -> _Known:
        """The connection of a packet, begun where its start was not captured."""
        return self._sessions.get(record.stream) or self._opened(record.stream, record.src, record.dst)

    def _opened(self, stream: int | None, src: str | None, dst: str | None) -> _Known:
        client = dst if (src or "").endswith(AT_MSMQ) else src
        return self._begin(stream, client or "", started=False)

    def _lost(self, record: Record) -> None:
        known = self._sessions.get(record.stream)
        if known is not None:
            known.whole = False

    def _established(self, session: _Known, record: Record) -> Iterator[ReplayDeviation]:
        header = reached(record.packet, _HEADER)
        side = _side(session, record)
        own = session.sides[side]
        if record.error is not None or header is None or own.establish is not None:
            return
        own.establish = header
        request = session.sides[0].establish
        if side == 0 or request is None:
            return
        yield from self._judge_response(session, record, header, request)

    def _judge_response(
        self, session: _Known, record: Record, header: Any, request: Any
    ) -> Iterator[ReplayDeviation]:
        rule = mqqb("3.1.5.3.1")
        for name, asked, came in (
            ("ClientGuid", request.client_guid, header.client_guid),
            ("TimeStamp", request.time_stamp, header.time_stamp),
            ("SE", (request.operating_system & _SE) >> 8, (header.operating_system & _SE) >> 8),
        ):
            if asked != came:
                yield packet_deviation(
                    ReplayKind.ECHO, record, rule,
                    f"the answer to EstablishConnection has another {name} than the request",
                    f"the {name} of the request, {asked}", f"{name} {came}",
                    path=f"{_HEADER}.{_ECHOED[name]}",
                )  # fmt: skip
        frame = record.frames[-1] if record.frames else None
        if (reached(reached(record.packet, "internal_header"), "flags") or 0) & _CS:
            session.refused = "was refused: CS is set in the answer to EstablishConnection", frame
        elif header.client_guid != request.client_guid:
            session.refused = "was answered with another ClientGuid", frame
        elif request.server_guid not in (NULL_GUID, header.server_guid):
            session.refused = "was answered by another queue manager", frame

    def _agreed(self, session: _Known, record: Record) -> Iterator[ReplayDeviation]:
        yield from self._goes_on(session, record)
        header = reached(record.packet, _PARAMETERS)
        side = _side(session, record)
        own = session.sides[side]
        if record.error is not None or header is None or own.parameters is not None:
            return
        own.parameters = header
        own.window = max(own.window, header.window_size)
        request = session.sides[0].parameters
        if side == 0 or request is None:
            return
        for name, asked, came in (
            ("RecoverableAckTimeout", request.recoverable_ack_timeout, header.recoverable_ack_timeout),
            ("AckTimeout", request.ack_timeout, header.ack_timeout),
        ):
            if asked != came:
                yield packet_deviation(
                    ReplayKind.ECHO, record, mqqb("3.1.5.4.1"),
                    f"the answer to ConnectionParameters has another {name} than the request",
                    f"the {asked} ms of the request", f"{came} ms",
                    path=f"{_PARAMETERS}.{_ECHOED[name]}",
                )  # fmt: skip

    def _goes_on(self, session: _Known, record: Record) -> Iterator[ReplayDeviation]:
        """The initiator sends nothing after an answer that it must not accept."""
        if session.refused is None or _side(session, record) == 1:
            return
        reason, frame = session.refused
        session.refused = None
        yield packet_deviation(
            ReplayKind.GOES_ON, record, mqqb("3.1.5.3.2"),
            f"the session goes on, though it {reason}" + frame_text(frame),
            "the end of the connection", "another packet", path="",
        )  # fmt: skip

    def _acked(
        self, session: _Known, side: int, header: SessionHeader, record: Asked
    ) -> Iterator[ReplayDeviation]:
        """3.1.6.4: a SessionAck is sent if and only if something was received since the last header."""
        before = session.sides[side].header
        number = header.ack_sequence_number
        if before is not None and before.ack_sequence_number == number and not _has_news(header, before):
            yield packet_deviation(
                ReplayKind.ACKED_AGAIN, record(), mqqb("3.1.6.4"),
                f"a SessionAck acknowledges packet {number} again, and nothing new" if number else
                "a SessionAck acknowledges nothing",
                "no SessionAck until another packet has come", f"AckSequenceNumber {number}",
                path="session_header.ack_sequence_number",
            )  # fmt: skip
        self._headed(session, side, header)

    @staticmethod
    def _headed(session: _Known, side: int, header: Any) -> None:
        """Take what a SessionHeader says of the packets of the other side."""
        own, other = session.sides[side], session.sides[1 - side]
        own.header = header
        own.window = max(own.window, header.window_size)
        more = (header.ack_sequence_number - other.acknowledged) & _MASK
        if more < _HALF:
            other.acknowledged += more

    @staticmethod
    def _overrun(session: _Known, own: _Side, record: Asked) -> Iterator[ReplayDeviation]:
        """3.1.7.1: nothing is sent while as many packets wait for an acknowledgment as the window has."""
        one, other = session.sides
        window = max(one.window, other.window)
        waiting = own.sent - own.acknowledged
        if waiting > window:
            session.overrun = True
            yield packet_deviation(
                ReplayKind.WINDOW, record(), mqqb("3.1.7.1"),
                f"a packet is sent while {waiting - 1} wait for an acknowledgment",
                f"an acknowledgment first (the window is {window})", f"packet {waiting} that waits",
                path="", certain=False,
            )  # fmt: skip


_ECHOED = {
    "ClientGuid": "client_guid",
    "TimeStamp": "time_stamp",
    "SE": "operating_system",
    "RecoverableAckTimeout": "recoverable_ack_timeout",
    "AckTimeout": "ack_timeout",
}


def _has_news(header: SessionHeader, before: SessionHeader) -> bool:
    """Whether a header says more than one before it with the same number."""
    if header.recoverable_msg_ack_flags:
        told = header.recoverable_msg_ack_seq_number, header.recoverable_msg_ack_flags
        if told != (before.recoverable_msg_ack_seq_number, before.recoverable_msg_ack_flags):
            return True
    return before.window_size not in (_NO_WINDOW, header.window_size)


def _side(session: _Known, record: Record) -> int:
    return 0 if record.src == session.client else 1
