"""What ``replay --format jsonl`` prints fits its schema."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Outcome
from tests.schemas import schema_of

_ROOT = Path(__file__).resolve().parents[2]
_SCHEMA = json.loads((_ROOT / "docs" / "schema" / "replay.schema.json").read_text(encoding="utf-8"))
_HITS = sorted((_ROOT / "fixtures" / "findings").glob("RPL-*/hit_*.pcap"))
_SESSIONS = sorted((_ROOT / "fixtures" / "findings").glob("SES-*/hit_*.pcap"))


@pytest.mark.slow
@pytest.mark.parametrize("words", [(), ("--redact", "hosts")], ids=["plain", "redacted"])
def test_every_row_fits_the_schema(run: Callable[..., Outcome], words: tuple[str, ...]) -> None:
    lines = run("replay", *_HITS, *_SESSIONS, "--format", "jsonl", *words).out.splitlines()
    assert len(lines) >= len(_HITS)
    rows = [json.loads(line) for line in lines]
    assert [fault for row in rows for fault in schema_of("replay").faults(row)] == []
    assert not schema_of("replay").fits(rows[0] | {"certain": "yes"})
    assert not schema_of("replay").fits({name: rows[0][name] for name in rows[0] if name != "rule"})


def test_what_a_session_is_called_is_left_open() -> None:
    properties = _SCHEMA["properties"]
    assert [properties[name]["type"] for name in ("interface", "method")] == ["string", "string"]
    assert [name for name in ("interface", "method") if "enum" in properties[name]] == []
