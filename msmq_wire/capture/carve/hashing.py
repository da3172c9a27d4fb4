"""`Hasher`: SHA-256 of what is searched, on the way; `HashedFile` is what is kept of a file.

The rule kept here: what lies nowhere is hashed as zeros, but only so many of them as what lies somewhere
warrants.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Annotated

import msgspec

from msmq_wire.units import size_text
from msmq_wire.wire.private import FILE, PUBLIC

_FREE_ZEROS = 2 << 30
"""Bytes that lie nowhere and are hashed, beside `_ZEROS_EACH` for each byte that lies somewhere."""
_ZEROS_EACH = 16
_ZEROS = memoryview(bytes(1 << 20))
_AT_ONCE = 1 << 26
"""Zeros between two calls that may stop the hashing."""


class HashedFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file as it lies. Without ``sha256`` it was not hashed, and ``reason`` says why if that was wanted."""

    name: Annotated[str, FILE]
    size: int
    sha256: Annotated[str | None, PUBLIC] = None
    reason: Annotated[str | None, PUBLIC] = None


class Hasher:
    """Takes a hash beside the search, on a thread of its own: hashing needs no lock of the interpreter.

    ``reason`` says why there is no hash though one was ``wanted``.
    """

    def __init__(self, *, wanted: bool) -> None:
        self.reason: str | None = None
        self._digest = hashlib.sha256() if wanted else None
        self._zeros = _FREE_ZEROS
        self._pool: ThreadPoolExecutor | None = None
        self._running: Future[None] | None = None

    def __enter__(self) -> Hasher:
        if self._digest is not None:
            self._pool = ThreadPoolExecutor(1)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pool is not None:
            self._pool.shutdown()

    @property
    def sha256(self) -> str | None:
        """The hash so far, in hexadecimal digits."""
        return None if self._digest is None else self._digest.hexdigest()

    def update(self, data: memoryview) -> None:
        """Begin to hash bytes that stay until the next call."""
        self._wait()
        if self._pool is not None and self._digest is not None:
            self._running = self._pool.submit(self._digest.update, data)

    def copy(self, data: bytes | bytearray | memoryview) -> None:
        """Hash bytes that may change at once."""
        self.update(memoryview(bytes(data)))

    def allow_zeros(self, held: int) -> None:
        """Set how many zeros are hashed from now on, beside ``held`` bytes that lie somewhere."""
        self._zeros = _FREE_ZEROS + _ZEROS_EACH * held

    def zeros(self, count: int, total: int, before: Callable[[], None]) -> None:
        """Hash a hole in ``total`` bytes, with ``before`` now and then; nothing at all from too many on."""
        self._wait()
        self._zeros -= count
        if self._digest is None or count <= 0:
            return
        if self._zeros < 0:
            self._digest = None
            self.reason = f"most of {size_text(total)} was never written"
            return
        for done in range(0, count, len(_ZEROS)):
            if done % _AT_ONCE == 0:
                before()
            self._digest.update(_ZEROS[: min(count - done, len(_ZEROS))])

    def _wait(self) -> None:
        """Wait until the bytes given last are hashed."""
        if self._running is not None:
            self._running.result()
            self._running = None
