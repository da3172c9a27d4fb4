"""The files under fixtures/packets, one test each: a test that takes ``hex_file`` runs for all of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

_FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
_HEX_FILES = sorted((_FIXTURES / "packets").glob("*/*.hex"))


def _load(path: Path) -> bytes:
    lines = path.read_text(encoding="utf-8").splitlines()
    return bytes.fromhex("".join(line.partition("#")[0] for line in lines))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test that takes ``hex_file`` once a file."""
    if "hex_file" in metafunc.fixturenames:
        names = [f"{path.parent.name}/{path.stem}" for path in _HEX_FILES]
        metafunc.parametrize("hex_file", _HEX_FILES, ids=names)


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
