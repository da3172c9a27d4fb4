"""The files under fixtures, as tests of contracts read them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

_FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"


def _load(path: Path) -> bytes:
    lines = path.read_text(encoding="utf-8").splitlines()
    return bytes.fromhex("".join(line.partition("#")[0] for line in lines))


@pytest.fixture
def fixtures() -> Path:
    """The fixtures folder."""
    return _FIXTURES


@pytest.fixture
def load() -> Callable[[Path], bytes]:
    """Reads a .hex file: its hex digits, comments left out."""
    return _load


@pytest.fixture
def packet_bytes() -> Callable[[str], bytes]:
    """The bytes of a fixture by its name, as in ``user_message/frame_7_cut``."""
    return lambda name: _load(_FIXTURES / "packets" / f"{name}.hex")
