"""SES-PARM: unusual time-outs or windows of a session."""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.detection.rule import Context, Detection, Rule
from msmq_wire.detection.session_places import place_in
from msmq_wire.detection.suricata_signature import ON_WIRE, SuricataSignature
from msmq_wire.sessions import Moment, OfferedParameters, Session
from msmq_wire.spec import SpecRef
from msmq_wire.wire.expressions import this
from msmq_wire.wire.packets.connection_parameters import ConnectionParameters

_HEADER = "connection_parameters_header"
_TIMEOUTS = (
    ("recoverable_ack_timeout", "RecoverableAckTimeout", 20, 0x1F4, 0x1D4C0),
    ("ack_timeout", "AckTimeout", 24, 0x4E20, 0x1D4C0),
)
_WINDOW_OFFSET = 30


def _check(session: Session, context: Context) -> Iterator[Detection]:
    moments = (session.parameters_request, session.parameters_response)
    for direction, (moment, parameters) in enumerate(zip(moments, session.parameters, strict=True)):
        if moment is not None and parameters is not None:
            yield from _parameter_detections(session, moment, direction, parameters)
        sent, acks = session.directions[direction], session.directions[1 - direction].last_ack
        smaller = parameters is None or parameters.window_size != 1
        if smaller and 1 in sent.announced and acks is not None:
            yield Detection(
                message=f"the {('client', 'server')[direction]} announced a window of 1 for a while",
                evidence=(place_in(session, acks, direction),),
                severity="info",
                caveats=("the frame is that of its last SessionHeader",),
            )


def _parameter_detections(
    session: Session, moment: Moment, direction: int, parameters: OfferedParameters
) -> Iterator[Detection]:
    for name, title, offset, least, most in _TIMEOUTS:
        value = getattr(parameters, name)
        if not least <= value <= most:
            place = place_in(
                session,
                moment,
                direction,
                path=f"{_HEADER}.{name}",
                offset=offset,
                length=4,
                data=value.to_bytes(4, "little"),
            )
            text = f"{title} is {value:,} ms, the specification allows {least:,} to {most:,} ms"
            yield Detection(message=text, evidence=(place,), confidence="likely")
    window = parameters.window_size
    if window <= 1:
        place = place_in(
            session,
            moment,
            direction,
            path=f"{_HEADER}.window_size",
            offset=_WINDOW_OFFSET,
            length=2,
            data=window.to_bytes(2, "little"),
        )
        yield Detection(
            message=f"WindowSize is {window}", evidence=(place,), severity="info" if window else None
        )


_OUTSIDE = tuple(
    outside
    for name, title, _, least, most in _TIMEOUTS
    for outside in (
        (this.connection_parameters_header[name] < least, f"{title} below {least} ms"),
        (this.connection_parameters_header[name] > most, f"{title} above {most} ms"),
    )
)


RULE = Rule(
    id="SES-PARM",
    title="Unusual session parameters",
    severity="low",
    spec=(SpecRef("MS-MQQB", "2.2.2.1"),),
    meaning="Time-outs outside their limits make a session slow, or close it too early. With a window of 0 "
    "no message could be sent. A window of 1 says that the peer is short of memory.",
    action="Look at the MSMQ parameters in the registry of the sender; if its window is 1, look at its free "
    "memory, too.",
    harmless="Limits that an administrator has changed. A window of 1 is not an error.",
    over="session",
    check=_check,
    suricata=(
        *(
            SuricataSignature(
                number=number, on=ON_WIRE, packet=ConnectionParameters, match=(condition,), says=says
            )
            for number, (condition, says) in enumerate(_OUTSIDE, 420)
        ),
        SuricataSignature(
            number=424,
            on=ON_WIRE,
            packet=ConnectionParameters,
            match=(this.connection_parameters_header.window_size == 0,),
            says="WindowSize is 0",
        ),
    ),
)
