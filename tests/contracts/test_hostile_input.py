"""Lengths that lie, counts that explode and offsets that wrap cost neither memory nor an unknown error."""

from __future__ import annotations

import struct
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from msmq_wire.engines.codec import InspectResult, inspect
from msmq_wire.engines.reference import layout
from msmq_wire.wire.fields import WireStruct, fields
from tests.contracts.structures import structures
from tests.effort import WHOLE, in_batches
from tests.fixture_files import HEX_FILES

_MEGABYTE = 1 << 20
# How much shorter than a packet can be the lists are: what they cost is counted object by object.
_LESS = 4 if WHOLE else 32

# Every field that says how much there is or where it lies.
_LENGTHS = {
    "address_length",
    "allocation_body_size",
    "body_data_length",
    "connected_network_count",
    "count",
    "data_length",
    "directory_service_server_size",
    "element_count",
    "encryption_key_size",
    "extension_size",
    "header_data_length",
    "header_size",
    "http_body_size",
    "ipx_network_count",
    "label_length",
    "message_size",
    "msg_body_offset",
    "msg_body_size",
    "packet_size",
    "provider_info_size",
    "remaining_headers_size",
    "section_size",
    "section_size_alloc",
    "sender_cert_size",
    "sender_id_size",
    "signature_size",
    "size",
    "sub_authority_count",
}
# Nothing in the structure can say that these are wrong.
_FREE = {
    "allocation_body_size",  # may exceed the body; what it allocates is not on the wire
    "section_size_alloc",  # says what was not transferred
}
_FREE_ALONE = {
    ("extended_address_header/ignored", "address_length"),  # type 0: all the header is ignored
    ("extension_header/three_trailers", "remaining_headers_size"),  # of headers that are not there
}


def _peak(work: Callable[[], Any]) -> tuple[Any, int]:
    """What ``work`` returns and the most memory it held, in bytes."""
    tracemalloc.start()
    try:
        result = work()
        return result, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def _lengths(data: bytes, stem: str) -> Iterator[tuple[str, int, int]]:
    """Path, offset and size of every length field of some bytes."""
    packet = inspect(data, stem).packet
    if isinstance(packet, WireStruct):
        for path, span in layout(packet).items():
            if path.rpartition(".")[2] in _LENGTHS and "_body." not in path:
                yield path, span.offset, span.length


def _hostile(size: int, here: int) -> list[int]:
    """Values for a field of ``size`` bytes: all ones, around the sign, and a sum that wraps to ``here``."""
    top = 1 << 8 * size
    return sorted({top - 1, top - 2, top - here % top, top >> 1, (top >> 1) - 1} - {top})


def test_every_length_field_is_attacked() -> None:
    declared = {
        field.name
        for cls in structures()
        if cls.__module__.startswith("msmq_wire.wire.")
        for field in fields(cls)
        if field.value_type is int and not field.position
    }
    suspicious = ("size", "length", "count", "offset", "alloc")
    # A window is counted in packets and measures nothing on the wire.
    assert {name for name in declared if name.endswith(suspicious)} - {"window_size"} == _LENGTHS


@pytest.mark.slow
@in_batches(HEX_FILES, name="hex_file", every=1)
def test_a_lying_length_is_an_error_or_an_anomaly_and_costs_no_memory(
    hex_file: Path, load: Callable[[Path], bytes]
) -> None:
    stem = hex_file.parent.name
    data = load(hex_file)
    whole = inspect(data, stem)
    for path, offset, size in _lengths(data, stem):
        field = path.rpartition(".")[2]
        if field in _FREE or (f"{stem}/{hex_file.stem}", field) in _FREE_ALONE:
            continue
        for value in _hostile(size, offset):
            bent = data[:offset] + value.to_bytes(size, "little") + data[offset + size :]
            result, peak = _peak(lambda bent=bent: inspect(bent, stem))  # type: ignore[misc]  # bound now
            assert peak < 10 * _MEGABYTE, (path, value)
            # A header that is known by its size is left in the remainder when that is wrong.
            known = result.error is not None or result.anomalies or result.consumed < whole.consumed
            assert known or bent == data, (path, value)


@in_batches(HEX_FILES, name="hex_file", every=1)
def test_all_lengths_lying_at_once_cost_no_memory(hex_file: Path, load: Callable[[Path], bytes]) -> None:
    stem = hex_file.parent.name
    data = bytearray(load(hex_file))
    for path, offset, size in _lengths(bytes(data), stem):
        if not path.endswith("packet_size"):
            data[offset : offset + size] = b"\xff" * size
    result, peak = _peak(lambda: inspect(bytes(data), stem))
    assert peak < 10 * _MEGABYTE
    assert result.consumed + len(result.remainder) == len(data)


def _user_message(flags: int, properties: bytes, rest: bytes) -> bytes:
    user = bytes(32) + struct.pack("<4I", 0xFFFFFFFF, 0, 1, flags)
    size = 16 + len(user) + len(properties) + len(rest)
    return struct.pack("<BBHIII", 0x10, 0, 3, 0x524F494C, size, 0xFFFFFFFF) + user + properties + rest


def _properties(body: bytes = b"", label: bytes = b"", extension: bytes = b"") -> bytes:
    numbers = (0, 0, len(body), len(body), 0, 0x800E, 0x6610, len(extension))
    text = label + extension + body
    return (
        bytes((0, len(label) // 2)) + bytes(22) + struct.pack("<8I", *numbers) + text + bytes(-len(text) & 3)
    )


def _queues(element: bytes, count: int) -> bytes:
    header = struct.pack("<IHHI", 12 + len(element) * count, 0x64, 0, count)
    return _user_message(0x200000 | 0x800000, _properties(), header + element * count)


_WORST = {
    "a list of empty direct names": lambda: _queues(b"\3\0\0\0", 220_000 // _LESS),
    "a list of direct names of one character": lambda: _queues(b"\3\0A\0\0\0", 50_000 // _LESS),
    "a list of public names": lambda: _queues(b"\1\0\0\0" + bytes(range(16)), 50_000 // _LESS),
    "a list of private names": lambda: _queues(b"\2\0\0\0" + bytes(range(20)), 40_000 // _LESS),
    "a list of distribution lists": lambda: _queues(b"\6\0\0\0" + bytes(range(16)), 50_000 // _LESS),
    "a list that stops at its first element": lambda: _queues(b"\xff\xff\0\0", 250_000 // _LESS),
    "a body of a megabyte": lambda: _user_message(0x200000, _properties(bytes(_MEGABYTE)), b""),
    "an extension of a megabyte": lambda: _user_message(
        0x200000, _properties(extension=bytes(_MEGABYTE)), b""
    ),
    "a megabyte that no header claims": lambda: _user_message(0x200000, _properties(), bytes(_MEGABYTE)),
    "a SOAP header of a megabyte": lambda: _user_message(
        0x10200000,
        _properties(),
        struct.pack("<HHI", 0x320, 0, _MEGABYTE // 2)
        + b"A\0" * (_MEGABYTE // 2)
        + struct.pack("<HHI", 0x384, 0, 0),
    ),
    "a certificate and a SID of 255 sub-authorities": lambda: _user_message(
        0x280000,
        struct.pack("<4H2I", 1, 1028, 0, 0xFFFF, 0x80000, 0)
        + b"\1\xff"
        + bytes(1026 + 0x10000 + 0x80000)
        + _properties(),
        b"",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("shape", _WORST)
def test_a_packet_costs_at_most_sixty_times_its_size(shape: str) -> None:
    data = _WORST[shape]()
    result, peak = _peak(lambda: inspect(data, "user_message"))
    assert isinstance(result, InspectResult)
    assert result.error is None
    assert result.consumed == len(data)
    assert peak <= _MEGABYTE + 60 * len(data)
