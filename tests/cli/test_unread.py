"""What was not read once, and its near misses, as somebody concluded by hand: fixtures/unread.toml."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from fixtures.build_unread import build
from msmq_wire.detection import SEVERITIES
from tests.cli.conftest import Outcome

_FILE = Path(__file__).resolve().parents[2] / "fixtures" / "unread.toml"
ENTRIES: dict[str, Any] = tomllib.loads(_FILE.read_text(encoding="utf-8"))["unread"]
UNMET = {
    "k02_envelope_damaged_proxy": "the envelope names its queue before it breaks off, as whole ones do",
    "k10_lz4": "no library of Python unpacks it; the error names the command that does",
}
"""Captures whose answer is not given, with what is missing."""

Run = Callable[..., Outcome]


@pytest.fixture(scope="module")
def captures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("unread")
    for name, data in build():
        (folder / name).write_bytes(data)
    return folder


def rows(run: Run, path: Path, command: str, *more: str) -> list[dict[str, Any]]:
    outcome = run(command, path, "--format", "jsonl", "--quiet", *more)
    return [json.loads(line) for line in outcome.out.splitlines()]


def host(end: str | None) -> str:
    return re.sub(r":\d+$", "", end or "").strip("[]")


def holds(text: str, words: str) -> bool:
    """Whether a text holds one of several words, in any case."""
    return any(word.lower() in text.lower() for word in words.split("|"))


def alike(row: dict[str, Any], wanted: dict[str, Any]) -> bool:
    """Whether a row has the values that are wanted of it."""
    ends = ("src", "dst", "client", "server")
    return all(
        host(row.get(key)) == value if key in ends else (row.get(key) or "") == value
        for key, value in wanted.items()
    )


def of_findings(found: list[dict[str, Any]], entry: dict[str, Any]) -> Iterator[str]:
    def text(one: dict[str, Any]) -> str:
        return " ".join((one["id"], one["title"], one["message"], *one["caveats"]))

    def rank(one: dict[str, Any]) -> int:
        return SEVERITIES.index(one["severity"])

    for wanted in entry.get("finds", ()):
        least, most = (
            SEVERITIES.index(wanted.get(key, other))
            for key, other in (("severity_least", "info"), ("severity_most", "high"))
        )
        fits = [
            one
            for one in found
            if all(holds(text(one), words) for words in wanted["words"])
            and least <= rank(one) <= most
            and (
                not wanted.get("frames")
                or {*wanted["frames"]} & {frame for place in one["evidence"] for frame in place["frames"]}
            )
        ]
        if not fits:
            yield f"no finding {wanted['words']}: {[(one['id'], one['message']) for one in found]}"
    grave = [one for one in found if rank(one)]
    for words in entry.get("never_finds", ()):
        if any(holds(text(one), words) for one in grave):
            yield f"a finding says {words!r}"
    if entry.get("clean") and grave:
        yield f"not clean: {[(one['id'], one['message']) for one in grave]}"


def of_rows(kind: str, found: list[dict[str, Any]], entry: dict[str, Any]) -> Iterator[str]:
    for wanted in entry.get(f"{kind}s", ()):
        if not any(alike(row, wanted) for row in found):
            keys = [{key: row.get(key) for key in wanted} for row in found]
            yield f"no {kind} {wanted}: {keys}"
    count = entry.get(f"{kind}_count")
    if count is not None and len(found) != count:
        yield f"{len(found)} {kind}s, {count} expected"


def of_records(found: list[dict[str, Any]], entry: dict[str, Any]) -> Iterator[str]:
    for wanted in entry.get("records", ()):
        if not any(
            row["type"] in wanted["type"].split("|")
            and all(
                holds(json.dumps(row.get("anomalies")), words) for words in wanted.get("anomaly_words", ())
            )
            for row in found
        ):
            said = [(row["type"], [one["message"] for one in row.get("anomalies", ())]) for row in found]
            yield f"no record {wanted}: {said}"


def faults(run: Run, path: Path, entry: dict[str, Any]) -> list[str]:
    """Where what is said of a capture differs from its answer."""
    reported: list[str] = []
    if entry.keys() & {"finds", "never_finds", "clean"}:
        reported += of_findings(rows(run, path, "findings", "--level", "info"), entry)
    messages = rows(run, path, "messages")
    if not ("refused" in entry and not messages):
        reported += of_rows("message", messages, entry)
        if entry.keys() & {"calls", "call_count"}:
            reported += of_rows("call", rows(run, path, "calls"), entry)
    if "records" in entry:
        reported += of_records(rows(run, path, "decode"), entry)
    if "body" in entry and messages:
        shown = run("messages", path, "--columns", "body", "--quiet", "--format", "csv").out
        shown += run("decode", path, "--id", messages[0]["id"], "--quiet").out
        for wanted in entry["body"]:
            reported += [
                f"body without {one!r}: {shown}" for one in wanted.get("words", ()) if not holds(shown, one)
            ]
            reported += [f"body with {one!r}" for one in wanted.get("never", ()) if holds(shown, one)]
    said = run("decode", "-v", path).err.replace(str(path), "FILE")
    if "refused" in entry and not messages:
        reported += [f"{said!r} without {one!r}" for one in entry["refused"]["words"] if not holds(said, one)]
    for wanted in entry.get("skipped", ()):
        reported += [f"{said!r} without {one!r}" for one in wanted["words"] if not holds(said, one)]
    if "true_ends" in entry:
        # What a PROXY header names is its sender's word: it never replaces the ends of the packets.
        named = rows(run, path, "messages", "--columns", "proxied_client,proxied_server")
        ends = {(host(row["proxied_client"]), host(row["proxied_server"])) for row in named}
        if tuple(entry["true_ends"]) not in ends:
            reported.append(f"ends {ends}, not {entry['true_ends']}")
    return reported


@pytest.mark.parametrize("name", ENTRIES)
def test_what_was_unread_is_told_as_somebody_concluded_by_hand(name: str, captures: Path, run: Run) -> None:
    entry = ENTRIES[name]
    reported = faults(run, captures / entry["file"], entry)
    assert bool(reported) == (name in UNMET), "\n".join(reported)
