"""The Python API gives what the commands print: every row and value of many captures."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

import msmq_wire as mw
from msmq_wire.cli.app import main
from msmq_wire.detection.diagnosis.answer_view import answer_view, digest_view
from msmq_wire.detection.finding_view import finding_view
from msmq_wire.records.call import CALL_COLUMNS
from msmq_wire.records.display import ColumnDeclaration
from msmq_wire.records.message import COLUMNS
from msmq_wire.records.view import time_text
from tests.effort import in_batches

_FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
_FILES = [
    path
    for folder in ("captures", "diagnose", "digest")
    for path in sorted((_FIXTURES / folder).iterdir())
    if path.suffix in (".pcap", ".pcapng", ".gz", ".zst")
]
_ASKED = "+outcome,+body_text,+action,+vlan,+proxied_client"


def _printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[Any]:
    main(list(arguments))
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def _shown(value: object, columns: Iterable[ColumnDeclaration], names: Iterable[str]) -> dict[str, Any]:
    """The attributes of an object as a row has them."""
    known = {column.name: column for column in columns}
    return {name: _as_json(value, name, known.get(name)) for name in names}


def _as_json(value: object, name: str, column: ColumnDeclaration | None) -> Any:
    found = getattr(value, name)
    if column is not None and column.kind in ("time", "duration"):
        precise = getattr(value, f"{name}_ns")
        if isinstance(found, datetime):
            assert precise // 1_000_000_000 == int(found.timestamp())
        return time_text(precise) if column.kind == "time" else precise
    if isinstance(found, bytes):
        return base64.b64encode(found).decode()
    return list(found) if isinstance(found, tuple) else found


@in_batches(_FILES)
def test_a_message_has_the_values_of_its_row(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = _printed(capsys, "messages", str(path), "--all", "--format", "jsonl", "--columns", _ASKED)
    found = [*mw.messages(path, all=True)]
    assert [_shown(one, COLUMNS, rows[0]) for one in found] == rows if rows else not found


@in_batches(_FILES)
def test_a_call_has_the_values_of_its_row(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = _printed(capsys, "calls", str(path), "--format", "jsonl")
    found = [*mw.calls(path)]
    assert [_shown(one, CALL_COLUMNS, rows[0]) for one in found] == rows if rows else not found


@in_batches(_FILES)
def test_findings_are_those_of_the_command(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = _printed(capsys, "findings", str(path), "--format", "jsonl", "--level", "low")
    assert [
        json.loads(msgspec.json.encode(finding_view(one), enc_hook=str))
        for one in mw.findings(path, level="low")
    ] == rows


@in_batches(_FILES)
def test_a_diagnosis_is_that_of_the_command(
    path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    rows = _printed(capsys, "diagnose", str(path), "--format", "jsonl")
    found = mw.diagnose(path)
    if not rows:
        assert found.answers == ()
        return
    assert found.digest is not None
    views = [digest_view(found.digest), *map(answer_view, found.answers)]
    assert json.loads(msgspec.json.encode(views, enc_hook=str)) == rows
    lines = rows[0]["digest"]["lines"]
    assert [one.text for one in (*found.lacking, *found.causes)] == [line["text"] for line in lines]
    main(["diagnose", str(path)])
    assert capsys.readouterr().out.startswith(f"{found}\n")


@in_batches(_FILES)
def test_why_says_what_the_command_says(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = _printed(capsys, "why", str(path), "o", "--format", "jsonl")
    if not rows:
        with pytest.raises(mw.NoSuchMessageError):
            mw.why(path, "o")
        return
    for one, row in zip(mw.why(path, "o"), rows, strict=True):
        assert (one.message_id, one.record, one.capture) == (row["message_id"], row["record"], row["capture"])
        assert (one.outcome, one.sentence, one.reason) == (row["outcome"], row["sentence"], row["reason"])
        assert (one.frame, time_text(one.time_ns), list(one.unknown)) == (
            row["frame"],
            row["time"],
            row["unknown"],
        )
        for step, shown in zip(one.steps, row["steps"], strict=True):
            assert (step.record, step.frame, step.what, step.detail) == tuple(
                shown[name] for name in ("record", "frame", "what", "detail")
            )
            assert (time_text(step.time_ns), step.src or None) == (shown["time"], shown["src"])
