"""Records of any type as rows: what ``decode`` prints as a table, as CSV and with ``--columns``."""

from __future__ import annotations

from datetime import tzinfo

import msgspec

from msmq_wire.cli.capture_set import CaptureSet
from msmq_wire.cli.columns import RowValues, columns_left_out
from msmq_wire.cli.render.screen import Screen
from msmq_wire.cli.row_output import RowOutput
from msmq_wire.cli.table_output import TableOutput
from msmq_wire.records.call import CALL_COLUMNS, call_of
from msmq_wire.records.column import ENCAPSULATION, RECORD_COLUMNS, Column, RecordRow
from msmq_wire.records.display import Display
from msmq_wire.records.message import COLUMNS, message_of
from msmq_wire.records.record import Record
from msmq_wire.records.summary import summary
from msmq_wire.report.redaction.redactor import Redactor


def _declared(*, at_rest: bool) -> list[Column]:
    """The columns of records, of messages and of calls, each name once; only records have some always."""
    found: dict[str, Column] = {one.name: one for one in RECORD_COLUMNS}
    others: tuple[Column, ...] = (*COLUMNS, *CALL_COLUMNS)
    for one in others:
        found.setdefault(one.name, msgspec.structs.replace(one, optional=True))
    display = Display("what", 90, 16, style="note", last=True)
    found["what"] = msgspec.structs.replace(
        found["what"], display=display, doc="What it is about, in one line.", optional=False
    )
    if at_rest:
        # An offset in a connection says little, that in a file is where something lies.
        found["offset"] = msgspec.structs.replace(found["offset"], display=Display("offset"))
    return list(found.values())


# Each with the width of a terminal that shows it.
_SHOWN = {"id": 0, "time": 72, "type": 0, "src": 0, "dst": 0, "what": 0}
_SHOWN |= {"anomalies": 120, "length": 130, "stream": 150}
_SHOWN_AT_REST = {"id": 0, "grade": 0, "type": 0, "offset": 0, "queue": 0, "what": 90, "length": 100}
_SHOWN_AT_REST |= {"places": 110, "anomalies": 120}
_USUAL = (
    *(one.name for one in RECORD_COLUMNS if not one.asked),
    "queue",
    "label",
    "message_id",
    "method",
    "status",
    "what",
)
_AT_REST = tuple(one.name for one in RECORD_COLUMNS if one.asked and one not in ENCAPSULATION)


class _Summary:
    """What a record is about, as the column ``what``."""

    def __init__(self, record: Record) -> None:
        self._record = record

    def __contains__(self, name: object) -> bool:
        return name == "what"

    def __getitem__(self, name: str) -> str:
        return summary(self._record)

    json = __getitem__


class RecordRows:
    """Writes a row for each record to ``output``; call `finish` after the last one. Raises as `RowOutput`."""

    def __init__(
        self,
        format_: str,
        wanted: str | None,
        reading: CaptureSet,
        screen: Screen,
        zone: tzinfo | None,
        redactor: Redactor,
        *,
        to: TableOutput | None = None,
    ) -> None:
        usual, shown = (_USUAL + _AT_REST, _SHOWN_AT_REST) if reading.at_rest else (_USUAL, _SHOWN)
        self.output = RowOutput(
            format_,
            _declared(at_rest=reading.at_rest),
            wanted,
            reading,
            screen,
            zone,
            usual=usual,
            shown=shown,
            to=to,
        )
        self._hidden = columns_left_out(redactor.what)

    def write(self, record: Record) -> None:
        """Write what there is of a record, and of the message or the call that it is."""
        reported = message_of(record, acknowledgments=True, inside=True) or call_of(record)
        line = _Summary(record)
        found = (line, RecordRow(record)) if reported is None else (line, RecordRow(record), reported)
        self.output.write(RowValues(record, *found, hidden=self._hidden))

    def finish(self, *, quiet: bool) -> None:
        """Write what still waits, and say what a terminal has no room for."""
        self.output.finish(quiet=quiet)
