"""The security descriptor of a queue as R_QMGetObjectSecurityInternal gives it. [MS-MQMP] 3.1.4.7

The rule kept here: what was not asked for is not there, and the length that was needed is that of what came.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from msmq_wire.errors import DecodeError
from msmq_wire.replay.observed_call import ObservedCall, number
from msmq_wire.rpc.constants import SecurityInformation
from msmq_wire.rpc.types.security_descriptor import SecurityDescriptor

_Contradiction: TypeAlias = tuple[str, str, str, bool]
_HEADER = 20
_PARTS = (
    ("owner", SecurityInformation.OWNER_SECURITY_INFORMATION),
    ("group", SecurityInformation.GROUP_SECURITY_INFORMATION),
    ("dacl", SecurityInformation.DACL_SECURITY_INFORMATION),
    ("sacl", SecurityInformation.SACL_SECURITY_INFORMATION),
)


def judge_descriptor(call: ObservedCall) -> Iterator[_Contradiction]:
    """The check, what is wrong, what is due and whether that is certain, of an answer that succeeded."""
    given = getattr(call.response, "p_security_descriptor", None)
    needed, asked = number(call.response, "lpn_length_needed"), number(call.request, "requested_information")
    room = number(call.request, "n_length")
    if not isinstance(given, bytes) or not given or None in (needed, asked, room):
        return
    assert needed is not None
    assert asked is not None
    if needed > len(given):
        return
    try:
        found = SecurityDescriptor.parse(given)
    except DecodeError:
        return
    for name, bit in _PARTS:
        part = getattr(found, name)
        if part is not None and not asked & bit:
            check = f"unwanted:{name}" if asked else "unwanted"
            yield check, f"with the {name} of the descriptor, which was not asked for", "without it", True
    parts = sum(len(part) for name, *_ in _PARTS if (part := getattr(found, name)) is not None)
    # Parts may share bytes in theory, and do not in what servers make.
    if needed < _HEADER + parts:
        yield "length-needed", f"with a length of {needed}", f"{_HEADER + parts}", False
