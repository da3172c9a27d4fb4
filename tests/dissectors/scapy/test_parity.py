"""Two dissections, scapy's and msmq_wire's: the same values, places, errors and MUSTs for every structure."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

import msmq_scapy
from msmq_scapy.declarations import structures
from msmq_scapy.fields import MsmqBytesField
from msmq_wire import strategies
from msmq_wire.engines.codec import inspect
from msmq_wire.records.view import error_view, view
from msmq_wire.wire.fields import WireStruct, fields
from msmq_wire.wire.musts import Must
from msmq_wire.wire.registry import PACKETS, STRUCTURES
from tests.effort import examples, share
from tests.hex_files import hex_bytes

_PACKETS = Path(__file__).resolve().parents[3] / "fixtures" / "packets"
_FILES = sorted(_PACKETS.glob("*/*.hex"))
_STRUCTURED = sorted(stem for stem, cls in STRUCTURES.items() if issubclass(cls, WireStruct))
_EXPRESSIONS = {
    f"{cls.stem()}.{must.code}"
    for cls in structures().values()
    for must in cls.MUSTS
    if isinstance(must, Must)
}


def _class_of(stem: str) -> Any:
    return getattr(msmq_scapy, f"MSMQ{STRUCTURES[stem].__name__}")


def _agree(data: bytes, stem: str) -> Any:
    """Both read the same out of some bytes; scapy builds them again from its fields."""
    result = inspect(data, stem)
    pkt = _class_of(stem)(data)
    pkt.clear_cache()
    assert bytes(pkt) == data
    assert bytes(pkt.payload) == result.remainder
    assert error_view(pkt.error) == error_view(result.error)
    assert msmq_scapy.view(pkt) == ({} if result.packet is None else view(result.packet))
    reported = [found for found in result.anomalies if found.code in _EXPRESSIONS]
    assert list(msmq_scapy.anomalies(pkt)) == reported
    return pkt


_CASES = share([path for path in _FILES if path.parent.name in _STRUCTURED], 3)


@pytest.mark.parametrize("path", _CASES, ids=[f"{path.parent.name}/{path.stem}" for path in _CASES])
def test_a_fixture_is_the_same_to_both_whole_cut_and_followed_by_more(path: Path) -> None:
    data, stem = hex_bytes(path), path.parent.name
    _agree(data, stem)
    _agree(data + b"what follows", stem)
    for size in range(1, len(data), max(1, len(data) // 16)):
        _agree(data[:size], stem)


def test_every_structure_has_a_class_and_fixtures_to_compare() -> None:
    compared = {path.parent.name for path in _FILES}
    assert compared == set(STRUCTURES)
    for stem in _STRUCTURED:
        declared = [field.name for field in fields(STRUCTURES[stem]) if not field.position]
        named = [field.name for field in _class_of(stem).fields_desc]
        assert named[: len(declared)] == declared
        assert set(named[len(declared) :]) == set(getattr(STRUCTURES[stem], "INSIDE", {}))


@pytest.mark.parametrize("stem", sorted(set(STRUCTURES) - set(_STRUCTURED)))
def test_a_type_without_fields_is_the_value_of_a_field(stem: str) -> None:
    compared = 0
    for path in sorted((_PACKETS / stem).glob("*.hex")):
        data = hex_bytes(path)
        result = inspect(data, stem)
        if result.error is not None:
            continue
        field = MsmqBytesField("value", None, len(data) - len(result.remainder), STRUCTURES[stem])
        left, value = field.getfield(None, data)
        assert left == result.remainder
        assert view(value) == view(result.packet)
        assert field.addfield(None, b"", field.any2i(None, field.i2h(None, value))) == value
        compared += 1
    assert compared


@pytest.mark.slow
@given(st.data())
@settings(max_examples=examples(150))
def test_damaged_bytes_are_the_same_to_both(data: st.DataObject) -> None:
    stem = data.draw(st.sampled_from(_STRUCTURED))
    event(stem)
    damaged = data.draw(strategies.mutated(stem))
    if damaged:
        _agree(damaged, stem)


@pytest.mark.parametrize("stem", sorted(PACKETS))
def test_the_kind_of_a_packet_is_recognised_as_by_inspect(stem: str) -> None:
    for path in sorted((_PACKETS / stem).glob("*.hex")):
        data = hex_bytes(path)
        expected = inspect(data)
        if expected.type is not None:
            assert type(msmq_scapy.MSMQ(data)) is _class_of(expected.type)
        elif expected.packet is None:
            assert str(msmq_scapy.MSMQ(data).error) == str(expected.error)
        assert type(msmq_scapy.MSMQ(data, as_=stem)) is _class_of(stem)


def test_an_internal_packet_of_unknown_type_shows_its_headers() -> None:
    # A BaseHeader with IN, an InternalHeader of type 9, and four bytes more.
    data = bytes.fromhex("10000b00 4c494f52 18000000 ffffffff 00000900 01020304")
    pkt = msmq_scapy.MSMQ(data)
    assert msmq_scapy.view(pkt) == view(inspect(data).packet)
    assert bytes(pkt) == data
    assert bytes(pkt.payload) == b"\1\2\3\4"
