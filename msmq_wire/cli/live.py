"""What the command line does with Wireshark: the package beside this one that talks to it, and live captures.

The rule kept here: that package has another licence and is not imported but looked up, by the entry points of
the group ``msmq_wire.wireshark``: ``reader`` (makes what has the methods of `CaptureReader` and ``stop``) and
``install`` (the module that brings the dissector to Wireshark).
"""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from importlib.metadata import entry_points
from types import FrameType
from typing import TYPE_CHECKING, Any

import typer

from msmq_wire.capture.capture_sequence import named, tells
from msmq_wire.cli.capture_set import CaptureSet
from msmq_wire.cli.health import WIRESHARK_GROUP
from msmq_wire.cli.read_counts import nothing_found
from msmq_wire.cli.reporting import print_error
from msmq_wire.errors import CaptureError
from msmq_wire.records.rpc_packets import RpcCall

if TYPE_CHECKING:
    from msmq_wire.capture.capture_sequence import ItemsOf, Read

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def wireshark_part(name: str) -> Any:
    """A part of the package for Wireshark. Raises typer.Exit(1) after one line where it is not installed."""
    for entry_point in entry_points(group=WIRESHARK_GROUP, name=name):
        with contextlib.suppress(ImportError):
            return entry_point.load()
    print_error('this needs the package for Wireshark: pip install "msmq-wire[wireshark]"')
    raise typer.Exit(1)


class LiveReading(CaptureSet):
    """Reads what comes through an interface, until Ctrl-C; options as for `CaptureSet`."""

    def __init__(self, interface: str, capture_filter: str | None, **options: Any) -> None:
        super().__init__((), **options)
        # No folder is meant, whatever has that name.
        self.files = [interface]
        self._capture_filter = capture_filter
        self._reader: Any = wireshark_part("reader")

    @property
    def as_it_comes(self) -> bool:
        """Always."""
        return True

    def _capture(self, files: Sequence[str], items_of: ItemsOf) -> Iterator[Read]:
        (file,) = files
        try:
            yield from self._live(file)
        except CaptureError as error:
            self._fail(named(file, error.message))

    def _live(self, file: str) -> Iterator[Read]:
        found = False
        with (
            self._reader(
                interface=file,
                capture_filter=self._capture_filter,
                ports=self.ports,
                streams=self.streams,
                negotiator=self.negotiator,
            ) as reader,
            _stopped_by_signals(reader),
        ):
            try:
                self.interrupts.waiting = True
                for record in reader:
                    if record.type == "error" and record.stream is None and record.error is None:
                        raise CaptureError(record.reason or "the capture failed")
                    found = found or tells(record, reader)
                    if isinstance(record.packet, RpcCall) and record.packet.sealed:
                        self.counts.sealed += 1
                    yield record
                    sys.stdout.flush()
                    self.interrupts.waiting = True
            finally:
                self.counts.frames += reader.summary.frames
                self.counts.take(reader.summary)
            if not found:
                self._fail(named(file, nothing_found(reader, reader.summary.frames, streams=self.streams)))


@contextlib.contextmanager
def _stopped_by_signals(reader: Any) -> Iterator[None]:
    """Let Ctrl-C end the capture, and what was captured still be shown; the second one ends the program."""
    if threading.current_thread() is not threading.main_thread():
        # Only the main thread may say what signals do.
        yield
        return
    before = {number: signal.getsignal(number) for number in _SIGNALS}

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    def stop(_number: int, _frame: FrameType | None) -> None:
        restore()
        reader.stop()

    for number in _SIGNALS:
        signal.signal(number, stop)
    try:
        yield
    finally:
        restore()
