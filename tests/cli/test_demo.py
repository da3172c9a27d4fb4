"""``msmq-wire demo``: what it shows is the capture that the pages begin with."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

_DEMO = Path(__file__).resolve().parents[2] / "fixtures" / "captures" / "demo.pcap"

Run = Callable[..., Any]


def test_it_shows_what_decode_shows_of_it_and_says_how_to_save_it(run: Run) -> None:
    status, out, err = run("demo")
    decoded = run("decode", _DEMO)
    assert (status, out) == decoded[:2]
    assert err.startswith(decoded.err.strip())
    assert "demo --save demo.pcap" in err
    assert run("demo", "-q").err == ""


def test_it_is_saved_for_other_commands_and_nothing_is_overwritten(run: Run, tmp_path: Path) -> None:
    saved = tmp_path / "saved.pcap"
    assert run("demo", "--save", saved)[:2] == (0, "")
    assert saved.read_bytes() == _DEMO.read_bytes()
    saved.write_bytes(b"mine")
    assert run("demo", "--save", saved).status == 2
    assert saved.read_bytes() == b"mine"
    assert run("demo", "--save", saved, "--force", "-q") == (0, "", "")
    assert saved.read_bytes() == _DEMO.read_bytes()
    status, _, err = run("demo", "--save", tmp_path / "nowhere" / "saved.pcap")
    assert (status, err.count("\n")) == (1, 1)
    assert run("demo", "--force").status == 2
