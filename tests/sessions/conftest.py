"""What the tests of this folder share."""

from __future__ import annotations

import pytest

from tests.sessions.tape import Tape


@pytest.fixture
def tape() -> Tape:
    return Tape()
