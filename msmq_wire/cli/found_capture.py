"""What was found at rest as a capture, for programs that read nothing else.

The rule kept here: the bytes are those that were found, and all around them is made up, and says so: the
addresses are those of documentation, the time is the beginning of 1970.
"""

from __future__ import annotations

from msmq_wire.capture.conversation_writer import CaptureWriter
from msmq_wire.records.endpoint import MSMQ_PORT
from msmq_wire.records.record import Record
from msmq_wire.records.srmp_packets import SrmpMessage

_CLIENT, _SERVER = "192.0.2.1", "192.0.2.2"
_FIRST_PORT, _PORTS = 1024, 64512
_HTTP = 80


class FoundCapture(CaptureWriter):
    """Writes each find on a connection of its own; ``written`` counts them. Raises as `CaptureWriter`."""

    def __init__(self, path: str, *, force: bool) -> None:
        super().__init__(path, clock=lambda: 0, force=force)
        self.written = 0

    def write(self, record: Record, data: bytes) -> bool:
        """Write the bytes of a find; False for an envelope of which there is no request."""
        server = (_SERVER, MSMQ_PORT)
        if isinstance(record.packet, SrmpMessage):
            if not record.packet.method:
                return False
            server = (_SERVER, _HTTP)
        connection = self.connection((_CLIENT, _FIRST_PORT + self.written % _PORTS), server)
        connection.feed(True, data)
        connection.finish()
        self.written += 1
        return True
