"""What the tests of the report share: stories made of captures written here, and a page taken apart."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html.parser import HTMLParser

from msmq_wire.detection import Finding
from msmq_wire.detection.diagnosis import Answer
from msmq_wire.detection.diagnosis.digest_lines import Digest
from msmq_wire.engines.codec import inspect
from msmq_wire.records.record import Record
from msmq_wire.report.finding_section import FindingSample
from msmq_wire.report.page import ReadFacts, report_page
from msmq_wire.report.totals import Totals
from msmq_wire.sessions import StoryFollower

_VOID = frozenset(("br", "hr", "input", "meta"))
START = 1_700_000_000_000_000_000
"""When the records of these tests begin: 2023-11-14 22:13:20 UTC."""


class Page(HTMLParser):
    """A page taken apart: its elements with their attributes, the text of each kind of element."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[str, str]] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len({name for name, _ in attrs}) == len(attrs), "an attribute twice"
        self.elements.append((tag, dict(attrs)))
        if tag not in _VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"nothing is open for </{tag}>"
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if data.strip():
            self.texts.append((self.open[-1] if self.open else "", data))

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")

    def named(self, tag: str) -> list[dict[str, str | None]]:
        """The attributes of the elements of a name."""
        return [attributes for name, attributes in self.elements if name == tag]

    def text_of(self, tag: str) -> list[str]:
        """The pieces of text that stand directly in elements of a name."""
        return [text for name, text in self.texts if name == tag]

    @property
    def text(self) -> str:
        """All text that a reader sees, and titles; not scripts and not styles."""
        return " ".join(text for name, text in self.texts if name not in ("script", "style"))


def message_record(data: bytes, number: int, **fields: object) -> Record:
    """A packet as a record that came a tenth of a second after the one before."""
    result = inspect(data)
    values: dict[str, object] = {
        "id": number,
        "type": result.type or "unknown_packet",
        "capture": "test.pcap",
        "frames": (number,),
        "time": START + number * 100_000_000,
        "src": "192.0.2.21:49731",
        "dst": "192.0.2.10:1801",
        "stream": 0,
        "length": len(data),
        "packet": result.packet,
        "anomalies": result.anomalies,
        "consumed": result.consumed,
        "remainder": result.remainder,
        "error": result.error,
    }
    return Record(**(values | fields))  # type: ignore[arg-type]  # the keys are those of a record


def page_text(
    records: Iterable[Record],
    findings: Iterable[Finding] = (),
    *,
    rows: int = 50_000,
    answers: Sequence[Answer] = (),
    digest: Digest | None = None,
    **facts: object,
) -> str:
    """The page about records, as it is written."""
    totals, follower, sample = Totals(rows=rows), StoryFollower(), FindingSample()
    for record in records:
        totals.feed(record)
        follower.feed(record)
    sample.add(findings)
    about = ReadFacts(program="msmq-wire 0", **facts)  # type: ignore[arg-type]  # as a test gives them
    parts = report_page(totals, follower.finish(), sample, about, answers=answers, digest=digest)
    return "".join(parts)
