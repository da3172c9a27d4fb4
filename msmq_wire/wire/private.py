"""What an annotation says that a field tells: `Private` or `Public`, of records and elements as of headers.

The rule kept here: a text, bytes or a GUID is private until its own declaration says otherwise, and a number
public. What stands for a private value is found by the marker, in `msmq_wire.report.redaction`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from functools import cache
from typing import Annotated, Any, Final, Literal, TypeAlias, get_args, get_origin, get_type_hints

import msgspec

What: TypeAlias = Literal["body", "label", "host", "secret"]
"""What a value tells; a secret goes with whatever else is asked to go."""
Form: TypeAlias = Literal[
    "",
    "binding",
    "captured_in",
    "correlation",
    "endpoint",
    "file",
    "filler",
    "guid",
    "header",
    "identifier",
    "label",
    "media_type",
    "message_id",
    "note",
    "part",
    "path",
    "port",
    "queue",
    "reason",
    "sender",
    "sentence",
    "stream",
    "target",
    "url",
    "without_guids",
]
"""How a value is written of which a part may stay."""


class Private(msgspec.Struct, frozen=True):
    """Goes where ``what`` is asked to go; ``by``, an expression as in a MUST, says more of its ``form``."""

    what: What
    form: Form = ""
    by: Callable[[Any], Any] | None = None


class Public(msgspec.Struct, frozen=True):
    """Stays: every value, or texts that match ``only``, or are ``among`` those known; other texts are secret.

    ``among`` may be a function of the view of the structure.
    """

    only: re.Pattern[str] | None = None
    among: Collection[str] | Callable[[Any], Collection[str]] | None = None


PUBLIC: Final = Public()
BODY: Final = Private("body")
IDENTIFIER: Final = Private("host", "identifier")
"""A GUID that a host made: of version 1 it holds the address of its network card, and the time."""
LABEL: Final = Private("label")
HOST: Final = Private("host")
CORRELATION: Final = Private("host", "correlation")
ENDPOINT: Final = Private("host", "endpoint")
FILE: Final = Private("host", "file")
MESSAGE_ID: Final = Private("host", "message_id")
NOTE: Final = Private("host", "note")
QUEUE_NAME: Final = Private("host", "queue")
URL: Final = Private("host", "url")


@cache
def privacy(cls: type) -> Mapping[str, Private | Public]:
    """What the fields of any declared class tell, of those that say it."""
    return {
        name: marker
        for name, hint in get_type_hints(cls, include_extras=True).items()
        if get_origin(hint) is Annotated
        for marker in get_args(hint)[1:]
        if isinstance(marker, Private | Public)
    }
