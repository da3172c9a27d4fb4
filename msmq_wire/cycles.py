"""How often Python looks for garbage in cycles, which records and rows never make: `seldom_collected`."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

COLLECTED = 20_000
"""New objects before a search for cycles: Python's own 700 cost a tenth of what follows sessions."""


@contextmanager
def seldom_collected() -> Iterator[None]:
    """Search for cycles as seldom as `COLLECTED` says, and afterwards as before."""
    before = gc.get_threshold()
    gc.set_threshold(COLLECTED)
    try:
        yield
    finally:
        gc.set_threshold(*before)
