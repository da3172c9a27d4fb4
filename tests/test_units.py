"""Sizes in bytes, as people read and write them."""

from __future__ import annotations

import pytest

from msmq_wire.units import byte_count, size_text


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 bytes"),
        (1, "1 byte"),
        (999, "999 bytes"),
        (1000, "1.0 kB"),
        (999_949, "999.9 kB"),
        (999_950, "1.0 MB"),
        (134_217_728, "134.2 MB"),
        (10**15, "1.0 PB"),
        (10**19, "10000.0 PB"),
    ],
)
def test_a_size_is_shown_in_its_unit(size: int, text: str) -> None:
    assert size_text(size) == text


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("1", 1),
        ("128m", 134_217_728),
        ("1GB", 1_073_741_824),
        ("2kb", 2048),
        ("1t", 1 << 40),
        *((text, None) for text in ("", "0", "0m", "-1m", "1.5g", "1x", "m", "much", "\u0661m", "1" * 16)),
    ],
)
def test_a_size_is_read_with_its_unit(text: str, size: int | None) -> None:
    assert byte_count(text) == size
