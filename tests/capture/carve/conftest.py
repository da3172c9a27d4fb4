"""Packets, and a search that is told what lies where, for the tests of what lies at rest."""

from __future__ import annotations

from pathlib import Path

import pytest

from fixtures.build_at_rest import message


@pytest.fixture(scope="session")
def order() -> bytes:
    """A message that is whole."""
    return message(1, "order 4711", "<order id='4711'/>")


@pytest.fixture(scope="session")
def fixtures() -> Path:
    """The folder of fixtures."""
    return Path(__file__).resolve().parents[3] / "fixtures"
