"""The first line of a digest names the cause: what it has to say was written from the scenarios, apart from the code."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from msmq_wire.capture.reader import read_capture
from msmq_wire.findings import RULES, Judge
from msmq_wire.findings.diagnosis import Diagnosis, Digest
from msmq_wire.routing.auditor import Auditor
from msmq_wire.routing.topology_file import parse_topology

FIXTURES = Path(__file__).parents[3] / "fixtures"
EXPECTED = tomllib.loads((FIXTURES / "digest" / "expected.toml").read_text(encoding="utf-8"))
TOLD = {id_: rule for id_, rule in RULES.items() if rule.severity != "info"}


def digest(path: Path, topology: str | None = None) -> Digest:
    auditor = None if topology is None else Auditor(parse_topology((FIXTURES / topology).read_bytes()))
    diagnosis, judge = Diagnosis(), Judge(TOLD, auditor=auditor)
    for record in read_capture(path, streams=True):
        diagnosis.feed(record, judge.feed(record))
    diagnosis.found(judge.finish())
    assert judge.story is not None
    return diagnosis.digest(diagnosis.answers(judge.story), judge.story)


def said(word: str, text: str) -> bool:
    """Whether a word, or one of its list, begins a word of a text."""
    words = EXPECTED["words"][word[1:]] if word.startswith("@") else [word]
    return any(re.search(rf"(?<![a-z0-9]){re.escape(one)}", text) for one in map(str.lower, words))


def faults(expected: dict[str, Any], found: Digest) -> Iterable[str]:
    """What an expectation misses in a digest."""
    asked = expected.keys() - {"capture", "scenario", "topology", "clean"}
    if not found.lines:
        if "any_of" in expected and not expected.get("clean"):
            yield "nothing wrong seen"
        return
    if not asked:
        yield f"not clean: {found.lines[0].text}"
        return
    line = found.lines[0]
    text = " ".join((line.text, *line.who)).lower()
    for group in expected.get("any_of", ()):
        if not any(said(word, text) for word in group):
            yield f"none of {group} in {line.text}"
    for word in expected.get("not_any_of", ()):
        if said(word, text):
            yield f"{word} in {line.text}"
    if not set(expected.get("frames", line.frames)) & set(line.frames) and "frames" in expected:
        yield f"frames {line.frames}, not {expected['frames']}: {line.text}"
    if line.severity not in expected.get("severity", line.severity):
        yield f"{line.severity}, not {expected['severity']}: {line.text}"
