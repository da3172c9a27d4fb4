"""The files under fixtures, as tests of contracts read them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.contracts.release import build, copy
from tests.hex_files import hex_bytes
from tests.needs import need

_FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"


@pytest.fixture
def fixtures() -> Path:
    """The fixtures folder."""
    return _FIXTURES


@pytest.fixture
def load() -> Callable[[Path], bytes]:
    """Reads a .hex file: its hex digits, comments left out."""
    return hex_bytes


@pytest.fixture
def packet_bytes() -> Callable[[str], bytes]:
    """The bytes of a fixture by its name, as in ``user_message/frame_7_cut``."""
    return lambda name: hex_bytes(_FIXTURES / "packets" / f"{name}.hex")


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sdist and the wheel, built in another place."""
    need("git", "hatchling")
    folder = tmp_path_factory.mktemp("release")
    build(copy(folder / "source"), folder / "dist", 0o022)
    return folder / "dist"
