"""Bytes that are written as hex digits with comments, as those under fixtures/packets are."""

from __future__ import annotations

from pathlib import Path


def hex_bytes(path: Path) -> bytes:
    """The bytes of a .hex file."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return bytes.fromhex("".join(line.partition("#")[0] for line in lines))
