"""A capture as one HTML page to hand over: summary, findings, hosts, sessions, queues and messages.

Feed records to `Totals` and findings to `Shelf`; `report_page` writes them and a `Story` as a page that
loads nothing. `Gone` takes what a follower let go before the end.
`AtRest` is what was found in files that are no captures.
"""

from __future__ import annotations

from msmq_wire.report.at_rest import AtRest
from msmq_wire.report.evidence import Shelf
from msmq_wire.report.gone import Gone
from msmq_wire.report.page import ReadFacts, report_page
from msmq_wire.report.totals import Totals

__all__ = ["AtRest", "Gone", "ReadFacts", "Shelf", "Totals", "report_page"]
