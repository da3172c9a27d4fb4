"""Path names: ``computer\\queue``, ``computer\\private$\\queue``, ``computer\\system$;suffix``."""

from __future__ import annotations

import msgspec

from msmq_wire import arguments
from msmq_wire.errors import FormatNameError
from msmq_wire.representation import parse_line
from msmq_wire.wire.names.grammar import (
    BACKSLASH,
    check_computer,
    check_path,
    compare_text,
    split_place,
    split_suffix,
    suffix_text,
)
from msmq_wire.wire.names.queue_format_types import SYSTEM_SUFFIXES, QueueSuffixType


class PathName(msgspec.Struct, frozen=True, kw_only=True):
    """The path of a queue. [MS-MQMQ] 2.1.1

    ``computer`` is 1 to 256 characters, ``"."`` is the local computer. ``path`` is what follows it as
    written, separator first and without suffix: ``\\private$\\q``. ``subqueue`` (1 to 32 characters)
    belongs to the suffix SUBQUEUE. Every instance is valid: making one raises FormatNameError
    when a part breaks the grammar. ``==`` compares as written, ``compare_key`` without regard to case.
    """

    computer: str
    path: str
    suffix: QueueSuffixType = QueueSuffixType.NONE
    subqueue: str = ""

    def __post_init__(self) -> None:
        check_computer("computer name", self.computer)
        check_path(self.path, self.suffix, self.subqueue)

    @classmethod
    def parse(cls, text: str) -> PathName:
        r"""Read a path name such as ``.\private$\orders;retry``; keywords in any case.

        Raises FormatNameError that names the wrong part and the character in it.
        """
        arguments.check_text("a path name", text)
        name, suffix, subqueue = split_suffix(text)
        computer, backslash, rest = name.partition(BACKSLASH)
        try:
            return cls(computer=computer, path=backslash + rest, suffix=suffix, subqueue=subqueue)
        except FormatNameError as error:
            raise FormatNameError(f"{error}: {text[:80]!r} is no path name") from None

    __repr__ = parse_line

    def __str__(self) -> str:
        return f"{self.computer}{self.path}{suffix_text(self.suffix, self.subqueue)}"

    @property
    def queue(self) -> str:
        """The queue name alone, "" for a system queue."""
        return split_place(self.path)[1]

    @property
    def is_private(self) -> bool:
        """Whether ``private$`` stands before the queue name."""
        return split_place(self.path)[0] == "private$"

    @property
    def is_system(self) -> bool:
        """Whether it is a journal or dead-letter queue, which only the queue manager writes to."""
        return self.suffix in SYSTEM_SUFFIXES

    @property
    def compare_key(self) -> str:
        """Text that is equal for two spellings of one path; computers and queues ignore case."""
        return compare_text(str(self))
