"""The queues that a call names: every QUEUE_FORMAT and path name among its parameters, and their parts.

The rule kept here: parameters may be incomplete; missing parts are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from msmq_wire.records.record import Record
from msmq_wire.rpc.types.cac_transfer_buffer import CACTransferBufferV1, CACTransferBufferV2
from msmq_wire.rpc.types.queue_format import QueueFormat
from msmq_wire.wire.types.wchar_text import WcharText

_PLACES = ("$\\", "$/")
"""The end of ``private$`` before the name of the queue."""
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_ARMS = {3: "m_p_direct_id", 8: "m_p_direct_subqueue_id"}


def named_queues(record: Record) -> Iterator[tuple[str, QueueFormat]]:
    """Every QUEUE_FORMAT of a call with its path, those of the request first. [MS-MQMQ] 2.2.7"""
    for side in ("request", "response"):
        value = getattr(record.packet, side, None)
        if not isinstance(value, msgspec.Struct):
            continue
        yield from _formats(f"{side}.p_queue_format", getattr(value, "p_queue_format", None))
        yield from _formats(f"{side}.p_object_format", getattr(value, "p_object_format", None))
        buffer = getattr(value, "ptb", None) or getattr(value, "ptb1", None)
        if isinstance(buffer, CACTransferBufferV2):
            buffer = buffer.old
        arm = buffer.arm if isinstance(buffer, CACTransferBufferV1) else None
        for name in ("p_admin_queue_format", "p_response_queue_format"):
            yield from _formats(f"{side}.{name}", getattr(arm, name, None))


def _formats(path: str, value: Any) -> Iterator[tuple[str, QueueFormat]]:
    if not isinstance(value, QueueFormat):
        path, value = f"{path}.p_queue_format", getattr(value, "arm", None)
    if isinstance(value, QueueFormat):
        yield path, value


def path_names(record: Record) -> Iterator[tuple[str, WcharText]]:
    """Every path name and direct name in a call, with the path of its field."""
    path = getattr(getattr(record.packet, "request", None), "lpwcs_path_name", None)
    if isinstance(path, WcharText):
        yield "request.lpwcs_path_name", path
    for where, queue in named_queues(record):
        if isinstance(queue.arm, WcharText):
            yield f"{where}.{_ARMS.get(queue.m_qft, 'arm')}", queue.arm


def split_path(text: str) -> tuple[str, str]:
    r"""The computer and the queue in ``OS:host\private$\queue;sub``, a URL or a path name.

    The result has no protocol, no ``private$``, and nothing after a semicolon. [MS-MQMQ] 2.1.1, 2.1.2
    """
    scheme = _SCHEME.match(text)
    slash = "/" if scheme else "\\"
    if scheme:
        rest = text[scheme.end() :]
    else:
        before, colon, after = text.partition(":")
        rest = after if colon and slash not in before else text
    computer, _, queue = rest.partition(slash)
    if scheme:
        # The path of the extension, /msmq most likely, comes first.
        queue = queue.partition(slash)[2]
    for place in _PLACES:
        head, found, tail = queue.partition(place)
        if found and slash not in head:
            queue = tail
            break
    return computer, queue.partition(";")[0]
