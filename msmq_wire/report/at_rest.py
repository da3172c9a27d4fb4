"""What was found in files that are no captures, on the page: files, queues, limits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import msgspec

from msmq_wire.capture.carve.hashing import HashedFile
from msmq_wire.capture.carve.queue_totals import QUEUE_COLUMNS, Queues, QueueTotals
from msmq_wire.capture.carve.reader import SearchedFile
from msmq_wire.markup import Markup, joined, tag
from msmq_wire.records.registered_queues import with_queue_names
from msmq_wire.report.html_tables import table, when
from msmq_wire.report.wording import bytes_text, count_text

_MOST = 1000
_UNKNOWN = (
    "This was not tested with storage files of Windows: that packets in them look as on the network is "
    "expected, but not documented.",
    "A packet does not say whether its message was received or deleted, or whether its transaction was "
    "committed.",
    "A body that was partly overwritten looks like a whole body, unless the header of another packet or "
    "whole pages of zeros are there.",
    "In a dump of physical memory neighbouring pages need not belong together: data that is longer than a "
    "page may go on elsewhere.",
)


class AtRest(msgspec.Struct, frozen=True):
    """The files that were searched, and the queues of what lies in them."""

    searched: Sequence[SearchedFile]
    queues: Queues

    def summary(self) -> Markup:
        """What there is, in a sentence or two."""
        grades: Counter[str] = sum((one.grades for one in self.searched), Counter())
        copies = sum(one.copies for one in self.searched)
        graded = ", ".join(f"{grades[one]:,} {one}" for one in ("whole", "damaged", "head") if grades[one])
        size = bytes_text(sum(one.size for one in self.searched))
        files = count_text(len(self.searched), "file")
        found = f"In {size} of {files}: {graded or 'nothing of MSMQ'}" + (
            f", {copies:,} of them copies" if copies else ""
        )
        others = ", ".join(f"{count:,} {type_}" for type_, count in self.queues.others.most_common() if count)
        return joined(tag("p", f"{found}."), tag("p", f"Besides messages: {others}.") if others else None)

    def queue_section(self) -> Markup:
        """The messages by queue."""
        rows = list(self.queues.rows())
        if not rows:
            return tag("p", "No message was found.")
        shown = [_queue(one) for one in rows[:_MOST]]
        heads = tuple(
            f"#{one.display.head}" if one.kind == "number" else one.display.head
            for one in QUEUE_COLUMNS
            if one.display
        )
        return table("Queues", heads, shown, more=len(rows) - len(shown))

    def file_section(self) -> Markup:
        """What tells the files from all others, and what was found in each."""
        rows: list[tuple[object, ...]] = []
        for one in self.searched[:_MOST]:
            rows.append(_searched(one))
            rows += (_part(file) for file in one.files[:_MOST])
        heads = ("File", "Kind", "#Bytes", "SHA-256", "#Whole", "#Damaged", "#Head", "#Copies")
        return table("Files", heads, rows, more=max(0, len(self.searched) - _MOST))

    def limit_section(self, failures: Sequence[str]) -> Markup:
        """What is missing, and what nobody can know from such files."""
        reported = [*failures]
        unreadable = sum(one.unreadable for one in self.searched)
        if unreadable:
            reported.append(f"{count_text(unreadable, 'byte')} could not be read.")
        nested: Counter[str] = sum((one.nested for one in self.searched), Counter())
        reported += (f"Not counted as finds: {count:,} {why}." for why, count in nested.most_common())
        return tag("ul", *(tag("li", one) for one in (*reported, *_UNKNOWN)))


def _searched(one: SearchedFile) -> tuple[object, ...]:
    """The row of what was searched; of an image that is the disk in it."""
    name = one.name.replace("\\", "/").rpartition("/")[2]
    found = one.disk_sha256 if one.files else one.sha256
    return (
        f"{name}: the disk" if one.files else name,
        one.kind if one.storage is None else f"{one.storage} by its name",
        f"{one.size:,}",
        tag("span", found or one.unhashed or "not known", class_="sum"),
        *(f"{one.grades[grade]:,}" for grade in ("whole", "damaged", "head")),
        f"{one.copies:,}",
    )


def _part(file: HashedFile) -> tuple[object, ...]:
    """The row of a file that an image consists of, as it lies."""
    found = file.sha256 or file.reason or "not known"
    return (file.name, "file of the image", f"{file.size:,}", tag("span", found, class_="sum"), *[""] * 4)


def _queue(totals: QueueTotals) -> tuple[object, ...]:
    cells: list[object] = []
    for column in QUEUE_COLUMNS:
        value = column.value(totals)
        if column.kind == "time":
            cells.append(when(value))
        elif column.kind == "texts":
            cells.append(", ".join(value))
        elif column.kind == "number":
            cells.append(f"{value:,}")
        else:
            cells.append(with_queue_names(value or "not named"))
    return tuple(cells)
