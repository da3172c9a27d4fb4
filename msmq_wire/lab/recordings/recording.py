"""`Recording`: what a scenario did on a host, as whoever ran it wrote it down (``recording.json``).

The rule kept here: it holds what the application was told, nothing that a capture says. Times are RFC 3339
in UTC, identifiers as Message Queuing prints them, digests SHA-256 in lower-case hexadecimal. What an
application cannot know is null.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

import msgspec

from msmq_wire.errors import MsmqWireError
from msmq_wire.lab.recordings.scenario import StepAction

Word: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=0xFFFF_FFFF)]
Long: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=0x7FFF_FFFF_FFFF_FFFF)]
Time: TypeAlias = Annotated[str, msgspec.Meta(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z$")]


class RecordedMessage(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A message as the application that sent it, or got it, knows it."""

    message_id: str | None = None
    """``<GUID>\\<number>``; null before a message is sent."""
    lookup_id: Long | None = None
    label: str = ""
    message_class: Word = 0
    """PROPID_M_CLASS: 0 of a normal message, else that of an acknowledgment."""
    body_type: Word | None = None
    body_size: Word | None = None
    body_sha256: str | None = None
    extension_size: Word | None = None
    extension_sha256: str | None = None
    priority: Word | None = None
    delivery: Literal["express", "recoverable", "transactional"] | None = None
    acknowledge: Word | None = None
    """PROPID_M_ACKNOWLEDGE, a bit for each kind."""
    app_specific: Word | None = None
    correlation_id: Annotated[str, msgspec.Meta(pattern=r"^[0-9A-Fa-f]{40}$")] | None = None
    """Forty hexadecimal digits."""
    admin_queue: str | None = None
    response_queue: str | None = None
    time_to_reach_queue: Word | None = None
    """Seconds; null where it is the default or endless."""
    time_to_be_received: Word | None = None
    journal: bool | None = None
    dead_letter: bool | None = None
    authenticated: bool | None = None
    encrypted: bool | None = None
    sent_time: Time | None = None
    arrived_time: Time | None = None


class RecordedStep(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A step of the scenario and what came of it."""

    name: str
    do: StepAction
    outcome: Literal["done", "refused", "skipped"]
    """``refused``: Message Queuing answered with ``status``; ``skipped``: for ``reason``."""
    reason: str = ""
    status: Word | None = None
    """The HRESULT as an unsigned number; 0 where it was done, null where the step was skipped."""
    format_name: str | None = None
    """What was opened."""
    remote: bool = False
    """Whether the queue is not the host's own, so that the step shows on the wire."""
    begun: Time | None = None
    ended: Time | None = None
    messages: Annotated[tuple[RecordedMessage, ...], msgspec.Meta(max_length=1000)] = ()
    """Those that it sent, or got; none of a step that was skipped."""
    properties: dict[str, str | Long | None] = {}
    """What a ``properties`` step was told."""


class RecordedHost(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A host that took part."""

    name: str
    addresses: tuple[str, ...] = ()
    system: str = ""
    """Its operating system, with edition and build."""
    queue_manager: str | None = None
    """The GUID of its queue manager."""


class Recording(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A run of a scenario; ``capture`` and ``storage`` are names in the folder of the recording."""

    version: Literal[1]
    made_by: str
    scenario_sha256: str
    own: RecordedHost
    other: RecordedHost | None = None
    begun: Time
    ended: Time
    capture: str | None = None
    storage: str | None = None
    steps: Annotated[tuple[RecordedStep, ...], msgspec.Meta(max_length=1000)]


def read_recording(data: bytes) -> Recording:
    """Read a recording from JSON, with or without the byte order mark that Windows PowerShell writes.

    Raises:
        MsmqWireError: it is not one.
    """
    try:
        return msgspec.json.decode(data.removeprefix(b"\xef\xbb\xbf"), type=Recording)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise MsmqWireError(f"not a recording: {error}") from None


def write_recording(recording: Recording) -> bytes:
    """Return the JSON of a recording, indented, ending in a newline."""
    return msgspec.json.format(msgspec.json.encode(recording), indent=2) + b"\n"
