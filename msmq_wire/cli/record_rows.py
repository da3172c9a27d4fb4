"""Records of any type as rows: what ``decode`` prints as a table, as CSV and with ``--columns``."""

from __future__ import annotations

from datetime import tzinfo

from msmq_wire.cli.capture_set import CaptureSet
from msmq_wire.cli.columns import columns_left_out
from msmq_wire.cli.render.screen import Screen
from msmq_wire.cli.row_output import RowOutput
from msmq_wire.cli.table_output import TableOutput
from msmq_wire.records.column import CAPTURED, RECORD_COLUMNS
from msmq_wire.records.item_rows import USUAL, item_columns, item_row
from msmq_wire.records.record import Record
from msmq_wire.report.redaction.redactor import Redactor

# Each with the width of a terminal that shows it.
_SHOWN = {"id": 0, "time": 72, "type": 0, "src": 0, "dst": 0, "what": 0}
_SHOWN |= {"anomalies": 120, "length": 130, "stream": 150}
_SHOWN_AT_REST = {"id": 0, "grade": 0, "type": 0, "offset": 0, "queue": 0, "what": 90, "length": 100}
_SHOWN_AT_REST |= {"places": 110, "anomalies": 120}
_AT_REST = tuple(one.name for one in RECORD_COLUMNS if one.asked and one not in CAPTURED)


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
        usual, shown = (USUAL + _AT_REST, _SHOWN_AT_REST) if reading.at_rest else (USUAL, _SHOWN)
        self.output = RowOutput(
            format_,
            item_columns(at_rest=reading.at_rest),
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
        self.output.write(item_row(record, hidden=self._hidden))

    def finish(self, *, quiet: bool) -> None:
        """Write what still waits, and say what a terminal has no room for."""
        self.output.finish(quiet=quiet)
