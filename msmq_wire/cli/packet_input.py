"""The bytes of one packet from whatever a user has: bytes, hex text, dumps, C arrays, base64.

The rule kept here: the forms are tried in one fixed order, and a form is taken only if it explains all of
the text.

1. Bytes with "LIOR" at offset 4, and bytes that are no text, are the packet itself. A byte order mark is
   taken off first and says how the text is encoded.
2. A text with ``{`` is a C array: the first pair of braces. A text with ``\\x`` is an escaped string. Not so
   where these stand in comments of hex text.
3. Lines of an offset and bytes are a dump: xxd, ``hexdump -C``, Wireshark, ``tshark -x``. The first dump of
   the text counts; a ``*`` line repeats the line before it.
4. A text of hex digits and separators (white space, ``,`` ``;`` ``:`` ``-`` ``0x``, ``#`` comments) is hex,
   even if base64 could be made of it.
5. A text of the base64 alphabet, standard or URL-safe, is base64 if a packet comes out of it ("LIOR" at
   offset 4, "HU" at 2), or if the kind of structure is given: words are base64 too.
6. Other text with "HU" at offset 2 is a ping in plain bytes.

A whole frame of a dump gives what its innermost TCP or UDP layer carries.
"""

from __future__ import annotations

import base64
import binascii
import codecs
import os
import re
import sys

import msgspec

from msmq_wire.capture.link import dissect
from msmq_wire.capture.network import UdpDatagram
from msmq_wire.capture.pcap import PCAP_MAGICS, Frame
from msmq_wire.capture.pcapng import PCAPNG_MAGIC
from msmq_wire.errors import MsmqWireError
from msmq_wire.reassembly.tcp_events import TcpSegment

MAX_INPUT = 1 << 26
"""Bytes of input read at most: a dump of the largest packet is less than half of it."""

_SIGNATURE = b"LIOR"
_PING = b"HU"
_ETHERNET = 1
_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_TEXT_CONTROLS = b"\t\n\r\f\v"
_NO_TEXT = bytes(b for b in range(256) if not (0x20 <= b < 0x7F or b in _TEXT_CONTROLS))

_OFFSET = re.compile(r"\s*([0-9a-fA-F]{4,8})(:?)(?:\s+|$)")
_PAIRS = re.compile(r"(?:[0-9a-fA-F]{2} {1,2}){1,64}")
_GROUPS = re.compile(r"(?:[0-9a-fA-F]{2,16} ?){1,64}")
_COMMENT = re.compile(r"(?:#|//)[^\n]*")
_C_NUMBER = re.compile(r"0[xX][0-9a-fA-F]{1,2}|[0-9]{1,3}|'[ -~]'")
_ESCAPE = re.compile(r"\\x([0-9a-fA-F]{2})")
_SEPARATORS = re.compile(r"0[xX]|[\s,;:\-]+")
_HEX = re.compile(r"[0-9a-fA-F]*")
_BASE64 = re.compile(r"[A-Za-z0-9+/_\-]+={0,2}")


def input_name(file: str) -> str:
    """A file as errors call it."""
    return "standard input" if file == "-" else file


def read_input(file: str) -> bytes:
    """All bytes of a file, or of standard input for ``-``. Raises MsmqWireError, which says why not."""
    try:
        if file == "-":
            data = sys.stdin.buffer.read(MAX_INPUT + 1)
        elif os.path.isdir(file):
            raise MsmqWireError("cannot read it: this is a folder, name one of its files")
        else:
            with open(file, "rb") as opened:
                data = opened.read(MAX_INPUT + 1)
    except (OSError, ValueError) as error:
        raise MsmqWireError(f"cannot read it: {getattr(error, 'strerror', None) or error}") from error
    if len(data) > MAX_INPUT:
        raise MsmqWireError(f"it is larger than {MAX_INPUT >> 20} MiB, no packet is")
    return data


class PacketInput(msgspec.Struct, frozen=True):
    """Bytes of a packet and the form they came in, in words."""

    data: bytes
    form: str


def read_packet_input(raw: bytes, *, kind_given: bool = False) -> PacketInput:
    """Find the bytes of a packet in an input; ``kind_given`` says that it may hold any structure.

    Raises MsmqWireError with one line of explanation when the input is empty, a capture, or in no form that
    is known.
    """
    if not raw:
        raise MsmqWireError("the input is empty")
    if raw[4:8] == _SIGNATURE:
        return PacketInput(raw, "bytes")
    if raw[:4] in PCAP_MAGICS or raw[:4] == PCAPNG_MAGIC:
        raise MsmqWireError("the input is a capture: use the command decode")
    text = _text(raw)
    if text is None:
        return PacketInput(raw, "bytes")
    if not text.strip():
        raise MsmqWireError("the input holds only white space")
    found = _from_text(text, kind_given)
    if found is None:
        if raw[2:4] == _PING:
            return PacketInput(raw, "bytes")
        raise MsmqWireError("the input is text, but no hex text, dump, C array or packet in base64")
    return found


def _text(raw: bytes) -> str | None:
    for bom, encoding in _BOMS:
        if raw.startswith(bom):
            try:
                return raw[len(bom) :].decode(encoding)
            except UnicodeDecodeError:
                return None
    return None if raw.translate(None, _NO_TEXT) != raw else raw.decode("ascii")


def _from_text(text: str, kind_given: bool) -> PacketInput | None:
    digits = _digits(text)
    # The comments of hex text may hold whatever other forms begin with.
    if not digits or _HEX.fullmatch(digits) is None:
        if "{" in text:
            return _c_array(text)
        if "\\x" in text:
            return _escaped_string(text)
    return _dump(text) or _hex(text) or _base64(text, kind_given)


def _c_array(text: str) -> PacketInput | None:
    inside, closed, _ = _without_comments(text).partition("{")[2].partition("}")
    if not closed:
        raise MsmqWireError("the C array has no closing brace")
    items = [item.strip() for item in inside.split(",")]
    if items and not items[-1]:
        items.pop()
    numbers = bytearray()
    for place, item in enumerate(items, 1):
        if _C_NUMBER.fullmatch(item) is None:
            raise MsmqWireError(f"element {place} of the C array is no byte: {item[:20]!r}")
        value = ord(item[1]) if item[0] == "'" else int(item, 16 if item[:2] in ("0x", "0X") else 10)
        if value > 0xFF:
            raise MsmqWireError(f"element {place} of the C array is no byte: {item[:20]!r}")
        numbers.append(value)
    return PacketInput(_payload(bytes(numbers)), "C array") if numbers else None


def _without_comments(text: str) -> str:
    """C text with a blank for every comment; what begins one that has no end stays.

    An expression would look for the end of each comment again, to the end of the text.
    """
    kept: list[str] = []
    at = 0
    mark = text.find("/")
    last = text.rfind("*/")
    while mark >= 0:
        end = mark
        if text.startswith("//", mark):
            end = text.find("\n", mark)
            end = len(text) if end < 0 else end
        elif text.startswith("/*", mark) and mark + 2 <= last:
            end = text.find("*/", mark + 2) + 2
        if end > mark:
            kept += text[at:mark], " "
            at = end
        mark = text.find("/", max(end, mark + 1))
    return "".join([*kept, text[at:]])


def _escaped_string(text: str) -> PacketInput | None:
    left = _ESCAPE.sub("", text)
    if left.strip(" \t\r\n\"'\\;()b="):
        return None
    data = bytes.fromhex("".join(_ESCAPE.findall(text)))
    return PacketInput(_payload(data), "escaped string")


def _dump(text: str) -> PacketInput | None:
    """The first dump in the text: lines whose offsets count their bytes from 0."""
    data = bytearray()
    repeat = False
    last = b""
    xxd = False
    for line in text.splitlines():
        if data and line.strip() == "*":
            repeat = True
            continue
        match = _OFFSET.match(line)
        if match is None:
            if data:
                break
            continue
        offset = int(match[1], 16)
        if not data:
            if offset or match.end() == len(line):
                continue
        elif offset == 0:
            break
        if repeat:
            # What a squeezed dump stands for is bounded by what a packet may hold.
            if not last or offset <= len(data) or offset > MAX_INPUT:
                return None
            data += (last * ((offset - len(data)) // len(last) + 1))[: offset - len(data)]
            repeat = False
        if data and offset < len(data) and len(data) - offset < len(last):
            # Letters of the text column were read as bytes; the next offset tells.
            del data[offset:]
        if offset != len(data):
            if not data:
                continue
            raise MsmqWireError(f"the dump has {len(data)} bytes before offset {offset:#06x}")
        xxd = match[2] == ":"
        last = _line_bytes(line[match.end() :], xxd)
        data += last
    if not data:
        return None
    return PacketInput(_payload(bytes(data)), "xxd dump" if xxd else "hex dump")


def _line_bytes(rest: str, xxd: bool) -> bytes:
    if xxd:
        groups = _GROUPS.match(rest.partition("  ")[0])
        digits = "" if groups is None else groups[0].replace(" ", "")
        return bytes.fromhex(digits) if len(digits) % 2 == 0 else b""
    # Wireshark and hexdump -C leave two spaces after the eighth byte and three or a bar before the text.
    end = len(rest)
    for mark in ("   ", " |", "|"):
        at = rest.find(mark)
        end = min(end, at) if at >= 0 else end
    pairs = _PAIRS.match(rest[:end] + " ")
    return b"" if pairs is None else bytes.fromhex(pairs[0])[:16]


def _hex(text: str) -> PacketInput | None:
    digits = _digits(text)
    if not digits or _HEX.fullmatch(digits) is None:
        return None
    if len(digits) % 2:
        raise MsmqWireError(f"the hex text has an odd number of digits, {len(digits)}")
    return PacketInput(_payload(bytes.fromhex(digits)), "hex text")


def _digits(text: str) -> str:
    """What is left of a text without comments and separators."""
    return _SEPARATORS.sub("", _COMMENT.sub(" ", text))


def _base64(text: str, kind_given: bool) -> PacketInput | None:
    letters = "".join(text.split())
    if _BASE64.fullmatch(letters) is None:
        return None
    letters = letters.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        data = base64.b64decode(letters + "=" * (-len(letters) % 4), validate=True)
    except binascii.Error:
        return None
    data = _payload(data)
    return PacketInput(data, "base64") if data and (kind_given or _begins_like_a_packet(data)) else None


def _begins_like_a_packet(data: bytes) -> bool:
    return data[4:8] == _SIGNATURE or data[2:4] == _PING


def _payload(data: bytes) -> bytes:
    """What a frame carries if the bytes are one, else the bytes."""
    if _begins_like_a_packet(data):
        return data
    for layer in dissect(Frame(1, None, _ETHERNET, data, len(data), 0)):
        if isinstance(layer, TcpSegment | UdpDatagram) and layer.payload:
            payload = bytes(layer.payload)
            if _begins_like_a_packet(payload):
                return payload
    return data
