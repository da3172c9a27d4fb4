"""A comparison as it may be published: without what names hosts, as ``--redact hosts`` leaves that out.

The rule kept here: what stands for a host comes from the `Redactor` that judged records of the same run had.
Labels, bodies and names of steps are those of a scenario, and stay.
"""

from __future__ import annotations

import msgspec

from msmq_wire.lab.recordings.compare_readings import FIELDS
from msmq_wire.lab.recordings.compare_values import Comparable, ComparisonResult
from msmq_wire.report.redaction.redactor import Redactor
from msmq_wire.wire.private import CORRELATION


def publishable(compared: ComparisonResult, redactor: Redactor) -> ComparisonResult:
    """The comparison as ``redactor`` redacts; findings in it are taken to be redacted."""
    if not redactor.hides_hosts:
        return compared
    return msgspec.structs.replace(
        compared,
        differences=tuple(
            msgspec.structs.replace(
                one,
                recorded=_value(redactor, one.field, one.recorded),
                captured=_value(redactor, one.field, one.captured),
            )
            for one in compared.differences
        ),
        # Why a step was skipped is told in words of the host.
        not_compared=tuple(msgspec.structs.replace(one, detail="") for one in compared.not_compared),
    )


def _value(redactor: Redactor, field: str, value: Comparable) -> Comparable:
    marker = FIELDS[field].private
    if not isinstance(value, str) or marker is None:
        return value
    if marker == CORRELATION:
        return redactor.redacted(bytes.fromhex(value), marker).hex()
    return redactor.redacted(value, marker)
