"""What the tests of msmq_dissect share: messages, programs that make images, and target-query itself."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest

import msmq_dissect.msmq
from msmq_wire import build_message, encode
from tests.needs import need, where

Answer: TypeAlias = tuple[list[dict[str, Any]], str]


@pytest.fixture
def message() -> Callable[[int], bytes]:
    """The bytes of a message whose label ends with a number."""

    def made(number: int) -> bytes:
        queue = r"DIRECT=OS:msg01\private$\orders"
        label, sent = f"message {number}", 1_700_000_000 + number
        return encode(build_message(queue, b"body" * 99, label=label, sent_time=sent, message_id=number))

    return made


@pytest.fixture
def program() -> Callable[[str], str]:
    """Finds a program; without it the test is skipped."""

    def found(name: str) -> str:
        need(name)
        return where(name) or ""

    return found


@pytest.fixture
def query() -> Callable[..., Answer]:
    """Runs ``target-query -f msmq`` on a target; gives the records and what it says beside them."""

    def ran(target: Path, *options: str) -> Answer:
        command = [
            str(Path(sys.executable).with_name("target-query")),
            "-f",
            "msmq",
            str(target),
            "-j",
            *options,
        ]
        plugins = {"DISSECT_PLUGINS": str(msmq_dissect.msmq.__file__), "NO_COLOR": "1"}
        done = subprocess.run(
            command, env={**os.environ, **plugins}, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        return [row for row in rows if row["_type"] == "record"], done.stderr

    return ran
