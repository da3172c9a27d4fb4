"""docs/suricata.md: the query joins alerts of eve.json with our messages, by connection."""

from __future__ import annotations

import importlib
import json
import re
from pathlib import Path

import pytest

from msmq_wire.cli.app import main

_ROOT = Path(__file__).resolve().parents[2]
_DEMO = _ROOT / "fixtures" / "captures" / "demo.pcap"
# Made by the program that the specification of the Community ID comes with, not by ours.
_ORDERS, _OTHER = "1:d8B+4SCIbCpWM0zZJe8EPvzsymM=", "1:2IelwcCd2hukRyvKpn5gUesilK8="


def _event(kind: str, id_: str) -> str:
    alert = {"signature": "MSMQ CNT-CLEAR"} if kind == "alert" else None
    event = {"timestamp": "2026-11-20T09:14:07.525000+0000", "event_type": kind, "community_id": id_}
    return json.dumps(event | ({"alert": alert} if alert else {}))


@pytest.mark.needs("duckdb")
def test_the_query_gives_each_alert_the_messages_of_its_connection(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    duckdb = importlib.import_module("duckdb")
    monkeypatch.chdir(tmp_path)
    assert main(["messages", str(_DEMO), "--format", "jsonl", "-q"]) == 0
    (tmp_path / "messages.jsonl").write_text(capsys.readouterr().out)
    events = [_event("alert", _ORDERS), _event("alert", _OTHER), _event("flow", _ORDERS)]
    (tmp_path / "eve.json").write_text("\n".join(events) + "\n")
    page = (_ROOT / "docs" / "suricata.md").read_text(encoding="utf-8")
    query = re.findall(r"^```sql\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)[0]
    rows = duckdb.connect().execute(query).fetchall()
    assert [(row[1], row[2], row[4]) for row in rows] == [
        ("MSMQ CNT-CLEAR", 10, "order 4711"),
        ("MSMQ CNT-CLEAR", 11, "payment 93"),
        ("MSMQ CNT-CLEAR", 13, "catalogue 2026-11-20"),
    ]
