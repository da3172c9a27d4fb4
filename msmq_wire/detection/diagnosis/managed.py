"""Management calls, for questions 2 and 14: what queue managers reported, and what administrators did.

The rule kept here: a figure is from the last answer of a queue manager, with its frame. Later changes are
unknown. [MS-MQMR] 3.1.4, [MS-MQMQ] 2.3.11, 2.3.12
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from msmq_wire.detection.cause import Cause
from msmq_wire.detection.diagnosis.answer import MOST, AnswerBuilder
from msmq_wire.detection.diagnosis.phrases import Phrases, count, host
from msmq_wire.detection.finding import Confidence, Severity
from msmq_wire.records.call_story import size_text
from msmq_wire.records.record import Record
from msmq_wire.records.rpc_packets import RpcCall
from msmq_wire.rpc.constants import ConnectionStatus, ManagementAction
from msmq_wire.rpc.interfaces import Role
from msmq_wire.rpc.management_properties import WORDS, ConnectionAttempt, ManagementValue, read_value
from msmq_wire.rpc.properties import PropertyKind
from msmq_wire.rpc.types.sequence_info import SequenceInfo
from msmq_wire.sessions import Moment
from msmq_wire.wire.types.wchar_text import WcharText

_MOST = 256
_MACHINE, _QUEUE = PropertyKind.MANAGEMENT_MACHINE, PropertyKind.MANAGEMENT_QUEUE
_CONNECTED, _ALL_BYTES = 4, 6
"""Property identifiers of a computer, [MS-MQMQ] 2.3.11."""
_COUNT, _BYTES, _STATE, _LAST_ACK, _FIRST_NON_ACK, _UNREAD, _UNACKED, _HISTORY = 7, 8, 11, 13, 16, 19, 20, 25
"""Property identifiers of a queue, [MS-MQMQ] 2.3.12."""
_FAILED = 0x80000000


class _State(msgspec.Struct, frozen=True):
    """The meaning of a state of an outgoing queue with messages, and the action. [MS-MQDMPR] 3.1.1.3"""

    means: str
    action: str
    severity: Severity = "low"
    confidence: Confidence = "likely"


_STUCK: dict[str, _State] = {
    "INACTIVE": _State("it does not try to connect", "see whether the queue manager is online"),
    "LOCKED": _State(
        "in hardened mode it sends over HTTP alone", "name the queue by its URL, or end hardened mode",
        "medium", "certain",
    ),
    "NEED VALIDATION": _State(
        "it looks for the address of the destination", "see whether a directory server answers"
    ),
    "WAITING": _State("it tries to connect", "see whether the next host can be reached on TCP 1801"),
    "ONHOLD": _State(
        "it was paused", "resume the queue, unless it was paused on purpose", "medium", "certain"
    ),
    "DISCONNECTED": _State(
        "it is disconnected", "see whether the next host can be reached on TCP 1801"
    ),
}  # fmt: skip


class _LastValues(msgspec.Struct):
    """The last values of a computer or a queue, with their moments; ``before`` is its first count."""

    client: str
    values: dict[int, tuple[ManagementValue, Moment]] = {}
    before: tuple[int, Moment] | None = None

    def value(self, propid: int) -> Any:
        return self.values[propid][0] if propid in self.values else None

    @property
    def last(self) -> Moment:
        return max((at for _, at in self.values.values()), key=lambda at: at.record)


class _AdminAction(msgspec.Struct):
    """An action of an administrator."""

    client: str
    action: str
    at: Moment


class ManagementAnswers:
    """Takes calls of qmmgmt; keeps at most 256 computers and queues, ``left_out`` counts other answers.

    ``reported`` are the answers by kind, host and queue (empty for the computer). ``done`` is the last action
    by host and queue.
    """

    def __init__(self) -> None:
        self.reported: dict[tuple[PropertyKind, str, str], _LastValues] = {}
        self.done: dict[tuple[str, str], _AdminAction] = {}
        self.left_out = 0

    def call(self, record: Record, call: RpcCall, moment: Moment) -> None:
        """Take a call."""
        if call.status != 0 or call.fault:
            return
        client, server, queue = host(record.src or ""), host(record.dst or ""), call.queue or ""
        if call.role is Role.ASK_STATE:
            self._answer(call, (getattr(call.request, "property_kind", None), server, queue), client, moment)
        elif call.role is Role.MANAGE:
            action = getattr(call.request, "lpwsz_action", None)
            text = action.text.partition("\0")[0].upper() if isinstance(action, WcharText) else ""
            if text in tuple(ManagementAction) and (len(self.done) < _MOST or (server, queue) in self.done):
                self.done[server, queue] = _AdminAction(client, text, moment)

    def _answer(self, call: RpcCall, key: Any, client: str, moment: Moment) -> None:
        kind, asked, values = (
            key[0],
            getattr(call.request, "a_prop", None),
            getattr(call.response, "ap_var", None),
        )
        if kind is None or not isinstance(asked, tuple) or not isinstance(values, tuple):
            return
        if key not in self.reported and len(self.reported) >= _MOST:
            self.left_out += 1
            return
        reported = self.reported.setdefault(key, _LastValues(client=client))
        reported.client = client
        for propid, variant in zip(asked, values, strict=False):
            value = read_value(variant, propid, kind)
            words = WORDS[kind].get(propid)
            if value is None or (words is not None and str(value).upper() not in words):
                continue
            reported.values[propid] = (value, moment)
            if kind is _QUEUE and propid == _COUNT and isinstance(value, int) and reported.before is None:
                reported.before = (value, moment)


def offline(managed: ManagementAnswers, words: Phrases, builder: AnswerBuilder) -> None:
    """For question 2: computers that were taken offline, and outgoing queues that failed to connect."""
    shown = 0
    for (kind, server, queue), reported in managed.reported.items():
        found = (
            _disconnected(server, reported, words)
            if kind is _MACHINE
            else _failed(server, queue, reported, words)
        )
        if found is None or shown >= MOST:
            continue
        shown += 1
        builder.say(f"{found.text}.", *found.moments, attention=found.severity)
        builder.add_cause(found)
    _add_actions(managed, (ManagementAction.CONNECT, ManagementAction.DISCONNECT), words, builder)


def _disconnected(server: str, reported: _LastValues, words: Phrases) -> Cause | None:
    if str(reported.value(_CONNECTED)).upper() != "DISCONNECTED":
        return None
    at = reported.values[_CONNECTED][1]
    return Cause(
        text=f"{server} says in {words.frame(at)} that it is DISCONNECTED: an administrator took it offline",
        severity="medium",
        confidence="certain",
        moments=(at,),
        who=(server,),
        action=f"tell {server} to CONNECT, unless it is offline on purpose",
        rules=("QM-STATE",),
    )


def _failed(server: str, queue: str, reported: _LastValues, words: Phrases) -> Cause | None:
    history = reported.value(_HISTORY)
    last = history[-1] if history else None
    if not isinstance(last, ConnectionAttempt) or last.status < _FAILED:
        return None
    at = reported.values[_HISTORY][1]
    to = f" to {', '.join(last.addresses[:3])}" if last.addresses else ""
    return Cause(
        text=f"{server} says in {words.frame(at)} that its last attempt to connect for {queue}{to}, at "
        f"{words.clock(last.time)}, failed: {_why(last.status)}",
        severity="low",
        confidence="likely",
        moments=(at,),
        who=(server,),
        action="check whether the next host can be reached, and what it refuses",
        rules=("QM-STATE",),
    )


def _why(status: int) -> str:
    try:
        return ConnectionStatus(status).name.lower().replace("_", " ")
    except ValueError:
        return f"status {status:#010x}"


def held(managed: ManagementAnswers, words: Phrases, builder: AnswerBuilder) -> None:
    """For question 14: the messages that queue managers hold, their progress, and the last actions."""
    rows: list[dict[str, Any]] = []
    for (kind, server, queue), reported in managed.reported.items():
        text = "; ".join(_holds(reported, words) if kind is _QUEUE else _holds_in_all(reported))
        if not text:
            continue
        state = _STUCK.get(str(reported.value(_STATE)).upper()) if reported.value(_COUNT) else None
        subject = queue if kind is _QUEUE else "all its queues"
        if len(rows) < MOST:
            text = f"{server} tells {reported.client} in {words.frame(reported.last)} about {subject}: {text}"
            builder.say(f"{text}.", reported.last, attention=None if state is None else state.severity)
        if state is not None:
            _add_queue_cause(server, queue, reported, state, words, builder)
        rows.append(
            {
                "host": server,
                "queue": queue or None,
                "messages": reported.value(_COUNT),
                "bytes": reported.value(_BYTES) if kind is _QUEUE else reported.value(_ALL_BYTES),
                "state": reported.value(_STATE) if kind is _QUEUE else None,
            }
        )
    if len(rows) > MOST:
        builder.say(f"And about {count(len(rows) - MOST, 'more queue')}: calls lists the answers.")
    if managed.left_out:
        builder.add_caveats(f"{count(managed.left_out, 'answer')} about queues were too many to keep")
    actions = (ManagementAction.PAUSE, ManagementAction.RESUME, ManagementAction.EOD_RESEND)
    _add_actions(managed, (*actions, ManagementAction.TIDY), words, builder)
    if rows:
        builder.facts["told"] = rows[:64]


def _holds(reported: _LastValues, words: Phrases) -> Iterator[str]:
    messages, size, state = reported.value(_COUNT), reported.value(_BYTES), reported.value(_STATE)
    if messages is not None:
        text = count(messages, "message")
        text += f" of {size_text(size)}" if size else ""
        if reported.before is not None and reported.before[1].record < reported.values[_COUNT][1].record:
            text += f" ({reported.before[0]:,} in {words.frame(reported.before[1])})"
        yield text
    elif size is not None:
        yield size_text(size)
    if state is not None:
        known = _STUCK.get(state.upper())
        yield f"{state.upper()}: {known.means}" if known is not None and messages else state.upper()
    covered, first = reported.value(_LAST_ACK), reported.value(_FIRST_NON_ACK)
    if isinstance(covered, SequenceInfo):
        yield f"the last OrderAck covers number {covered.seq_no:,} of sequence {covered.seq_id}"
    if reported.value(_UNACKED):
        since = f", from number {first.seq_no:,}" if isinstance(first, SequenceInfo) else ""
        yield f"{count(reported.value(_UNACKED), 'message')} without an OrderAck{since}"
    if reported.value(_UNREAD):
        unread = count(reported.value(_UNREAD), "message")
        yield f"{unread} covered by an OrderAck, and not known to be received"


def _holds_in_all(reported: _LastValues) -> Iterator[str]:
    size = reported.value(_ALL_BYTES)
    if size is not None:
        yield size_text(size)


def _add_queue_cause(
    server: str, queue: str, reported: _LastValues, state: _State, words: Phrases, builder: AnswerBuilder
) -> None:
    waiting, at = reported.value(_COUNT), reported.values[_STATE][1]
    builder.add_cause(
        Cause(
            text=f"{count(waiting, 'message')} for {queue} {'wait' if waiting > 1 else 'waits'} at {server}, "
            f"which says in {words.frame(at)} why: {state.means}",
            severity=state.severity,
            confidence=state.confidence,
            moments=(at,),
            who=(server,),
            action=state.action,
            count=waiting,
            rules=("QM-STATE",),
        )
    )


def _add_actions(
    managed: ManagementAnswers, actions: tuple[str, ...], words: Phrases, builder: AnswerBuilder
) -> None:
    """Add statements about the last actions of administrators, of some kinds."""
    found = [(where, deed) for where, deed in managed.done.items() if deed.action in actions]
    for (server, queue), deed in found[:MOST]:
        text = f"{deed.client} told {server} in {words.frame(deed.at)} to {deed.action}"
        builder.say(f"{text} {queue}." if queue else f"{text}.", deed.at, attention="info")
    if len(found) > MOST:
        builder.say(f"And {count(len(found) - MOST, 'more action')} of administrators.")
