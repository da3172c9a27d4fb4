"""Sizes in bytes, as people read them."""

from __future__ import annotations

import pytest

from msmq_wire.units import size_text


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
