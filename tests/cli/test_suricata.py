"""``msmq-wire suricata rules``: the file, its sids, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]


def test_the_rules_are_printed(run: Run) -> None:
    done = run("suricata", "rules")
    assert done.status == 0
    lines = done.out.splitlines()
    assert lines[0].startswith("# MSMQ: rules for Suricata 7.0")
    assert sum(line.startswith("alert ") for line in lines) > 50
    assert "sid:1801115; rev:1;)" in done.out


def test_the_file_has_what_is_printed(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "msmq.rules"
    done = run("suricata", "rules", "-o", path)
    assert (done.status, done.out) == (0, "")
    assert "rules on, " in done.err
    assert path.read_text(encoding="utf-8") == run("suricata", "rules").out
    assert run("suricata", "rules", "-o", path, "--force", "--quiet").err == ""


def test_sids_move_together_and_pages_are_referred_to(run: Run) -> None:
    done = run("suricata", "rules", "--sid-base", "1", "--pages", "https://docs.example/msmq/")
    assert "sid:116; rev:1;)" in done.out
    assert "reference:url,docs.example/msmq/findings/frm_size_max/; " in done.out
    assert "reference:url" not in run("suricata", "rules").out


def test_sightings_are_off_until_they_are_asked_for(run: Run) -> None:
    assert '# alert dcerpc any any -> any any (msg:"MSMQ: a call of qmmgmt";' in run("suricata", "rules").out
    asked = run("suricata", "rules", "--sightings").out
    assert '\nalert dcerpc any any -> any any (msg:"MSMQ: a call of qmmgmt";' in asked
    assert "# alert" not in asked


@pytest.mark.parametrize(
    "arguments", [("--sid-base", "0"), ("--sid-base", "4294967000"), ("--pages", "a page; sid:1")]
)
def test_what_gives_no_rules_is_refused(run: Run, arguments: tuple[str, ...]) -> None:
    done = run("suricata", "rules", *arguments)
    assert (done.status, done.out) == (2, "")
    assert "suricata rules --help" in done.err
