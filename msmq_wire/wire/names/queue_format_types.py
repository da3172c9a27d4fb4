"""The numbers that select the type of a queue name, and the rules for them.

``QUEUE_FORMAT`` travels in RPC calls only; its selector is also the vocabulary of this package, so
a name has one kind whatever carried it.
"""

from __future__ import annotations

from enum import IntEnum

QUEUE_FORMAT_FLAG_SYSTEM = 0x80
"""Flags subfield of ``m_SuffixAndFlags``: the queue is a system queue. [MS-MQMQ] 2.2.7"""

FLAGS_MASK = 0xF0
SUFFIX_MASK = 0x0F


class QueueFormatType(IntEnum):
    """``m_qft``, the arm of a QUEUE_FORMAT. [MS-MQMQ] 2.2.6"""

    UNKNOWN = 0
    PUBLIC = 1
    PRIVATE = 2
    DIRECT = 3
    MACHINE = 4
    CONNECTOR = 5
    DL = 6
    MULTICAST = 7
    SUBQUEUE = 8


class QueueSuffixType(IntEnum):
    """Low four bits of ``m_SuffixAndFlags``. [MS-MQMQ] 2.2.11"""

    NONE = 0
    JOURNAL = 1
    DEADLETTER = 2
    DEADXACT = 3
    XACTONLY = 4
    SUBQUEUE = 5


QUEUE_FORMAT_TYPES = frozenset(map(int, QueueFormatType))
QUEUE_SUFFIX_TYPES = frozenset(map(int, QueueSuffixType))

SYSTEM_SUFFIXES = frozenset({QueueSuffixType.JOURNAL, QueueSuffixType.DEADLETTER, QueueSuffixType.DEADXACT})
"""Suffixes of queues that only the queue manager writes to; each demands the system flag."""

_ANY = frozenset(range(0x100))

# Flags that a suffix demands (None: the text demands none) and the values of m_qft it may stand with.
_RULES: dict[int, tuple[int | None, frozenset[int]]] = {
    QueueSuffixType.NONE: (0x00, _ANY - {4}),
    QueueSuffixType.JOURNAL: (QUEUE_FORMAT_FLAG_SYSTEM, _ANY - {5, 6, 7}),
    QueueSuffixType.DEADLETTER: (QUEUE_FORMAT_FLAG_SYSTEM, _ANY - {1, 2, 5, 6, 7}),
    QueueSuffixType.DEADXACT: (QUEUE_FORMAT_FLAG_SYSTEM, frozenset({3, 4})),
    QueueSuffixType.XACTONLY: (None, frozenset({5})),
    QueueSuffixType.SUBQUEUE: (0x00, frozenset({8})),
}


def suffix_problems(qft: int, suffix_and_flags: int) -> tuple[str, ...]:
    """Return one sentence for each MUST of [MS-MQMQ] 2.2.7 that the two bytes break, () for none.

    ``qft`` and ``suffix_and_flags`` are ``m_qft`` and ``m_SuffixAndFlags``, 0 to 255. Values that the
    enumerations do not know are problems too; nothing is raised.
    """
    problems = []
    if qft not in QUEUE_FORMAT_TYPES:
        problems.append(f"m_qft 0x{qft:02x} is no QUEUE_FORMAT_TYPE")
    suffix = suffix_and_flags & SUFFIX_MASK
    flags = suffix_and_flags & FLAGS_MASK
    if flags not in (0x00, QUEUE_FORMAT_FLAG_SYSTEM):
        problems.append(f"Flags 0x{flags:02x} is neither 0x00 nor 0x80")
    if suffix not in _RULES:
        problems.append(f"Suffix Type 0x{suffix:02x} is no QUEUE_SUFFIX_TYPE")
        return tuple(problems)
    demanded, allowed = _RULES[suffix]
    name = f"QUEUE_SUFFIX_TYPE_{QueueSuffixType(suffix).name}"
    if demanded is not None and flags != demanded:
        problems.append(f"{name} needs Flags 0x{demanded:02x}, found 0x{flags:02x}")
    if qft not in allowed:
        type_name = f" ({QueueFormatType(qft).name})" if qft in QUEUE_FORMAT_TYPES else ""
        problems.append(f"{name} is not allowed with m_qft 0x{qft:02x}{type_name}")
    return tuple(problems)
