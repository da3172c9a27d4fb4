"""The numbers and words in parameters, and the codes that end calls."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from enum import Enum, IntEnum, IntFlag
from typing import Any

from docs.generators.markers import code, table
from msmq_wire.rpc import constants
from msmq_wire.rpc.rpc_statuses import NCA_STATUSES, WIN32_ERRORS
from msmq_wire.rpc.statuses import MQ_HRESULTS, SYSTEM_STATUSES
from msmq_wire.wire.names.queue_format_types import QueueFormatType, QueueSuffixType
from msmq_wire.wire.registry import defined_in

__all__ = ["constants_block", "statuses_block"]


def constants_block() -> str:
    """Every enumeration of `msmq_wire.rpc.constants`, and those of QUEUE_FORMAT."""
    declared: tuple[Any, ...] = (*defined_in(constants), QueueFormatType, QueueSuffixType)
    found: dict[str, Any] = {one.__name__: one for one in declared}
    parts = []
    for name, members in sorted(found.items()):
        if issubclass(members, Enum):
            parts += [f"### {name} {{ #{name.lower()} }}", inspect.cleandoc(members.__doc__ or "")]
            if issubclass(members, IntEnum | IntFlag):
                rows = [(code(f"0x{int(one):08X}"), int(one), code(one.name)) for one in members]
                parts.append(table(("Hex", "Value", "Name"), rows))
            else:
                parts.append(table(("Text",), [(code(one.value),) for one in members]))
    return "\n\n".join(parts)


def statuses_block() -> str:
    """Every code with its symbol and meaning, by the list that it is from."""
    lists: tuple[tuple[str, Mapping[int, tuple[str, str]]], ...] = (
        ("HRESULTs of message queuing", MQ_HRESULTS),
        ("Win32 errors", WIN32_ERRORS),
        ("DCE RPC statuses", NCA_STATUSES),
        ("Other NTSTATUS and HRESULT codes", SYSTEM_STATUSES),
    )
    parts = []
    for title, codes in lists:
        rows = [
            (code(f"0x{number:08X}"), code(symbol), text) for number, (symbol, text) in sorted(codes.items())
        ]
        parts.append(f"### {title}\n\n{table(('Code', 'Symbol', 'Meaning'), rows)}")
    return "\n\n".join(parts)
