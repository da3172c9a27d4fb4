"""The sections of a message against the limits of the request. [MS-MQRR] 3.1.4.7, 2.2.6

What contradicts itself without the request is an anomaly of the message that came; here is only what the
request tells. Where a body ends is left open by the text in three bytes of padding: the limit is not. Of an
encrypted body two sizes may be meant (docs/deviations.md, C22): what is wrong is wrong by both.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msmq_wire.engines.reference import layout
from msmq_wire.replay.deviation import ReplayDeviation, ReplayKind
from msmq_wire.replay.observed_call import LOW_56, ObservedCall, number
from msmq_wire.replay.rule_table import row_of
from msmq_wire.rpc.types.remote_read_descriptor import read_descriptor
from msmq_wire.wire.partial import reached
from msmq_wire.wire.types.section_buffer import SectionBuffer, SectionType

_SECTIONS = "pp_packet_sections"
_FIRST = (SectionType.stBinaryFirstSection, SectionType.stSrmpFirstSection)
_EB = 0x20
_PADDING = 4
_HEADER = 16
"""Bytes of CompoundMessageHeader before its data; they count for its limit."""


def judge_sections(call: ObservedCall) -> Iterator[ReplayDeviation]:
    """A message that is too large, cut wrongly, or not there."""
    if call.members.message != _SECTIONS:
        yield from _judge_packet(call)
        return
    sections = getattr(call.response, _SECTIONS, None)
    whole = (
        tuple(one for one in sections if isinstance(one, SectionBuffer) and isinstance(one.data, bytes))
        if isinstance(sections, tuple)
        else ()
    )
    if call.ok and not whole:
        what, expected = "succeeds without a message", "one or two sections"
        yield _wrong(call, "no-message", what, expected, "no section")
    elif call.ok is False and whole and not call.call.fault:
        what, came = f"returns a message with {call.came}", f"{len(whole)} sections"
        yield _wrong(call, "message-of-failure", what, "no section", came)
    elif call.ok and call.message is not None:
        yield from _judge_limit(call, whole)
    if call.ok and len(whole) == 2 and not whole[1].data:
        what = "sends an empty second section"
        yield _wrong(call, "empty-second-section", what, "one section", "two sections")
    sequence = call.call.number_at(call.members.found)
    if call.ok and sequence is not None and sequence > LOW_56:
        what = "returns a pSequenceId of more than seven bytes"
        yield _wrong(call, "long-sequence-id", what, "a high byte of 0", hex(sequence))


def _wrong(call: ObservedCall, check: str, what: str, expected: str, came: str) -> ReplayDeviation:
    return call.deviation(
        ReplayKind.SECTIONS,
        row_of(check, call.method),
        f"{call.method} {what}",
        expected,
        came=came,
        path=f"response.{_SECTIONS}",
    )


def _judge_limit(call: ObservedCall, sections: Sequence[SectionBuffer]) -> Iterator[ReplayDeviation]:
    packet = None if call.message is None else call.message.packet
    flags = number(reached(packet, "user_header"), "flags")
    if flags is None or packet is None:
        return
    srmp = reached(packet, "compound_message_header") is not None
    header = reached(packet, "compound_message_header" if srmp else "message_properties_header")
    size = number(header, "http_body_size" if srmp else "message_size")
    security = number(reached(packet, "security_header"), "flags")
    allocated = number(header, "allocation_body_size")
    name = "dw_max_compound_message_size" if srmp else "dw_max_body_size"
    limit = number(call.request, name)
    if size is None or limit is None:
        return
    actual = most = size + _HEADER if srmp else size
    if security is not None and security & _EB and allocated is not None:
        # The clear text, or the cipher text: [MS-MQQB] 3.1.7.1.5.
        actual, most = min(actual, allocated), max(most, allocated)
    what = "a CompoundMessageHeader" if srmp else "a body"
    parameter = "dwMaxCompoundMessageSize" if srmp else "dwMaxBodySize"
    kind = sections[0].section_buffer_type
    first = SectionType.stSrmpFirstSection if srmp else SectionType.stBinaryFirstSection
    if kind == SectionType.stFullPacket:
        # A part that is never cut is larger than a limit below it.
        if actual > limit and not (srmp and limit < _HEADER and size == 0):
            yield _wrong(
                call,
                f"first-section:{first.name}",
                f"sends {what} of {actual} bytes in one full section, though {parameter} is {limit}",
                f"{first.name}",
                SectionType.stFullPacket.name,
            )
    elif kind in _FIRST and kind != first:
        yield _wrong(
            call,
            f"first-section:{first.name}",
            f"sends {what} in a section of the wrong type",
            first.name,
            SectionType(kind).name,
        )
    elif kind in _FIRST and limit >= most:
        yield _wrong(
            call,
            "cut-in-padding" if limit - most < _PADDING else "cut-needlessly",
            f"cuts {what} of {most} bytes, though {parameter} is {limit}",
            SectionType.stFullPacket.name,
            first.name,
        )
    elif kind in _FIRST:
        path = "compound_message_header.data" if srmp else "message_properties_header.message_body"
        span = layout(packet, wanted=(path,)).get(path)
        sent = None if span is None else len(sections[0].data) - span.offset
        due = {max(0, limit - _HEADER), limit} if srmp else {limit}
        if sent is not None and sent not in due:
            yield _wrong(
                call,
                "cut-elsewhere",
                f"sends {sent} bytes of {what}, though {parameter} is {limit}",
                f"{limit} bytes of it",
                f"{sent} bytes",
            )


def _judge_packet(call: ObservedCall) -> Iterator[ReplayDeviation]:
    """The packet of qm2qm, which is whole or not there."""
    answered = read_descriptor(call.response)
    if answered is None or call.call.fault:
        return
    if call.ok and not answered.lp_buffer:
        check, what, expected, came = "no-message", "succeeds without a message", "the message", "no message"
    elif call.ok is False and answered.lp_buffer:
        check, what = "message-of-failure", f"returns a message with {call.came}"
        expected, came = "no message", "a message"
    else:
        return
    row = row_of(check, call.method)
    yield call.deviation(ReplayKind.SECTIONS, row, f"{call.method} {what}", expected, came=came)
