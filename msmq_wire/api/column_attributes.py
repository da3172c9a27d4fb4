"""`ColumnAttributes`: a record whose declared columns are attributes.

The rule kept here: a column is declared once. `message_attributes` and `call_attributes` are generated from
the declarations, so that editors and type checkers know each name and its type.
"""

from __future__ import annotations

from datetime import timedelta
from enum import IntEnum
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from msmq_wire.records.message_body import MessageBody
from msmq_wire.units import MICROSECOND

if TYPE_CHECKING:
    from msmq_wire.records import public_record
else:
    # `help` evaluates the annotation.
    from msmq_wire.records import record as public_record

_Names = TypeVar("_Names", bound=IntEnum)


class ColumnAttributes(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """What is read from ``record``, the item of the capture."""

    record: public_record.Record

    def _column(self, name: str) -> Any:
        """The value of a column."""
        raise NotImplementedError


def duration(nanoseconds: int | None) -> timedelta | None:
    """Nanoseconds as Python has them; what is below a microsecond is left out."""
    return None if nanoseconds is None else timedelta(microseconds=nanoseconds // MICROSECOND)


def member(names: type[_Names], number: int | None) -> _Names | int | None:
    """The member of an enumeration for a number, or the number where it has no name."""
    try:
        return number if number is None else names(number)
    except ValueError:
        return number


def body_bytes(body: MessageBody | None) -> bytes | None:
    """The bytes of a body."""
    return None if body is None else body.data
