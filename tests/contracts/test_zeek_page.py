"""docs/zeek.md: the query joins our rows with a conn.log, by connection and by time."""

from __future__ import annotations

import importlib
import json
import re
from pathlib import Path

import pytest

from msmq_wire.cli.app import main

_ROOT = Path(__file__).resolve().parents[2]
_DEMO = _ROOT / "fixtures" / "captures" / "demo.pcap"
_PAGE = _ROOT / "docs" / "zeek.md"
_FIELDS = """
    ts uid id.orig_h id.orig_p id.resp_h id.resp_p proto service duration orig_bytes resp_bytes conn_state
    local_orig local_resp missed_bytes history orig_pkts orig_ip_bytes resp_pkts resp_ip_bytes tunnel_parents
    community_id
"""
# Made by the program that the specification of the Community ID comes with, not by ours.
_IDS = {
    "192.0.2.21:49731": "1:d8B+4SCIbCpWM0zZJe8EPvzsymM=",
    "192.0.2.21:49732": "1:2IelwcCd2hukRyvKpn5gUesilK8=",
}
_BEHIND = "- 4000 800 SF - - 0 ShADadFf 12 4600 11 1300 -"


def _line(ts: float, uid: str, orig: str, resp: str, duration: str = "2.0") -> str:
    ends = [*orig.rsplit(":", 1), *resp.rsplit(":", 1)]
    rest = _BEHIND.split()
    return "\t".join([f"{ts:.6f}", uid, *ends, "tcp", rest[0], duration, *rest[1:], _IDS[orig]])


@pytest.mark.needs("duckdb")
def test_the_query_gives_each_message_its_connection(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    duckdb = importlib.import_module("duckdb")
    monkeypatch.chdir(tmp_path)
    assert main(["messages", str(_DEMO), "--format", "jsonl", "-q"]) == 0
    (tmp_path / "messages.jsonl").write_text(capsys.readouterr().out)
    start = 1795166047.51
    lines = [
        "#separator \\x09",
        "#fields\t" + "\t".join(_FIELDS.split()),
        _line(start, "CYoL3c1PSIsFvZmRv9", "192.0.2.21:49731", "192.0.2.10:1801"),
        # Another connection of the same hosts, and the same ends on another day.
        _line(start, "Cother", "192.0.2.21:49732", "192.0.2.10:1801"),
        _line(start - 86400, "Cyesterday", "192.0.2.21:49731", "192.0.2.10:1801"),
        _line(start + 60, "Clater", "192.0.2.21:49731", "192.0.2.10:1801", "-"),
        "#close\t2026-11-20-09-20-00",
    ]
    (tmp_path / "conn.log").write_text("\n".join(lines) + "\n")
    text = _PAGE.read_text(encoding="utf-8")
    query = re.findall(r"^```sql\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)[0]
    connection = duckdb.connect()
    rows = []
    for statement in query.split(";\n"):
        if statement.strip():
            rows = connection.execute(statement).fetchall()
    shown = re.findall(r"^CYoL.*$", text, re.MULTILINE)
    assert ["|".join(map(str, row)) for row in rows][: len(shown)] == shown
    assert {row[0] for row in rows} == {"CYoL3c1PSIsFvZmRv9"}
    assert len(rows) == 3


def test_a_conn_log_names_the_connection_of_messages_and_findings(capsys: pytest.CaptureFixture[str]) -> None:
    log = "\n".join(
        (
            "#separator \\x09",
            "#set_separator\t,",
            "#empty_field\t(empty)",
            "#unset_field\t-",
            "#path\tconn",
            "#fields\t" + "\t".join(_FIELDS.split()),
            _line(1795166047.51, "CYoL3c1PSIsFvZmRv9", "192.0.2.21:49731", "192.0.2.10:1801"),
            _line(1795166047.51, "Cother", "192.0.2.21:49732", "192.0.2.10:1801"),
        )
    )
    lines = [line for line in log.splitlines() if not line.startswith("#")]
    connections = [dict(zip(_FIELDS.split(), line.split("\t"), strict=True)) for line in lines]
    uids = {one["community_id"]: one["uid"] for one in connections}
    joined = {}
    for command in ("messages", "findings"):
        main([command, str(_DEMO), "--format", "jsonl", "-q"])
        rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        places = [place for row in rows for place in row.get("evidence", [row])]
        joined[command] = [uids.get(place["community_id"]) for place in places]
    assert joined == {"messages": ["CYoL3c1PSIsFvZmRv9"] * 3, "findings": ["CYoL3c1PSIsFvZmRv9"] * 2}
