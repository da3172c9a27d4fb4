"""Bodies of the WCF binding net.msmq: .NET message framing ([MC-NMF]) around one or more envelopes.

The rule kept here: records are counted and named; an envelope in binary XML is measured and kept raw, since
no maintained library reads [MC-NBFX] and [MC-NBFS].
"""

from __future__ import annotations

from msmq_wire.errors import DecodeError
from msmq_wire.records.bodies.body import Body, BodyKinds, Confidence, shortened
from msmq_wire.spec import SpecRef

KINDS = (
    BodyKinds(
        ("message_framing",),
        "version and mode of .NET message framing ([MC-NMF] 2.2.3)",
        "mode, via, encoding, sizes; an envelope that is text",
    ),
)

_SPEC = SpecRef("MC-NMF", "2.2.3")
_LISTED = 64

_MODES = {1: "singleton unsized", 2: "duplex", 3: "simplex", 4: "singleton sized"}
_SINGLETON_SIZED = 4
BEGINS = tuple(b"\0\1\0\1" + bytes((mode,)) for mode in _MODES)
"""A version record, and a mode record."""

# [MC-NMF] 2.2.3.4.1: text of the envelope, and how Python reads it where it is text.
_ENCODINGS = {
    0: ("SOAP 1.1, UTF-8", "utf-8"),
    1: ("SOAP 1.1, UTF-16", "utf-16"),
    2: ("SOAP 1.1, UTF-16 little-endian", "utf-16-le"),
    3: ("SOAP 1.2, UTF-8", "utf-8"),
    4: ("SOAP 1.2, UTF-16", "utf-16"),
    5: ("SOAP 1.2, UTF-16 little-endian", "utf-16-le"),
    6: ("SOAP 1.2, MTOM", ""),
    7: ("SOAP 1.2, binary XML", ""),
    8: ("SOAP 1.2, binary XML with its dictionary in band", ""),
}


def message_framing_body(data: bytes) -> Body | None:
    """The body as framed messages; None when it does not begin with a version and a mode record.

    The details have ``mode``, ``via``, ``encoding``, ``upgrade``, ``fault`` and for each envelope, up to 64,
    ``envelope`` with its size. ``text`` is the envelope where there is one and it is text. ``certain`` when
    the records fill the bytes.
    """
    if not data.startswith(BEGINS):
        return None
    frames = _Frames(data)
    confidence: Confidence = "certain"
    try:
        frames.read()
    except DecodeError as error:
        confidence = "likely"
        frames.row("stopped", f"offset {error.offset}: {error.message}")
    via = next((value for name, value in frames.rows if name == "via"), "")
    text, name = frames.text()
    return Body(
        kind="message_framing",
        confidence=confidence,
        title=f".NET message framing {via}".rstrip(),
        text=text,
        encoding=name,
        details=tuple(frames.rows),
        extension="nmf",
        convention="WCF",
    )


class _Frames:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 3
        self.mode = 0
        self.encoding = -1
        self.envelopes = 0
        self.envelope = b""
        self.rows: list[tuple[str, str]] = []

    def row(self, name: str, value: str) -> None:
        if len(self.rows) <= _LISTED + 8:
            self.rows.append((name, shortened(value)))

    def text(self) -> tuple[str | None, str]:
        codec = _ENCODINGS.get(self.encoding, ("", ""))[1]
        if self.envelopes != 1 or not codec:
            return None, ""
        try:
            text = self.envelope.decode(codec)
        except UnicodeDecodeError:
            return None, ""
        return text.removeprefix("\ufeff"), "UTF-8" if codec == "utf-8" else "UTF-16"

    def read(self) -> None:
        while self.at < len(self.data):
            type_ = self.data[self.at]
            self.at += 1
            match type_:
                case 0x00:
                    self.take(2)
                case 0x01:
                    self.mode = self.take(1)[0]
                    self.row("mode", _MODES.get(self.mode, f"{self.mode}, unknown"))
                case 0x02:
                    self.row("via", self.name())
                case 0x03:
                    self.encoding = self.take(1)[0]
                    self.row("encoding", _ENCODINGS.get(self.encoding, (f"{self.encoding}, unknown", ""))[0])
                case 0x04:
                    self.row("encoding", self.name())
                case 0x05:
                    self.chunks()
                case 0x06:
                    self.found(self.take(self.size()))
                case 0x08:
                    self.row("fault", self.name())
                case 0x09:
                    self.row("upgrade", self.name())
                case 0x07 | 0x0A | 0x0B | 0x0C:
                    pass
                case _:
                    self.at -= 1
                    raise self.error("unknown-selector", f"there is no record type {type_}")
            if type_ in (0x03, 0x04) and self.mode == _SINGLETON_SIZED:
                # The one message is what is left, 3.1.1.1.4.
                self.found(self.take(len(self.data) - self.at))

    def chunks(self) -> None:
        """An unsized envelope: chunks up to one of size 0."""
        parts = []
        while size := self.size():
            parts.append(self.take(size))
        self.found(b"".join(parts))

    def found(self, envelope: bytes) -> None:
        self.envelopes += 1
        self.envelope = envelope
        if self.envelopes <= _LISTED:
            self.row("envelope", f"{len(envelope)} bytes")

    def name(self) -> str:
        return self.take(self.size()).decode("utf-8", "replace")

    def size(self) -> int:
        """Seven bits a byte, low ones first, at most five bytes (2.2.2.1)."""
        value = 0
        for shift in range(0, 35, 7):
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
        raise self.error("length", "a size of more than five bytes")

    def take(self, size: int) -> bytes:
        if size > len(self.data) - self.at:
            raise self.error("missing-bytes", "the bytes end inside of a record")
        self.at += size
        return self.data[self.at - size : self.at]

    def error(self, code: str, message: str) -> DecodeError:
        return DecodeError(code, message, offset=self.at, spec=_SPEC)
