"""What the tests of the scapy layers share: the fixture files, and a registration that is taken back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import msmq_scapy
from tests.hex_files import hex_bytes

_FIXTURES = Path(__file__).resolve().parents[3] / "fixtures"


@pytest.fixture
def fixtures() -> Path:
    """The fixtures folder."""
    return _FIXTURES


@pytest.fixture
def packet_bytes() -> Callable[[str], bytes]:
    """The bytes of a fixture by its name, as in ``user_message/everything``."""
    return lambda name: hex_bytes(_FIXTURES / "packets" / f"{name}.hex")


@pytest.fixture
def registered() -> Iterator[None]:
    """MSMQ bound in scapy for the time of one test."""
    msmq_scapy.register()
    yield
    msmq_scapy.unregister()
