"""`Validation`: the grade of the bytes at one place, judged by themselves."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

Part: TypeAlias = Literal["intact", "broken", "cut"]


class Validation(msgspec.Struct, frozen=True, gc=False):
    """What the bytes at a place are: ``intact``, ``broken`` (they contradict themselves) or ``cut``.

    ``type`` is the stem of the packet, ``length`` the bytes that are there of it, ``body`` where in them its
    message body begins and ends, ``reason`` why it is not intact. ``before`` of them are before the place.
    """

    part: Part
    type: str
    length: int
    body: tuple[int, int] = (0, 0)
    reason: str | None = None
    before: int = 0
