"""What the tests of single structures share: judging bent bytes, refusals, and the places of bits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from msmq_wire.engines.codec import decode, encode, inspect
from msmq_wire.errors import DecodeError, EncodeError
from msmq_wire.wire.fields import WireStruct

_PACKETS = Path(__file__).resolve().parents[2] / "fixtures" / "packets"

Patch = Mapping[int, str]
"""Hex digits to write at byte offsets; they may reach past the end."""
Spot = tuple[str, str, int, int]
"""Code, path, offset and length of an anomaly."""


def _bent(data: bytes, patch: Patch) -> bytes:
    for offset, digits in patch.items():
        new = bytes.fromhex(digits)
        data = data[:offset] + new + data[offset + len(new) :]
    return data


@pytest.fixture
def bent() -> Callable[[bytes, Patch], bytes]:
    """Writes hex digits into some bytes."""
    return _bent


@pytest.fixture
def judge() -> Callable[[str, bytes, Patch], list[Spot]]:
    """The anomalies of some bytes after a patch; the bytes must survive decode and encode."""

    def judged(stem: str, data: bytes, patch: Patch) -> list[Spot]:
        bytes_ = _bent(data, patch)
        result = inspect(bytes_, stem)
        assert result.error is None, str(result.error)
        assert encode(result.packet) == bytes_[: result.consumed]
        return [(found.code, found.path, found.offset, found.length) for found in result.anomalies]

    return judged


@pytest.fixture
def refusal() -> Callable[[str, bytes], tuple[str, str, int]]:
    """Code, path and offset of the error that some bytes end in."""

    def refused(stem: str, data: bytes) -> tuple[str, str, int]:
        with pytest.raises(DecodeError) as caught:
            decode(data, stem)
        error = caught.value
        assert error.spec is not None
        return error.code, error.path, error.offset

    return refused


@pytest.fixture
def contradiction() -> Callable[[WireStruct], str]:
    """The path of the error that a value cannot be written for."""

    def refused(value: WireStruct) -> str:
        with pytest.raises(EncodeError) as caught:
            encode(value)
        return caught.value.path

    return refused


@pytest.fixture
def check_bits() -> Callable[[WireStruct, str], None]:
    """Compares a structure's bits with a figure, from bit 0: ``"pr:3 in sh"``."""

    def check(value: WireStruct, figure: str) -> None:
        table = type(value).BITS
        assert table is not None
        expected = []
        shift = 0
        for part in figure.split():
            name, _, digits = part.partition(":")
            expected.append((name, shift, int(digits or 1)))
            shift += int(digits or 1)
        assert [(bit.name, bit.shift, bit.width) for bit in table.bits.values()] == expected
        clear = value.with_bits(**dict.fromkeys(table.bits, 0))
        assert all(clear.bit(name) == 0 for name in table.bits)
        for name, at, width in expected:
            top = (1 << width) - 1
            one = clear.with_bits(**{name: top})
            assert getattr(one, table.field) == top << at
            assert {other: one.bit(other) for other in table.bits if one.bit(other)} == {name: top}
            with pytest.raises(ValueError, match=name):
                clear.with_bits(**{name: top + 1})

    return check


@pytest.fixture
def packet_bytes() -> Callable[[str], bytes]:
    """The bytes of a fixture by its name, as in ``user_message/everything``."""

    def load(name: str) -> bytes:
        lines = (_PACKETS / f"{name}.hex").read_text(encoding="utf-8").splitlines()
        return bytes.fromhex("".join(line.partition("#")[0] for line in lines))

    return load
