"""The event logs below fixtures/events are those that their builder writes, and hold what is written of them.

Nothing of the package is asked here.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from fixtures.build_events import built
from fixtures.build_events_cases import CASES
from fixtures.build_events_evtx import CHUNK, HEADER
from fixtures.build_events_hostile import hostile

_FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
_FOLDER = _FIXTURES / "events"
_WRITTEN = tomllib.loads((_FIXTURES / "events.toml").read_text(encoding="utf-8"))
EVENTS: dict[str, dict[str, Any]] = _WRITTEN["events"]
_HEADS = {"must": "## MUST be said", "never": "## MUST NOT be said"}
_ONE = re.compile(r"<Event .*?</Event>", re.DOTALL)
_KNOWN = (
    r'<Provider Name=["\']Microsoft-Windows-MSMQ["\']',
    "<EventID>1</EventID>",
    "<Channel>Microsoft-Windows-MSMQ/End2End</Channel>",
)
_MOST = 1_000_000


def _records(path: Path) -> list[str]:
    """The events of a file as text, those of an .evtx file read by the package evtx."""
    if path.suffix == ".evtx":
        import evtx

        return [one["data"] for one in evtx.PyEvtxParser(str(path)).records() if one]
    data = path.read_bytes()
    return _ONE.findall(data.decode("utf-16" if data[:2] == b"\xff\xfe" else "utf-8-sig"))


def _identity(event: str) -> tuple[str, ...]:
    """Host, channel and number of a record: its copies have the same."""
    names = ("Computer", "Channel", "EventRecordID")
    return tuple(text for name in names for text in re.findall(f"<{name}>(.*?)</", event)[:1])


def _identifier(event: str) -> str:
    """The message of an event: the GUID and the number behind it."""
    found = re.search(r">\{?([0-9A-Fa-f-]{36})\}?</[^>]*>\s*<[^>]*>(\d+)<", event)
    assert found is not None, event
    return f"{found[1].lower()}\\{found[2]}"


def _spread(texts: list[str]) -> set[str]:
    """Identifiers, of which .. is a range of numbers."""
    found = set()
    for text in texts:
        source, _, numbers = text.partition("\\")
        first, _, last = numbers.partition("..")
        found |= {f"{source}\\{number}" for number in range(int(first), int(last or first) + 1)}
    return found


def test_the_builder_builds_the_files_that_are_kept() -> None:
    files = built()
    kept = {path.relative_to(_FOLDER).as_posix() for path in _FOLDER.rglob("*") if path.is_file()}
    assert {name for name in kept if not name.endswith("answers.md")} == set(files)
    assert [name for name, data in files.items() if data != (_FOLDER / name).read_bytes()] == []
    assert sum(map(len, files.values())) < _MOST


def test_every_case_has_its_answers_and_its_files() -> None:
    assert list(EVENTS) == [case.__name__ for case in CASES]
    assert set(_WRITTEN["hostile"]) == set(hostile())
    for name, one in EVENTS.items():
        assert (_FOLDER / name / "answers.md").is_file()
        assert (_FIXTURES / one["capture"]).is_file()
        logs = {path.name for path in (_FOLDER / name).iterdir()} - {"answers.md", "capture.pcap"}
        assert logs == set(one["files"])


@pytest.mark.parametrize("kind", _HEADS)
@pytest.mark.parametrize("name", EVENTS)
def test_the_sentences_are_those_of_the_answers(name: str, kind: str) -> None:
    text = (_FOLDER / name / "answers.md").read_text(encoding="utf-8")
    listed = text.partition(f"{_HEADS[kind]}\n")[2].partition("\n\n")[0]
    assert [f"- {sentence}" for sentence, *_ in EVENTS[name][kind]] == listed.strip().splitlines()


@pytest.mark.parametrize("name", EVENTS)
def test_the_counts_and_contradictions_are_those_of_the_answers(name: str) -> None:
    one = EVENTS[name]
    text = (_FOLDER / name / "answers.md").read_text(encoding="utf-8")
    assert f"put into a queue: {one['own']}; other events: {one['foreign']}\n" in text
    listed = re.findall(r"^- contradiction: `(.*?)`: (.*)$", text, re.MULTILINE)
    assert listed == [(entry["message"], entry["kind"]) for entry in one["contradictions"]]
    clocks = [entry["computer"] for entry in one["clocks"]]
    assert re.findall(r"^- clock of (.*?):", text, re.MULTILINE) == clocks


@pytest.mark.parametrize("name", EVENTS)
def test_events_are_as_many_as_written_and_name_the_messages_that_are_joined(name: str) -> None:
    one = EVENTS[name]
    events = {_identity(event): event for file in one["files"] for event in _records(_FOLDER / name / file)}
    own = [event for event in events.values() if all(re.search(known, event) for known in _KNOWN)]
    assert (len(own), len(events) - len(own)) == (one["own"], one["foreign"])
    named = {_identifier(event) for event in own}
    assert _spread(one["joined"]) <= named
    outgoing = {entry["message"] for entry in one["contradictions"] if "outgoing" in entry["kind"]}
    assert outgoing <= named


def test_patterns_name_topics_that_are_there() -> None:
    used = {
        text for one in EVENTS.values() for kind in _HEADS for _, *patterns in one[kind] for text in patterns
    }
    assert {text[1:] for text in used if text.startswith("@")} <= set(_WRITTEN["topics"])
    for text in used:
        assert text.startswith("@") or re.compile(text)


@pytest.mark.parametrize(
    "name", [name for name in built() if name.endswith(".evtx") and "hostile" not in name]
)
def test_an_evtx_file_has_whole_chunks(name: str) -> None:
    data = built()[name]
    count = int.from_bytes(data[42:44], "little")
    assert len(data) == HEADER + count * CHUNK
    assert [data[at : at + 8] for at in range(HEADER, len(data), CHUNK)] == [b"ElfChnk\0"] * count
