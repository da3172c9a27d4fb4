"""Which reading of ours a difference touches, and what its values reveal: one table for both.

The rule kept here: a field or a situation is named here or cannot differ. The ids are those of
docs/deviations.md; none stands where no reading is open, and a difference there is news.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from msmq_wire.wire.private import CORRELATION, MESSAGE_ID, QUEUE_NAME, Private


class ComparedField(msgspec.Struct, frozen=True):
    """A field, or a situation, that may differ."""

    doc: str
    readings: tuple[str, ...] = ()
    private: Private | None = None
    path: str = ""
    """Where a UserMessage Packet has it."""


_OF_PROPERTIES = "message_properties_header."
FIELDS: Mapping[str, ComparedField] = {
    # The recording as a whole, and its steps.
    "scenario_sha256": ComparedField("the scenario that was run is the one beside the recording"),
    "steps": ComparedField("the steps of the recording are those of the scenario, in its order"),
    # Whether something is there at all.
    "on_the_wire": ComparedField("the message is in the capture", private=MESSAGE_ID),
    "ways": ComparedField("it is there once, but for what is sent again"),
    "recorded": ComparedField("a step tells of the message that was captured", private=MESSAGE_ID),
    "call": ComparedField("a call that was captured did what the step tells, and a step tells of each call"),
    "session_ack": ComparedField("a SessionAck acknowledges it", ("C1",)),
    "order_ack": ComparedField("an OrderAck, or another acknowledgment, covers it", ("C4", "C6", "R12")),
    "accepted": ComparedField("the HTTP response accepts it"),
    # A message.
    "message_id": ComparedField("its identifier", private=MESSAGE_ID, path="user_header.message_id"),
    "lookup_id": ComparedField("its LookupId: low 56 bits", ("C11",)),
    "queue": ComparedField(
        "the queue it is sent to", ("R11",), private=QUEUE_NAME, path="user_header.destination_queue"
    ),
    "label": ComparedField("its label", ("C18",), path=f"{_OF_PROPERTIES}label"),
    "message_class": ComparedField("its class", ("C5", "C7"), path=f"{_OF_PROPERTIES}message_class"),
    "body_type": ComparedField("the type of its body", ("R7",), path=f"{_OF_PROPERTIES}body_type"),
    "body_size": ComparedField(
        "the bytes of its body", ("C13", "C22", "K11"), path=f"{_OF_PROPERTIES}message_size"
    ),
    "body_sha256": ComparedField("its body", ("C13", "C22"), path=f"{_OF_PROPERTIES}message_body"),
    "extension_size": ComparedField("the bytes of its extension", path=f"{_OF_PROPERTIES}extension_size"),
    "extension_sha256": ComparedField("its extension", path=f"{_OF_PROPERTIES}extension_data"),
    "priority": ComparedField("its priority", ("R12",), path="base_header.flags"),
    "delivery": ComparedField("how it is delivered", path="user_header.flags"),
    "acknowledge": ComparedField("the acknowledgments it asks for", path=f"{_OF_PROPERTIES}flags"),
    "app_specific": ComparedField("the number of the application", path=f"{_OF_PROPERTIES}application_tag"),
    "correlation_id": ComparedField(
        "its correlation identifier", private=CORRELATION, path=f"{_OF_PROPERTIES}correlation_id"
    ),
    "admin_queue": ComparedField(
        "where acknowledgments go", ("R11",), private=QUEUE_NAME, path="user_header.admin_queue"
    ),
    "response_queue": ComparedField(
        "where answers go", ("C8", "R11"), private=QUEUE_NAME, path="user_header.response_queue"
    ),
    "time_to_reach_queue": ComparedField(
        "the seconds to reach its queue", ("C21", "C23", "K5", "K7"), path="base_header.time_to_reach_queue"
    ),
    "time_to_be_received": ComparedField(
        "the seconds to be received in", path="user_header.time_to_be_received"
    ),
    "journal": ComparedField("whether its sender keeps a copy", path="user_header.flags"),
    "dead_letter": ComparedField(
        "whether it goes to the dead-letter queue", ("C16",), path="user_header.flags"
    ),
    "authenticated": ComparedField(
        "whether it is signed", ("C10", "C17", "C20"), path="security_header.flags"
    ),
    "encrypted": ComparedField("whether its body is encrypted", ("C22", "K4"), path="security_header.flags"),
    "sent_time": ComparedField("when it was sent", path="user_header.sent_time"),
    "arrived_time": ComparedField("when it arrived", ("K13",)),
    # A call.
    "status": ComparedField("how the call ended"),
    # A frame and its step.
    "time": ComparedField("the frame is of the time of its step"),
    # The capture by itself.
    "rule": ComparedField("no rule is broken"),
}

RULES_READINGS: Mapping[str, tuple[str, ...]] = {
    "FRM-SIZE-MIN": ("C1",),
    "FRM-SIZE-STREAM": ("C1", "C24"),
    "FRM-LEFTOVER": ("C24", "R10", "R14"),
    "FRM-PAD-LEN": ("R1", "R2", "R3", "R4", "R5"),
    "FRM-MUST": ("C14", "C21", "C25"),
    "FLG-USER-X3": ("R14",),
    "FLG-USER-RSV": ("C9",),
    "FLG-QTYPE": ("C8",),
    "FLG-SEC-SHAPE": ("C10",),
    "FLG-SEC-AU": ("C17",),
    "LEN-LABEL": ("C18",),
    "LEN-BODY": ("C22",),
    "LEN-SEC": ("C10", "R4"),
    "LEN-SOAP": ("R5",),
    "LEN-MQF": ("R1", "R2"),
    "LEN-DIRECT": ("R8", "R11"),
    "LEN-EXT": ("C14", "C24", "R10"),
    "LEN-OACK": ("C4", "C5"),
    "SES-GUID": ("C2", "C3"),
    "SES-REFUSED": ("C2",),
    "SES-OS": ("C15",),
    "SES-COUNT": ("C1",),
    "TXN-ACK": ("C6", "R12"),
    "CNT-CLASS": ("C5", "C7"),
    "CNT-ALG": ("C19",),
    "CNT-BODYTYPE": ("R7",),
    "CNT-QMADDR": ("C26",),
    "RPC-NDR": ("K1", "K2", "K12"),
    "RPC-QFT": ("R11",),
    "RPC-SEC-SEQ": ("C13",),
    "RPC-SEC-SIZE": ("C13", "K11"),
    "RPC-FRAG": ("K8", "K9", "K10"),
    "RPL-ACTION": ("C11", "C68", "C69", "C70", "K2", "K3", "K4"),
    "RPL-CONTENT": ("C13", "C23", "K7"),
    "RPL-ECHO": ("C15", "C71"),
    "RPL-GOESON": ("C2", "C3", "C71"),
    "RPL-LOOKUP": ("C11",),
    "RPL-ORDERACK": ("C4", "C6"),
    "RPL-SIZE": ("C13", "C22", "K7", "K11"),
    "RPL-UNASKED": ("R12",),
}
"""The readings behind rules of findings."""

_HOSTS = "it is about how the hosts are set up, not about what they sent"
_SCENARIO = "it tells of what the scenario does on purpose"
NOTED: Mapping[str, str] = {
    "CNT-CLEAR": _HOSTS,
    "CNT-WEAK": _HOSTS,
    "CNT-LOOPBACK": _HOSTS,
    "CNT-NACK": _SCENARIO,
    "BOD-ENC": _SCENARIO,
    "ID-CLONE": _HOSTS,
    "ID-MANY": _HOSTS,
    "PNG-NOANS": _SCENARIO,
    "PNG-SCAN": _SCENARIO,
    "RPC-ANON": _HOSTS,
    "RPC-LEVEL": _HOSTS,
    "RPC-PURGE": _SCENARIO,
    "RPC-READ": _SCENARIO,
    "SES-CONNECT": _SCENARIO,
    "RPC-SEALED": "a call could not be opened: no rule was asked",
}
"""Rules that tell of traffic that breaks none, and why; what they find is said and is no difference."""


def readings_of(field: str, captured: object) -> tuple[str, ...]:
    """The readings that a difference touches: those behind a rule where one was broken."""
    if field == "rule":
        return RULES_READINGS.get(str(captured), ())
    return FIELDS[field].readings
