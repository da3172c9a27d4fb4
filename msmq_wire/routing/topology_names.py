"""Names in topologies: how messages show them, and what a name that is written as a reference stands for.

The rule kept here: a message is one line of bounded length, whatever a file holds.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from itertools import islice

from msmq_wire.errors import TopologyError
from msmq_wire.invisible import numbered, seen
from msmq_wire.wire.types.guid import GUID

_LONGEST = 64
_LARGEST_BITS = 128
_MOST_LISTED = 5
_MOST_CANDIDATES = 1000
_GUID = re.compile(r"\{?[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\}?", re.IGNORECASE | re.ASCII)


def shown(value: str | int, longest: int = _LONGEST) -> str:
    """A text or a number for a message: what cannot be printed is escaped, what is long is cut."""
    if isinstance(value, int):
        if value.bit_length() > _LARGEST_BITS:
            # Python refuses to write out the largest of them.
            return f"{'-' if value < 0 else ''}(a number of {value.bit_length():,} bits)"
        return str(value)
    cut = value if len(value) <= longest else value[:longest] + "…"
    if cut.isascii() and cut.isprintable():
        return cut
    return "".join(one if seen(one) else numbered(one) for one in cut)


def listed(names: Sequence[str]) -> str:
    """How many there are, and the first five of them: ``7 (A, B, C, D, E and 2 more)``."""
    more = f" and {len(names) - _MOST_LISTED:,} more" if len(names) > _MOST_LISTED else ""
    return (
        f"{len(names):,} ({', '.join(shown(name, 2 * _LONGEST + 8) for name in names[:_MOST_LISTED])}{more})"
    )


def nearest(word: str, candidates: Iterable[str]) -> str:
    """``"; the nearest is ..."``, or nothing where no candidate is near; of many the first 1,000 count."""
    known = {one.casefold(): one for one in islice(candidates, _MOST_CANDIDATES) if len(one) <= _LONGEST}
    found = difflib.get_close_matches(word[:_LONGEST].casefold(), known, n=1)
    return f"; the nearest is {shown(known[found[0]])}" if found else ""


def guid_of(text: str) -> GUID | None:
    """The GUID that a text is, 8-4-4-4-12 with or without braces; None where it is none."""
    if not _GUID.fullmatch(text) or text.startswith("{") != text.endswith("}"):
        return None
    return GUID.parse(text)


class NameBook:
    """The entries of a kind by their names; letter case does not matter."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._names: dict[str, str] = {}
        self._identifiers: dict[str, set[GUID]] = {}
        self._first: dict[GUID, str] = {}

    def add(self, identifier: GUID, *names: str) -> None:
        """Enter an entry under its names; an empty one is none."""
        for name in filter(None, names):
            key = name.casefold()
            self._names.setdefault(key, name)
            self._identifiers.setdefault(key, set()).add(identifier)
            self._first.setdefault(identifier, name)

    def name(self, identifier: GUID) -> str | None:
        """The first name of an entry."""
        return self._first.get(identifier)

    def find(self, reference: str) -> GUID:
        """The identifier that a GUID or a name stands for.

        A GUID stands for itself, whether an entry has it or not. Raises TopologyError for a name that is not
        there, or that several have.
        """
        identifier = guid_of(reference)
        if identifier is not None:
            return identifier
        found = self._identifiers.get(reference.casefold(), ())
        if not found:
            near = nearest(reference, self._names.values())
            raise TopologyError(f"names {self._kind} {shown(reference)}, which is not in the topology{near}")
        if len(found) > 1:
            raise TopologyError(
                f"names {self._kind} {shown(reference)}, as {len(found):,} are called: give the identifier"
            )
        return next(iter(found))

    def reference(self, identifier: GUID, *names: str) -> str:
        """The first name that stands for this entry alone; its GUID where there is none."""
        for name in filter(None, names):
            if guid_of(name) is None and self._identifiers.get(name.casefold()) == {identifier}:
                return name
        return str(identifier)
