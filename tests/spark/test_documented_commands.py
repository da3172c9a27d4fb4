"""The commands that docs/spark.md shows for a laptop."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from msmq_wire.cli.app import main

pytestmark = [pytest.mark.spark, pytest.mark.needs("pyspark")]

_ROOT = Path(__file__).resolve().parents[2]
_COMMAND = re.compile(r"^\$ msmq-wire (spark (?!package).*)$", re.MULTILINE)


@pytest.mark.check
@pytest.mark.parametrize("page", ["docs/spark.md"])
def test_the_commands_of_a_page_run(
    page: str,
    spark: SparkSession,
    captures: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # A narrow terminal cuts the names of queues.
    monkeypatch.setenv("COLUMNS", "300")
    (tmp_path / "fixtures").symlink_to(_ROOT / "fixtures")
    (tmp_path / "captures").mkdir()
    shutil.copy(captures / "demo.pcap", tmp_path / "captures")
    commands = [
        command
        for command in _COMMAND.findall((_ROOT / page).read_text("utf-8"))
        # No cluster and no bucket is here.
        if "--master" not in command and "s3://" not in command
    ]
    assert len(commands) >= 3
    for command in commands:
        assert main(shlex.split(command)) == 0, command
        # The others print what they did to standard error.
        if command.startswith(("spark sql", "spark status")):
            assert len(capsys.readouterr().out.splitlines()) > 1, command
