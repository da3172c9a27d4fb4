r"""Names of queues that are known by number alone, while they are in force: `QueueNames`.

The rule kept here: ``PRIVATE=guid\number`` is a queue of one queue manager. A name is sure only where it is
known whose numbers they are. Else it is a perhaps, and where two files disagree there is no name.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator
from contextvars import ContextVar
from typing import TypeVar

import msgspec

_GUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_QUEUE = re.compile(
    rf"PRIVATE=(?P<manager>{_GUID})\\(?P<number>[0-9a-f]{{1,8}})"
    r"(?![0-9a-f-])(?:;[a-z]{1,16})?",
    re.IGNORECASE,
)
_MOST_MANAGERS = 16
_K = TypeVar("_K")


class RegisteredQueue(msgspec.Struct, frozen=True, kw_only=True):
    """What a queue manager calls a queue: ``name`` as ``private$\\orders``, and its label.

    ``number`` is that of a private queue. ``sure`` says that its texts were read in a known encoding.
    """

    name: str
    label: str = ""
    number: int | None = None
    sure: bool = True

    @property
    def text(self) -> str:
        """The name, with the label where that says more."""
        says = self.label and self.label.casefold() not in _ends(self.name.casefold())
        return f'{self.name}, "{self.label}"' if says else self.name


class QueueNames:
    """Registered queues of any number of queue managers.

    ``unknown`` are the folders that do not say whose they are, ``asked`` the GUIDs of queue managers, at most
    16, for whose queues such a folder had a name.
    """

    def __init__(self) -> None:
        self.unknown: list[str] = []
        self.asked: dict[str, None] = {}
        self._private: dict[tuple[str, int], RegisteredQueue | None] = {}
        self._managers: set[str] = set()

    def add(self, queues: Iterable[RegisteredQueue], manager: str | None, source: str = "") -> None:
        """Take the queues in a folder of the queue manager with this GUID; None where nobody says which."""
        if manager is None:
            self.unknown.append(source)
        else:
            self._managers.add(manager.lower())
        for queue in queues:
            if queue.number is not None:
                _put(self._private, ((manager or "").lower(), queue.number), queue)

    def find(self, format_name: str) -> tuple[RegisteredQueue, bool] | None:
        """The queue that a format name means, and whether that is sure; None where nothing says it."""
        found = _QUEUE.fullmatch(format_name)
        return None if found is None else self._found(found)

    def named(self, text: str) -> str:
        """A text with the name behind each format name in it that has one."""
        return _QUEUE.sub(self._with_name, text)

    def _with_name(self, found: re.Match[str]) -> str:
        known = self._found(found)
        return found[0] if known is None else f"{found[0]} ({_said(known[0].text, known[1])})"

    def _found(self, match: re.Match[str]) -> tuple[RegisteredQueue, bool] | None:
        manager, number = match["manager"].lower(), int(match["number"], 16)
        if manager in self._managers:
            # What is known of a queue manager is all that counts for it.
            queue = self._private.get((manager, number))
            return None if queue is None else (queue, queue.sure)
        queue = self._private.get(("", number))
        if queue is None:
            return None
        if len(self.asked) < _MOST_MANAGERS:
            self.asked[manager] = None
        return queue, False


def _put(known: dict[_K, RegisteredQueue | None], key: _K, queue: RegisteredQueue) -> None:
    before = known.setdefault(key, queue)
    if before is not None and before.name.casefold() != queue.name.casefold():
        known[key] = None


def _ends(name: str) -> tuple[str, str]:
    return name, name.rpartition("\\")[2]


def _said(text: str, sure: bool) -> str:
    return text if sure else f"perhaps {text}"


_IN_FORCE: ContextVar[QueueNames | None] = ContextVar("names of queues", default=None)


def put_names_in_force(names: QueueNames | None) -> None:
    """Let queues be named from now on, to the end of the `naming_queues` around this; None ends it."""
    _IN_FORCE.set(names)


@contextlib.contextmanager
def naming_queues(names: QueueNames | None) -> Iterator[None]:
    """Let queues be named while this lasts."""
    token = _IN_FORCE.set(names)
    try:
        yield
    finally:
        _IN_FORCE.reset(token)


def names_in_force() -> QueueNames | None:
    """The names that count now."""
    return _IN_FORCE.get()


def with_queue_names(text: str) -> str:
    """A text for people with the name behind each format name in it that has one."""
    names = _IN_FORCE.get()
    return text if names is None else names.named(text)


def queue_suffix(format_name: str) -> str:
    """What `with_queue_names` would put behind a format name, without the label: for a narrow place.

    Where only its end fits, a question mark still says perhaps.
    """
    names = _IN_FORCE.get()
    known = None if names is None else names.find(format_name)
    if known is None:
        return ""
    queue, sure = known
    return f" ({queue.name})" if sure else f" (perhaps {queue.name}?)"


def sure_name(format_name: str) -> str | None:
    """The name of a queue, where that is sure."""
    return _sure(format_name, "name")


def sure_label(format_name: str) -> str | None:
    """The label of a queue, where that is sure."""
    return _sure(format_name, "label")


def _sure(format_name: str, what: str) -> str | None:
    names = _IN_FORCE.get()
    known = None if names is None else names.find(format_name)
    return getattr(known[0], what) if known is not None and known[1] else None
