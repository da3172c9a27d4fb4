"""`Closing`: an asynchronous context that closes itself."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Self


class Closing(ABC):
    """An asynchronous context that returns itself, and closes itself at the end."""

    @abstractmethod
    async def close(self) -> None:
        """Let go of everything."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
