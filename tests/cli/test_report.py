"""``msmq-wire report``: a page is written, and never over something that is there."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.report.pages import Page

_FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
_DEMO = _FIXTURES / "captures" / "demo.pcap"
_SESSIONS = sorted((_FIXTURES / "sessions").glob("*.pcap"))

Run = Callable[..., Any]


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "report.html"


@pytest.mark.slow
def test_the_demo_capture_and_all_sessions_make_one_page(run: Run, out: Path) -> None:
    status, printed, err = run("report", _DEMO, *_SESSIONS, "-o", out)
    assert (status, printed) == (0, "")
    assert f"report written to {out}" in err
    page = Page(out.read_text(encoding="utf-8"))
    assert not page.open
    assert [one["id"] for one in page.named("section")] == [
        *("summary", "answers", "findings", "hosts", "flow", "queues", "sessions", "reads", "messages"),
        *("captures", "limits"),
    ]
    assert r"DIRECT=OS:msg01\private$\orders" in page.text_of("code")
    assert "192.0.2.21:49731 → 192.0.2.10:1801" in page.text
    assert "2 gaps in connections" in page.text


def test_the_page_goes_to_standard_output_and_to_no_file_of_that_name(
    run: Run, out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("report", _DEMO, "-o", out)
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    status, printed, err = run("report", _DEMO, "-o", "-")
    assert (status, printed) == (0, out.read_text(encoding="utf-8"))
    assert "report written to standard output" in err
    assert list(Path().iterdir()) == []


def test_an_output_is_asked_for(run: Run) -> None:
    assert run("report", _DEMO).status == 2


def test_a_folder_that_is_not_there_is_told_before_captures_are_read(run: Run, tmp_path: Path) -> None:
    status, _, err = run("report", tmp_path / "none.pcap", "-o", tmp_path / "none" / "report.html")
    assert status == 1
    assert err.count("\n") == 1
    assert "there is no folder" in err


def test_no_page_is_written_when_nothing_can_be_read(run: Run, out: Path, tmp_path: Path) -> None:
    assert run("report", tmp_path / "none.pcap", "-o", out).status == 1
    assert not out.exists()


def test_a_damaged_capture_gives_a_page_that_says_so(run: Run, out: Path) -> None:
    damaged = _FIXTURES / "captures" / "path_damaged_record.pcap"
    assert run("report", damaged, "-o", out).status == 1
    page = Page(out.read_text(encoding="utf-8"))
    assert "path_damaged_record.pcap: " in " ".join(page.text_of("li"))


def test_the_page_says_what_is_redacted(run: Run, out: Path) -> None:
    run("report", _DEMO, "-o", out, "--redact", "hosts,labels,bodies")
    page = out.read_text(encoding="utf-8")
    assert "Redacted: bodies, hosts, labels." in page
    assert "host-1" in page


def test_remote_reads_are_told(run: Run, out: Path) -> None:
    capture = _FIXTURES / "rpc_captures" / "rpc_faults_and_fragments.pcap"
    run("report", capture, "-o", out)
    page = Page(out.read_text(encoding="utf-8"))
    captions = page.text_of("caption")
    assert "Queues opened over RPC" in captions


def test_the_same_capture_gives_the_same_page(run: Run, tmp_path: Path) -> None:
    first, second = tmp_path / "1.html", tmp_path / "2.html"
    run("report", _DEMO, "-o", first)
    run("report", _DEMO, "-o", second)
    assert first.read_bytes() == second.read_bytes()


def test_the_page_names_every_file_with_its_hash_its_size_and_its_times(run: Run, out: Path) -> None:
    damaged = _FIXTURES / "captures" / "path_damaged_record.pcap"
    packed = _FIXTURES / "captures" / "path_gzip.pcap"
    run("report", _DEMO, damaged, packed, "-o", out)
    page = Page(out.read_text(encoding="utf-8"))
    for file in (_DEMO, damaged, packed):
        data = file.read_bytes()
        assert hashlib.sha256(data).hexdigest() in page.text
        assert f"{len(data):,}" in page.text_of("td")
    assert "2026-11-20 09:14:07.512" in page.text
    assert "of what was read" not in page.text


def test_standard_input_and_pipes_are_hashed_as_they_are_read(run: Run, out: Path) -> None:
    data = _DEMO.read_bytes()
    run("report", "-", "-o", out, stdin=data)
    assert hashlib.sha256(data).hexdigest() in Page(out.read_text(encoding="utf-8")).text
    for sent, whole in ((data, True), (data[:-7], False)):
        read, write = os.pipe()
        os.write(write, sent)
        os.close(write)
        run("report", f"/dev/fd/{read}", "-o", out, "--force")
        os.close(read)
        page = Page(out.read_text(encoding="utf-8"))
        assert hashlib.sha256(sent).hexdigest() in page.text
        assert ("of what was read" in page.text) is not whole


@pytest.mark.slow
def test_the_digest_is_that_of_diagnose_and_leads_to_what_shows_it(run: Run, out: Path) -> None:
    capture = _FIXTURES / "digest" / "refused_invoices.pcap"
    run("report", capture, "-o", out)
    page = Page(out.read_text(encoding="utf-8"))
    (first, *_) = page.text_of("ol") + [text for text in page.text_of("p") if "were refused" in text]
    assert "the sender may not write to the queue" in first
    ids = {one.get("id") for _, one in page.elements}
    links = [one["href"] or "" for one in page.named("a")]
    assert {"#question-5", "#message-33"} <= set(links)
    assert {"question-5", "message-33"} <= ids
