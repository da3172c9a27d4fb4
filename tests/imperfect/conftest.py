"""The captures of fixtures/build_imperfect.py, which are built and not kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from fixtures.build_imperfect import build
from fixtures.build_imperfect_truth import Book


@pytest.fixture(scope="session")
def book() -> Book:
    """The captures and what is true of them."""
    return build()


@pytest.fixture(scope="session")
def imperfect(book: Book, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the captures."""
    folder = tmp_path_factory.mktemp("imperfect")
    for name, data in book.files.items():
        (folder / name).write_bytes(data)
    return folder
