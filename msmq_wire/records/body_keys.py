"""Private keys of queue managers, while they are in force: what opens encrypted bodies as they are told.

The rule kept here: a record is what was on the wire, with or without a key. Who has one says so around the
telling, and a body is opened when something asks for it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Protocol

from msmq_wire.arguments import wrong_type


class OpenedBody(Protocol):
    """What became of a cipher text: ``body`` and ``how`` it was opened, or ``why`` it was not.

    ``doubtful`` says that nothing confirms the body.
    """

    @property
    def body(self) -> bytes | None: ...

    @property
    def how(self) -> str: ...

    @property
    def why(self) -> str: ...

    @property
    def doubtful(self) -> bool: ...


class OpensBodies(Protocol):
    """What has private keys, as `msmq_wire.sealing.opening.BodyOpener`."""

    def open_body(
        self, algorithm: int | None, key: bytes, data: bytes, size: int, level: int | None = None
    ) -> OpenedBody:
        """Open a cipher text with the session key in a SIMPLEBLOB; raises nothing."""


class _Keys:
    """An opener, and what it said last: a body is asked for by column, filter and finding alike."""

    def __init__(self, opener: OpensBodies, tell: Callable[[OpenedBody], None] | None) -> None:
        self._opener = opener
        self._tell = tell
        self._asked: tuple[int | None, bytes, bytes, int, int | None] | None = None
        self._last: OpenedBody | None = None

    def open(
        self, algorithm: int | None, key: bytes, data: bytes, size: int, level: int | None
    ) -> OpenedBody:
        asked = algorithm, key, data, size, level
        if self._last is None or asked != self._asked:
            self._asked, self._last = asked, self._opener.open_body(*asked)
            if self._tell is not None:
                self._tell(self._last)
        return self._last


_IN_FORCE: ContextVar[_Keys | None] = ContextVar("keys of bodies", default=None)


def put_in_force(opener: OpensBodies | None, tell: Callable[[OpenedBody], None] | None = None) -> None:
    """Let bodies be opened from now on, to the end of the `opening_bodies` around this; None ends it.

    ``tell`` is told what became of each body, of one that is asked for again once.
    """
    _IN_FORCE.set(None if opener is None else _Keys(opener, tell))


@contextlib.contextmanager
def opening_bodies(opener: OpensBodies | None) -> Iterator[None]:
    """Let bodies be opened while this lasts. Raises TypeError for what opens none."""
    if opener is not None and not callable(getattr(opener, "open_body", None)):
        raise TypeError(
            wrong_type("opener", "an object with a method 'open_body'", opener, "BodyOpener(keys)")
        )
    token = _IN_FORCE.set(None)
    put_in_force(opener)
    try:
        yield
    finally:
        _IN_FORCE.reset(token)


def keys_in_force() -> bool:
    """Whether any key is: encrypted bodies are then worth a look."""
    return _IN_FORCE.get() is not None


def opened(
    algorithm: int | None, key: bytes, data: bytes, size: int, level: int | None = None
) -> OpenedBody | None:
    """What a cipher text is under the keys in force; None without any. ``level`` is that of a packet."""
    keys = _IN_FORCE.get()
    return None if keys is None else keys.open(algorithm, key, data, size, level)
