"""Whose certificate it is: the subject of an X.509 certificate, for people to read.

The rule kept here: nothing is verified; bytes that are no certificate name nobody.
"""

from __future__ import annotations

from collections.abc import Iterator

_SEQUENCE, _SET, _OBJECT_ID, _VERSION = 0x30, 0x31, 0x06, 0xA0
_NAMES = {
    b"\x55\x04\x03": "CN",
    b"\x55\x04\x06": "C",
    b"\x55\x04\x07": "L",
    b"\x55\x04\x0a": "O",
    b"\x55\x04\x0b": "OU",
    bytes.fromhex("2a864886f70d010901"): "E",
    bytes.fromhex("0992268993f22c640119"): "DC",
}
_ENCODINGS = {0x0C: "utf-8", 0x13: "ascii", 0x14: "latin-1", 0x16: "ascii", 0x1E: "utf-16-be"}
_MOST = 64


def subject_text(certificate: bytes) -> str | None:
    """The subject as ``CN=orders, O=Example``; None where the bytes do not give one. [RFC 5280] 4.1.2.6"""
    outer = next(_elements(certificate), None)
    if outer is None or outer[0] != _SEQUENCE:
        return None
    signed = next(_elements(outer[1]), None)
    if signed is None or signed[0] != _SEQUENCE:
        return None
    fields = [data for kind, data in _elements(signed[1]) if kind != _VERSION]
    # Serial number, algorithm, issuer, validity, subject.
    return ", ".join(_attributes(fields[4])) or None if len(fields) > 4 else None


def _attributes(name: bytes) -> Iterator[str]:
    for kind, group in _elements(name):
        for inner, attribute in _elements(group) if kind == _SET else ():
            parts = list(_elements(attribute)) if inner == _SEQUENCE else []
            if len(parts) == 2 and parts[0][0] == _OBJECT_ID:
                text = parts[1][1].decode(_ENCODINGS.get(parts[1][0], "latin-1"), "replace")
                yield f"{_NAMES.get(parts[0][1], 'other')}={text[:128]}"


def _elements(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Tags of one byte with their contents, as far as the lengths fit."""
    at = 0
    for _ in range(_MOST):
        if at + 2 > len(data):
            return
        kind, size = data[at], data[at + 1]
        at += 2
        if size & 0x80:
            digits = size & 0x7F
            if not 0 < digits <= 4 or at + digits > len(data):
                return
            size = int.from_bytes(data[at : at + digits], "big")
            at += digits
        if at + size > len(data):
            return
        yield kind, data[at : at + size]
        at += size
