"""The scene of every test: `both` and `ways` of the scene's module say how its client receives."""

from __future__ import annotations

import pytest

from msmq_wire.rpc.types.context_handle import ContextHandle
from msmq_wire.wire.types.guid import GUID
from tests.lab.model.remote_read.scene import Scene


@pytest.fixture
def way() -> GUID | None:
    return None


@pytest.fixture
def scene(way: GUID | None) -> Scene:
    return Scene(way=way)


@pytest.fixture
def handle(scene: Scene) -> ContextHandle:
    """``orders``, open to receive."""
    return scene.client.open(scene.queue)
