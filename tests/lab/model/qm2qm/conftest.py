"""The scene of every test; `both` of the scene's module says by which of two methods it starts reads."""

from __future__ import annotations

import pytest

from msmq_wire.lab.model.data.elements import Cursor
from tests.lab.model.qm2qm.scene import START, Scene


@pytest.fixture
def method() -> str:
    return START


@pytest.fixture
def scene(method: str) -> Scene:
    return Scene(method=method)


@pytest.fixture
def cursor(scene: Scene) -> Cursor:
    return scene.cursor()
