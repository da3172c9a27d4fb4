"""Queue names: format names, path names, and their packet and RPC forms. [MS-MQMQ] 2.1"""

from __future__ import annotations

from msmq_wire.wire.names.format_name import (
    FormatName,
    direct,
    distribution_list,
    format_multiple,
    parse_multiple,
    private,
    public,
)
from msmq_wire.wire.names.path_name import PathName
from msmq_wire.wire.names.queue_format_types import (
    QUEUE_FORMAT_FLAG_SYSTEM,
    QueueFormatType,
    QueueSuffixType,
    suffix_problems,
)
from msmq_wire.wire.names.wire_forms import from_wire, queue_format_arm, queue_format_name, wire_parts

__all__ = [
    "QUEUE_FORMAT_FLAG_SYSTEM",
    "FormatName",
    "PathName",
    "QueueFormatType",
    "QueueSuffixType",
    "direct",
    "distribution_list",
    "format_multiple",
    "from_wire",
    "parse_multiple",
    "private",
    "public",
    "queue_format_arm",
    "queue_format_name",
    "suffix_problems",
    "wire_parts",
]
