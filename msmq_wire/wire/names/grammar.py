"""What path names and direct format names share: characters, limits, ``private$``, ``;suffix``.

The rule kept here: keywords are matched without regard to ASCII case, everything that a person
chose (computer, queue, subqueue) is kept as written. The grammar of [MS-MQMQ] 2.1 is ASCII without
blanks; queue names of real deployments hold letters beyond ASCII and inner blanks, so both are
accepted. Control characters (DEL among them) and lone surrogates are not. Limits count UTF-16 code
units, as Windows does.
"""

from __future__ import annotations

import re

from msmq_wire.errors import FormatNameError
from msmq_wire.wire.names.queue_format_types import SYSTEM_SUFFIXES, QueueSuffixType

BACKSLASH = "\\"

COMPUTER_LIMIT = 256
QUEUE_LIMIT = 124
SUBQUEUE_LIMIT = 32

# The grammar of MSMQ 2.0 and later: the comma separates names in a list, the semicolon a suffix.
_QUEUE_REFUSES = '\\;,+"'
_COMPUTER_REFUSES = ' \\/;,"'

_NEVER_IN_A_NAME = re.compile(r"^ | $|[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")

_SUFFIX_WORDS = {
    suffix.name.lower(): suffix
    for suffix in QueueSuffixType
    if suffix not in (QueueSuffixType.NONE, QueueSuffixType.SUBQUEUE)
}


def check_text(what: str, text: str, limit: int, refused: str) -> None:
    """Refuse ``text`` that is empty, longer than ``limit`` or holds a character no name may hold.

    ``what`` opens the message; ``refused`` lists the separators that this part cannot hold.
    """
    if not text:
        raise FormatNameError(f"{what} is empty")
    length = len(text) + sum(char > "\uffff" for char in text)
    if length > limit:
        raise FormatNameError(f"{what} has {length} characters, at most {limit} are allowed")
    bad = [match.start() for match in [_NEVER_IN_A_NAME.search(text)] if match]
    bad += [index for char in refused if (index := text.find(char)) >= 0]
    if bad:
        index = min(bad)
        raise FormatNameError(f"{what} cannot hold U+{ord(text[index]):04X}, its character {index + 1}")


def check_computer(what: str, text: str) -> None:
    """Refuse text that is no computer name: 1 to 256 characters without separators. [MS-MQMQ] 2.1.1"""
    check_text(what, text, COMPUTER_LIMIT, _COMPUTER_REFUSES)


def split_suffix(text: str) -> tuple[str, QueueSuffixType, str]:
    """Split ``name;word`` at the first semicolon into name, suffix and the name of the subqueue.

    A word that is no suffix of [MS-MQMQ] 2.2.11 names a subqueue.
    """
    name, semicolon, word = text.partition(";")
    if not semicolon:
        return name, QueueSuffixType.NONE, ""
    suffix = _SUFFIX_WORDS.get(word.lower())
    return (name, QueueSuffixType.SUBQUEUE, word) if suffix is None else (name, suffix, "")


def suffix_text(suffix: QueueSuffixType, subqueue: str) -> str:
    """Return what :func:`split_suffix` splits off, semicolon included."""
    if suffix == QueueSuffixType.NONE:
        return ""
    return f";{subqueue}" if suffix == QueueSuffixType.SUBQUEUE else f";{suffix.name}"


def split_place(path: str, separators: str = BACKSLASH) -> tuple[str, str]:
    """Split the part after the computer into ``""``, ``"private$"`` or ``"system$"`` and the queue.

    ``path`` begins with a separator and has no suffix. A system queue has no name of its own.
    """
    rest = path[1:]
    place = rest[:8].lower()
    if place == "private$" and (len(rest) == 8 or rest[8] in separators):
        return place, rest[9:]
    if rest.lower() == "system$":
        return "system$", ""
    return "", rest


def check_path(path: str, suffix: QueueSuffixType, subqueue: str, separators: str = BACKSLASH) -> None:
    """Refuse what cannot follow a computer name. [MS-MQMQ] 2.1.1, 2.1.2"""
    if not path or path[0] not in separators:
        raise FormatNameError("queue name is missing after the address")
    place, queue = split_place(path, separators)
    if place == "system$":
        if suffix not in SYSTEM_SUFFIXES:
            raise FormatNameError("system$ needs ;JOURNAL, ;DEADLETTER or ;DEADXACT")
    else:
        check_text("queue name", queue, QUEUE_LIMIT, _QUEUE_REFUSES)
        if suffix in (QueueSuffixType.DEADLETTER, QueueSuffixType.DEADXACT):
            raise FormatNameError(f";{suffix.name} needs system$ in place of the queue name")
        if suffix == QueueSuffixType.XACTONLY:
            raise FormatNameError(";XACTONLY is for connector queues only")
    if suffix == QueueSuffixType.SUBQUEUE:
        check_text("subqueue name", subqueue, SUBQUEUE_LIMIT, _QUEUE_REFUSES)
        if subqueue.lower() in _SUFFIX_WORDS:
            raise FormatNameError(f"{subqueue!r} is a suffix and cannot name a subqueue")
    elif subqueue:
        raise FormatNameError("a subqueue name needs the suffix SUBQUEUE")


def compare_text(text: str) -> str:
    """Return ``text`` in upper case, character by character.

    A character whose upper case is longer (``ß``) stays as it is: two different names must not
    become one, which full case folding would do.
    """
    if text.isascii():
        return text.upper()
    return "".join(upper if len(upper := char.upper()) == 1 else char for char in text)
