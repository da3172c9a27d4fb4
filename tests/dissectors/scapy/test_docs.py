"""The page about scapy: what it shows is what happens."""

from __future__ import annotations

import contextlib
import doctest
import io
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from scapy.config import conf

import msmq_scapy

_ROOT = Path(__file__).resolve().parents[3]
_BLOCK = re.compile(r"```pycon\n(.*?)```", re.DOTALL)


@pytest.fixture(autouse=True)
def _as_a_reader(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """In the repository's folder, and with scapy as it was afterwards."""
    monkeypatch.chdir(_ROOT)
    monkeypatch.setattr(conf, "verb", 0)
    yield
    msmq_scapy.unregister()


def _reported(source: str, names: dict[str, object]) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(source, "docs/scapy.md", "single"), names)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()).strip("\n")


def test_the_page_shows_what_scapy_shows() -> None:
    text = (_ROOT / "docs" / "scapy.md").read_text(encoding="utf-8")
    names: dict[str, object] = {}
    written = shown = 0
    for block in _BLOCK.findall(text):
        for example in doctest.DocTestParser().get_examples(block):
            written += 1
            reported = _reported(example.source, names)
            assert reported == example.want.strip("\n"), example.source
            shown += bool(reported)
    assert written > 10
    assert shown > 5
