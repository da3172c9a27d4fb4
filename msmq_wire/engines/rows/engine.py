"""The rows engine: Python functions generated from the declarations, one value at a time.

The rule kept here: what is regular is done here, what is not is done by the reference engine. A generated
function returns None as soon as anything is out of the ordinary (bytes that are lacking, an unknown type,
parts that contradict their flags), and then the reference engine says what it is. So both give the same
values and the same errors, and a generated function has no error handling at all.

Functions are made in memory, on first use of a structure and once per process: so they cannot be out of date,
and structures that later layers declare need no step of their own. `source` shows them.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

from msmq_wire.engines import reference
from msmq_wire.engines.rows.decoding import Decoding
from msmq_wire.engines.rows.encoding import Encoding
from msmq_wire.wire.stream import Range

_IRREGULAR = (struct.error, OverflowError)
_UNFIT = (struct.error, OverflowError, TypeError, AttributeError, ValueError)

_decoders: dict[Any, Any] = {}
_encoders: dict[Any, Any] = {}


def parse(cls: Any, data: bytes, missing: Sequence[Range] = ()) -> tuple[Any, int]:
    """Decode one structure from the start of ``data``: the value and the bytes it took.

    Same results and errors as `reference.parse`.
    """
    if not missing:
        decode = _decoders.get(cls) or _compile(cls, _decoders, Decoding)
        try:
            found: tuple[Any, int] | None = decode(data, len(data))
        except _IRREGULAR:
            found = None
        if found is not None:
            return found
    return reference.parse(cls, data, missing)


def build(value: Any, missing: Sequence[Range] = ()) -> bytes:
    """Encode a structure; same results and errors as `reference.build`."""
    if not missing:
        cls = value.__class__
        encode = _encoders.get(cls)
        if encode is None:
            if not hasattr(cls, "schema"):
                return reference.build(value, missing)
            encode = _compile(cls, _encoders, Encoding)
        try:
            data: bytes | None = encode(value)
        except _UNFIT:
            data = None
        if data is not None:
            return data
    return reference.build(value, missing)


def source(cls: Any) -> str:
    """The functions that are generated for a structure, as text."""
    return f"{Decoding(cls).code.source}\n\n{Encoding(cls).code.source}"


def _compile(cls: Any, functions: dict[Any, Any], generator: Any) -> Any:
    function = functions[cls] = generator(cls).code.compiled()
    return function
