"""`StepOutcome`: the result of a step, as the application got it."""

from __future__ import annotations

import msgspec

from msmq_wire.lab.recordings.recording import RecordedMessage
from msmq_wire.rpc.statuses import Status

_DWORD = 0xFFFF_FFFF


class StepOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """``status`` is the HRESULT of what ended the step, ``messages`` those that it sent or got before."""

    status: int = Status.MQ_OK
    messages: tuple[RecordedMessage, ...] = ()


def refused(status: int, messages: tuple[RecordedMessage, ...] = ()) -> StepOutcome:
    """What came of a step that was refused."""
    return StepOutcome(status=status & _DWORD, messages=messages)
