"""Records of LDIF (RFC 2849), as ldifde and ldapsearch write them.

The rule kept here: a record is what is in the text; nothing is fetched, and changes are refused.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Collection, Iterator

import msgspec

from msmq_wire.errors import TopologyError
from msmq_wire.routing.topology_names import shown

_NOT_RECORDS = frozenset(("search", "result", "ref", "numresponses", "numentries"))
"""How the records begin that ldapsearch writes about its search."""
_ATTRIBUTE = re.compile(r"[A-Za-z0-9.-]+(?:;[A-Za-z0-9=*.-]+)*")
_LONGEST_NAME = 96


class LdifRecord(msgspec.Struct, frozen=True, kw_only=True):
    """An object: its distinguished name, the number of its first line, and values by attribute.

    Attributes are in lower case and without options.
    """

    dn: str
    line: int
    attributes: dict[str, list[bytes]]

    @property
    def label(self) -> str:
        """What messages call it."""
        return f"line {self.line} ({shown(self.dn, _LONGEST_NAME)})"


def ldif_records(text: str, wanted: Collection[str]) -> Iterator[LdifRecord]:
    """The objects of an export, with those of their attributes that are wanted (in lower case).

    Lines end with a line feed; where they ended otherwise, the caller has made it so.
    Raises TopologyError for a line that is none, for a change record, and for a value that would have to be
    fetched.
    """
    record: LdifRecord | None = None
    skipping = False
    for number, line in _logical_lines(text):
        if not line:
            if record is not None:
                yield record
            record, skipping = None, False
            continue
        if skipping:
            continue
        attribute, value = _pair(number, line)
        if record is None:
            if attribute == "version":
                if value != b"1":
                    raise TopologyError(f"line {number}: this is LDIF of another version than 1")
            elif attribute == "dn":
                record = LdifRecord(dn=_decoded(number, value), line=number, attributes={})
            elif attribute in _NOT_RECORDS:
                skipping = True
            else:
                raise TopologyError(f"line {number}: a record begins with dn:, not with {shown(line)}")
        elif attribute == "dn":
            raise TopologyError(f"line {number}: no blank line before the next dn:")
        elif attribute == "control" or (attribute == "changetype" and value.lower() != b"add"):
            what = attribute if attribute == "control" else f"changetype {shown(_decoded(number, value))}"
            raise TopologyError(f"{record.label}: {what} makes this a change, and only objects are read")
        elif attribute in wanted:
            record.attributes.setdefault(attribute, []).append(value)
    if record is not None:
        yield record


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines with what was folded put together, and without comments; an empty one ends a record."""
    first, parts = 0, [""]
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith(" "):
            if not parts[0]:
                raise TopologyError(f"line {number}: there is no line that this one goes on with")
            parts.append(line[1:])
            continue
        if first and not parts[0].startswith("#"):
            yield first, "".join(parts)
        first, parts = number, [line]
    if not parts[0].startswith("#"):
        yield first, "".join(parts)


def _pair(number: int, line: str) -> tuple[str, bytes]:
    name, colon, value = line.partition(":")
    if not colon or not _ATTRIBUTE.fullmatch(name):
        raise TopologyError(f"line {number}: {shown(line)} is no attribute with a value")
    attribute = name.partition(";")[0].lower()
    if value.startswith("<"):
        raise TopologyError(f"line {number}: {shown(name)} has its value elsewhere; nothing is fetched")
    if not value.startswith(":"):
        return attribute, value.lstrip(" ").encode()
    try:
        return attribute, base64.b64decode(value[1:].strip(" ").encode(), validate=True)
    except binascii.Error:
        raise TopologyError(f"line {number}: the value of {shown(name)} is no base64") from None


def _decoded(number: int, value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise TopologyError(f"line {number}: this value is no UTF-8 text") from None


def distinguished_name(text: str) -> tuple[tuple[str, str], ...]:
    r"""The parts of a distinguished name (RFC 4514): types in lower case, and values, escapes undone.

    ``cn = B\2CC, dc=x`` gives ``(("cn", "B,C"), ("dc", "x"))``. Values keep their letter case, which does not
    count when names are compared. Raises TopologyError.
    """
    parts = []
    for part in _split(text):
        kind, equal, value = part.partition("=")
        if not equal or not kind.strip():
            raise TopologyError(f"{shown(text, _LONGEST_NAME)} is no distinguished name")
        try:
            parts.append((kind.strip().lower(), _unescaped(value)))
        except UnicodeDecodeError:
            raise TopologyError(f"{shown(text, _LONGEST_NAME)} is no distinguished name") from None
    return tuple(parts)


def _split(text: str) -> list[str]:
    if "\\" not in text:
        return text.split(",")
    # An odd one of backslashes escapes what follows it.
    parts, start, at = [], 0, 0
    while at < len(text):
        if text[at] == "\\":
            at += 1
        elif text[at] == ",":
            parts.append(text[start:at])
            start = at + 1
        at += 1
    return [*parts, text[start:]]


_ESCAPED = re.compile(r"((?:\\[0-9A-Fa-f]{2})+)|\\(.)", re.DOTALL)


def _unescaped(value: str) -> str:
    value = value.lstrip(" ")
    bare = value.rstrip(" ")
    # A space after a backslash belongs to the value.
    if (len(bare) - len(bare.rstrip("\\"))) % 2 and len(bare) < len(value):
        bare += " "
    if "\\" not in bare:
        return bare

    def plain(found: re.Match[str]) -> str:
        pairs, one = found.groups()
        return one if pairs is None else bytes.fromhex(pairs.replace("\\", "")).decode()

    return _ESCAPED.sub(plain, bare)
