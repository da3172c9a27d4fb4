"""The notebook of the documentation: it runs, and shows what it showed when it was committed."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.needs("nbclient", "ipykernel"), pytest.mark.check]

_ROOT = Path(__file__).resolve().parents[2]
_NOTEBOOK = _ROOT / "docs" / "notebook.ipynb"


def _outputs(notebook: Any) -> list[tuple[str, list[Any]]]:
    """Each cell of code with what it shows: printed text, or a value by its type."""
    return [
        (cell.source, [output.get("text", output.get("data")) for output in cell.outputs])
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]


def test_the_notebook_shows_what_it_gives_today(monkeypatch: pytest.MonkeyPatch) -> None:
    nbformat: Any = import_module("nbformat")
    nbclient: Any = import_module("nbclient")
    monkeypatch.setenv("PYTHONPATH", str(_ROOT), prepend=os.pathsep)
    committed = nbformat.read(_NOTEBOOK, as_version=4)
    again = nbformat.read(_NOTEBOOK, as_version=4)
    nbclient.NotebookClient(again, timeout=600, resources={"metadata": {"path": str(_ROOT)}}).execute()
    assert _outputs(again) == _outputs(committed)


def test_the_notebook_holds_no_script_and_no_path_of_a_machine() -> None:
    text = _NOTEBOOK.read_text(encoding="utf-8")
    assert "<script" not in text
    assert "/home/" not in text
    assert str(_ROOT) not in text
