"""`IdCollisions`: tells messages apart that share one identifier.

The rule kept here: what differs in time, label or body is another message. Hosts that were cloned give theirs
one identifier, and so does who sends prepared packets; what names such a message is about the last that the
host it goes to sent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msmq_wire.records.endpoint import host_of
from msmq_wire.sessions.followed_message import FollowedMessage

IDENTIFIER = 20
"""Bytes of an identifier, which the key of a message begins with; more stand for the content of a twin."""
_64_BITS = (1 << 64) - 1


class IdCollisions:
    """Keeps the keys of those of ``messages`` whose identifier another one has."""

    def __init__(self, messages: Mapping[bytes | str, FollowedMessage]) -> None:
        self._messages = messages
        self._keys: dict[bytes, dict[str, dict[bytes, None]]] = {}

    def find(self, key: bytes, content: int | None, src: str) -> tuple[bytes, FollowedMessage | None]:
        """The message of an identifier and a content (None: not known), if it is kept, and its key.

        One that is not is of ``src``.
        """
        known = self._messages.get(key)
        if content is None or (known is None and key not in self._keys):
            return key, known
        if known is not None and (known.content is None or known.content == content):
            return key, known
        own = key + (content & _64_BITS).to_bytes(8, "little")
        twin = self._messages.get(own)
        if twin is None and known is None:
            return key, None
        if twin is None:
            self._keys.setdefault(key, {}).setdefault(host_of(src), {})[own] = None
        return own, twin

    def named(self, key: bytes, to: str) -> FollowedMessage | None:
        """The message that what goes to ``to`` means with an identifier."""
        of_host = self._keys.get(key, {}).get(host_of(to), ())
        return self._messages.get(next(reversed(of_host), key))

    def knows(self, key: bytes | str) -> bool:
        """Whether a message with an identifier is kept."""
        return key in self._messages or key in self._keys

    def none_of(self, keys: Mapping[bytes | str, FollowedMessage]) -> bool:
        """Whether no message with one of these identifiers is kept."""
        return self._messages.keys().isdisjoint(keys) and self._keys.keys().isdisjoint(keys)

    def forget(self, key: bytes | str, src: str) -> None:
        """A message of ``src`` is kept no longer."""
        if isinstance(key, str) or len(key) == IDENTIFIER:
            return
        hosts, host = self._keys[key[:IDENTIFIER]], host_of(src)
        del hosts[host][key]
        if not hosts[host]:
            del hosts[host]
        if not hosts:
            del self._keys[key[:IDENTIFIER]]


def colliding_with(messages: Sequence[FollowedMessage]) -> list[FollowedMessage]:
    """Those of which another one has the identifier."""
    keys = (one.key for one in messages)
    names = {key[:IDENTIFIER] for key in keys if isinstance(key, bytes) and len(key) > IDENTIFIER}
    return [one for one in messages if one.key[:IDENTIFIER] in names] if names else []
