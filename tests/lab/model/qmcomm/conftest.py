"""The scene of every test of qmcomm; those of qmcomm2 have another."""

from __future__ import annotations

import pytest

from tests.lab.model.qmcomm.scene import Scene


@pytest.fixture
def scene() -> Scene:
    return Scene()
