"""Where the events of a test happen."""

from __future__ import annotations

import pytest

from msmq_wire.lab.model.data.elements import ModelQueueManager, Queue
from tests.lab.model.events.scene import Place
from tests.lab.model.scene import make_manager, make_queue


@pytest.fixture
def manager() -> ModelQueueManager:
    return make_manager()


@pytest.fixture
def queue(manager: ModelQueueManager) -> Queue:
    return make_queue(manager)


@pytest.fixture
def place() -> Place:
    return Place()
