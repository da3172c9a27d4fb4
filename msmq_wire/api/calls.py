"""`calls`: the remote reads and other calls in captures as Python objects."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from msmq_wire.api.call_attributes import CallAttributes
from msmq_wire.api.capture_iterator import CaptureIterator, CaptureReport, Captures
from msmq_wire.api.filters import Expressions, filter_of
from msmq_wire.capture.capture_sequence import CaptureSequence
from msmq_wire.html_values import facts_html
from msmq_wire.records.call import CallFinder, CallValues
from msmq_wire.records.call_story import CarriedMessage
from msmq_wire.records.filter.subject import Subject
from msmq_wire.records.joined_capture import located
from msmq_wire.records.recognition import Ports
from msmq_wire.records.rpc_packets import RpcCall
from msmq_wire.representation import line
from msmq_wire.rpc.pdu_protection import Negotiator

if TYPE_CHECKING:
    from msmq_wire.records import public_record
    from msmq_wire.records.filter.compiling import Filter


class Call(CallAttributes, frozen=True, kw_only=True):
    """A call in a capture: each column of the command ``calls`` is an attribute.

    Times are as in `Message`; ``latency`` is a timedelta, ``latency_ns`` has its nanoseconds. ``record`` is
    the item of the capture, ``carried`` what is known of the message that the call brought.
    """

    carried: CarriedMessage | None = None

    def __repr__(self) -> str:
        shown = (f"{name}={getattr(self, name)!r}" for name in ("id", "method", "queue", "status_name"))
        return line(self, *shown)

    def _repr_html_(self) -> str:
        names = ("time", "client", "server", "interface", "method", "queue", "status_name", "latency", "what")
        return facts_html(f"call {self.id}", ((name, getattr(self, name)) for name in names))

    @cached_property
    def _values(self) -> CallValues:
        return CallValues(self.record, self.carried)

    def _column(self, name: str) -> Any:
        return self._values[name]

    @property
    def packet(self) -> RpcCall:
        """The call with its request and its response."""
        return self._values.packet


def calls(
    path: Captures,
    *,
    filter: Expressions = None,
    ports: Ports = (),
    negotiator: Negotiator | None = None,
    recursive: bool = False,
) -> CaptureIterator[Call]:
    """Iterate over the remote reads and other calls in captures; arguments and errors as for `messages`.

    Most calls are sealed: without a ``negotiator`` that opens them their method is all that is known.
    """
    matches = filter_of(filter)
    report = CaptureReport(path, ports=ports, negotiator=negotiator, recursive=recursive)
    return CaptureIterator(report, _calls(report, matches))


def call_values(reading: CaptureSequence, matches: Filter | None) -> Iterator[CallValues]:
    """What is known of each call that is read, and matches."""
    finder = CallFinder()
    for record in map(located, reading):
        wanted = isinstance(record.packet, RpcCall) and (matches is None or matches(Subject(record)))
        yield from finder.take(record, wanted=wanted)
    yield from finder.finish()


def _calls(report: CaptureReport, matches: Filter | None) -> Iterator[Call]:
    for values in call_values(report.sequence, matches):
        yield Call(record=cast("public_record.Record", values.record), carried=values.carried)
