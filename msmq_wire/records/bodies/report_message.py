"""Reports of queue managers on the way of a traced message: [MS-MQQB] 3.1.5.8.9, 3.1.7.1.7.

The rule kept here: a body is a report if all of it has the form. Its tags contain a space, so it is no XML.
"""

from __future__ import annotations

from msmq_wire.records.bodies.body import Body, BodyKinds
from msmq_wire.wire.report_message import ReportBody

KINDS = (
    BodyKinds(
        ("report_message",),
        "all of the body of a report message of message tracing ([MS-MQQB] 3.1.5.8.9, 3.1.7.1.7)",
        "whether the traced message was received or sent, its number and queue, the next hop, the hop count",
    ),
)
BEGINS = ("<MESSAGE ID>".encode("utf-16-le"), "<message id>".encode("utf-16-le"))


def report_message_body(data: bytes) -> Body | None:
    """The body as that of a report message; None for others.

    The details have ``report`` (``received`` or ``sent``), ``message_id``, ``target_queue`` and, of a sent
    message, ``next_hop`` and ``hop_count``.
    """
    report = ReportBody.parse(data)
    if report is None:
        return None
    rows = [
        ("report", report.kind),
        ("message_id", str(report.message_id)),
        ("target_queue", report.target_queue),
    ]
    what = f"message {report.message_id} received"
    if report.next_hop is not None:
        rows += [("next_hop", report.next_hop), ("hop_count", str(report.hop_count))]
        what = f"message {report.message_id} sent to {report.next_hop}"
    return Body(
        kind="report_message",
        confidence="certain",
        title=f"report message: {what}",
        text=str(report),
        encoding="UTF-16",
        details=tuple(rows),
        extension="txt",
    )
