"""What counts as bytes where bytes are asked for: buffers, and nothing else.

``bytes(5)`` is five zeros and ``bytes(2_000_000_000)`` two gigabytes of them: who gives a number by mistake
would be answered.
"""

from __future__ import annotations


def as_buffer(data: object, name: str = "data") -> memoryview:
    """A view of a buffer: bytes, bytearray, memoryview, mmap and others.

    Raises TypeError for anything else, which says that ``name`` must be one.
    """
    try:
        return memoryview(data)  # type: ignore[arg-type]  # what is none is told
    except TypeError:
        kind = type(data).__name__
    hint = ": bytes.fromhex reads hexadecimal text" if isinstance(data, str) else ""
    raise TypeError(f"{name} must be bytes or another buffer (bytearray, memoryview, mmap), not {kind}{hint}")


def as_bytes(data: object, name: str = "data") -> bytes:
    """The bytes of a buffer, copied unless they are bytes already; errors as for `as_buffer`."""
    return data if type(data) is bytes else as_buffer(data, name).tobytes()
