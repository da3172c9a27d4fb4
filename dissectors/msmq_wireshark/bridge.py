# SPDX-License-Identifier: GPL-2.0-or-later
"""`read_with_tshark`: what Wireshark reads, captures or decrypts, as the records of msmq_wire.

The rule kept here: the same records as `msmq_wire.read_capture` gives, wherever both can read a capture.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import Any

from pyshark.capture.capture import (  # type: ignore[import-untyped]  # it has no annotations
    Capture,
    TSharkCrashException,
)
from pyshark.packet.layers.ek_layer import EkLayer  # type: ignore[import-untyped]  # it has no annotations

from msmq_wire import Record
from msmq_wire.capture.capture_summary import Summary
from msmq_wire.errors import CaptureError
from msmq_wire.records.decoder import decoded
from msmq_wire.records.finder import PacketFinder
from msmq_wire.records.recognition import Ports
from msmq_wire.rpc.pdu_protection import Negotiator
from msmq_wireshark.frames import FrameFeeder
from msmq_wireshark.stubs import DecryptedStubs
from msmq_wireshark.tshark import TsharkCapture

__all__ = ["TsharkReader", "read_with_tshark"]


_DROPPED = "frames dropped: the capture was too slow"


class TsharkReader:
    """Iterates over the records of what tshark reads, in order of completion, as they come.

    Give ``source``: a path of any format that Wireshark reads, ``"-"`` for standard input, or a pyshark
    capture made with ``use_ek=True``, which brings its own filters and preferences. Or ``interface``: the
    name of one, a named pipe, or ``"-"`` for a pipe on standard input.

    ``capture_filter`` (of interfaces) and ``display_filter`` are those of Wireshark; a display filter may
    leave gaps, since it hides frames from msmq_wire too. ``preferences`` are Wireshark's by name.
    ``nt_password`` and ``keytab`` (a path) open sealed calls, here and in Wireshark, whose display filters
    then see what is in them; ``negotiator`` is another one than these make. What these do not open, but
    Wireshark does, as with keys of its preferences, is shown as Wireshark opens it: a notice says that its
    signature is not checked. The other arguments and ``summary`` are those of `msmq_wire.CaptureReader`.

    Raises CaptureError, in one line, when tshark is missing or too old, or for what tshark or dumpcap
    complain about: no permission, no such interface, a wrong filter, no capture. A complaint after the first
    frame, as of a cut file, ends the iteration with an ``error`` record.
    """

    def __init__(
        self,
        source: str | os.PathLike[str] | Capture | None = None,
        *,
        interface: str | None = None,
        capture_filter: str | None = None,
        display_filter: str | None = None,
        preferences: Mapping[str, str] | None = None,
        keytab: str | os.PathLike[str] | None = None,
        nt_password: str | None = None,
        ports: Ports = (),
        streams: bool = False,
        first_id: int = 1,
        negotiator: Negotiator | None = None,
        tshark_path: str | None = None,
    ) -> None:
        if (source is None) == (interface is None):
            raise CaptureError("either a source or an interface is needed")
        options = (capture_filter, display_filter, preferences, keytab, nt_password, tshark_path)
        self.summary = Summary()
        self._capture: TsharkCapture | None = None
        self._others: Capture | None = None
        if isinstance(source, Capture):
            if any(option is not None for option in options):
                raise CaptureError("filters, preferences and keys are those of the pyshark capture")
            self._others = source
            name = str(getattr(source, "input_filepath", "pyshark"))
        else:
            if capture_filter is not None and interface is None:
                raise CaptureError("a capture filter needs an interface: for files there are display filters")
            path = None if source is None else os.fspath(source)
            if path is not None and path != "-" and not os.path.exists(path):
                raise CaptureError(f"cannot open {path}: No such file or directory")
            given = dict(preferences or {})
            if nt_password is not None:
                given["ntlmssp.nt_password"] = nt_password
            self._capture = TsharkCapture(
                source=path,
                interface=interface,
                capture_filter=capture_filter,
                display_filter=display_filter,
                preferences=given,
                keytab=None if keytab is None else os.fspath(keytab),
                tshark_path=tshark_path,
            )
            place = path or interface or "-"
            name = "standard input" if place == "-" else place
        stubs = DecryptedStubs(_own_negotiator(nt_password, keytab) if negotiator is None else negotiator)
        self._streams = streams
        self._finder = PacketFinder(
            capture=name, ports=ports, first_id=first_id, negotiator=stubs.negotiation
        )
        self._feeder = FrameFeeder(self._finder, stubs)

    def __enter__(self) -> TsharkReader:
        return self

    @property
    def on_ports(self) -> bool:
        """Whether any frame was on a port of MSMQ; calls and HTTP on other ports may be of others."""
        return self._finder.on_ports

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __iter__(self) -> Iterator[Record]:
        for record in self._walk():
            self.summary.packets[record.type] += 1
            yield record

    def stop(self) -> None:
        """End the capture; the iteration goes on with what was captured, and ends. For signal handlers."""
        if self._capture is not None:
            self._capture.stop()

    def close(self) -> None:
        """End tshark if it still runs, and wait for that; a pyshark capture that was given stays open."""
        if self._capture is not None:
            self._capture.close()

    def _walk(self) -> Iterator[Any]:
        finder, summary = self._finder, self.summary
        summary.skipped, summary.notices = finder.skipped, finder.notices
        frames: Any = self._capture.layers() if self._capture is not None else _layers_of(self._others)
        failure: CaptureError | None = None
        try:
            for layers in frames:
                summary.frames += 1
                yield from decoded(self._feeder.frame(layers), streams=self._streams)
                summary.understood = finder.understood
            if self._capture is not None:
                failure = self._capture.failure
                if self._capture.dropped:
                    finder.notices[_DROPPED] += self._capture.dropped
        except CaptureError as error:
            if not summary.frames:
                raise
            failure = error
        finally:
            frames.close()
        yield from decoded(finder.finish(), streams=self._streams)
        summary.understood = finder.understood
        if failure is not None:
            yield finder.file_error(failure.message, failure.offset)


def _own_negotiator(nt_password: str | None, keytab: str | os.PathLike[str] | None) -> Negotiator | None:
    """What opens sealed calls without Wireshark; None without keys, or without the extra ``unseal``."""
    if nt_password is None and keytab is None:
        return None
    try:
        from msmq_wire.rpc.unseal.negotiation import negotiator
        from msmq_wire.rpc.unseal.secrets import Secrets
    except ImportError:
        return None
    passwords = [] if nt_password is None else [nt_password]
    keytabs = []
    if keytab is not None:
        try:
            with open(keytab, "rb") as file:
                keytabs.append(file.read())
        except (OSError, ValueError) as error:
            raise CaptureError(f"the keytab cannot be read: {error}") from None
    return negotiator(Secrets.of(passwords=passwords, keytabs=keytabs))


def _layers_of(capture: Capture) -> Any:
    """Yield the EK layers of the packets of a pyshark capture."""
    try:
        for packet in capture:
            layers: dict[str, Any] = {}
            for layer in (packet.frame_info, *packet.layers):
                if not isinstance(layer, EkLayer):
                    raise CaptureError("the pyshark capture is not in EK mode: make it with use_ek=True")
                # What pyshark offers beside it turns times into floats and cannot read repeated layers.
                layers[layer.layer_name] = layer._fields_dict
            yield layers
    except TSharkCrashException as error:
        raise CaptureError(" ".join(str(error).split())) from None


def read_with_tshark(
    source: str | os.PathLike[str] | Capture | None = None,
    *,
    interface: str | None = None,
    capture_filter: str | None = None,
    display_filter: str | None = None,
    preferences: Mapping[str, str] | None = None,
    keytab: str | os.PathLike[str] | None = None,
    nt_password: str | None = None,
    ports: Ports = (),
    streams: bool = False,
    negotiator: Negotiator | None = None,
) -> Iterator[Record]:
    """Yield the records of what tshark reads; arguments and errors as for `TsharkReader`.

    tshark is ended when the iteration ends, however it does.
    """
    with TsharkReader(
        source,
        interface=interface,
        capture_filter=capture_filter,
        display_filter=display_filter,
        preferences=preferences,
        keytab=keytab,
        nt_password=nt_password,
        ports=ports,
        streams=streams,
        negotiator=negotiator,
    ) as reader:
        yield from reader
