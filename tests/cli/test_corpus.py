"""``msmq-wire corpus``: what it writes, and what it leaves alone."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from msmq_wire.engines.codec import inspect

Run = Callable[..., Any]


def test_a_line_of_the_index_describes_each_file(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "samples"
    status, out, _ = run("corpus", folder, "--only", "ping")
    assert status == 0
    assert out == f"82 samples, 1.8 kB, in {folder}, described in index.jsonl\n"
    lines = [json.loads(line) for line in (folder / "index.jsonl").read_text(encoding="utf-8").splitlines()]
    assert lines[0]["file"] == "packets/ping/valid-0001.bin"
    assert {line["file"] for line in lines} == {
        path.relative_to(folder).as_posix() for path in folder.rglob("*.bin")
    }
    for line in lines:
        data = (folder / line["file"]).read_bytes()
        assert len(data) == line["size"]
        assert inspect(data, line["as"]).consumed == line["expected"]["consumed"]


def test_a_folder_with_files_is_left_alone_without_force(run: Run, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine", encoding="utf-8")
    status, _, err = run("corpus", tmp_path, "--only", "ping")
    assert status == 2
    assert "is not empty (--force writes into it)" in err
    assert run("corpus", tmp_path, "--only", "ping", "--force", "-q")[0] == 0
    assert (tmp_path / "mine").read_text(encoding="utf-8") == "mine"


def test_an_unknown_name_is_bad_usage(run: Run, tmp_path: Path) -> None:
    status, _, err = run("corpus", tmp_path / "samples", "--only", "nothing")
    assert status == 2
    assert "no group and no structure is called 'nothing'" in err
    assert not (tmp_path / "samples").exists()
