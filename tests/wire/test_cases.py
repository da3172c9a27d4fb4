"""What the test file of every structure declares as its ``CASES``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec
import pytest

from msmq_wire.engines.codec import decode, encode, inspect
from msmq_wire.wire.registry import PACKETS, STRUCTURES
from tests.wire.cases import Cases, Spot, bent, contradiction, judge, refusal

_FILES = sorted(Path(__file__).parent.glob("*/test_*.py"))
_MODULES = [import_module(f"tests.wire.{path.parent.name}.{path.stem}") for path in _FILES]
CASES: dict[str, Cases[Any]] = {
    path.stem.removeprefix("test_"): module.CASES
    for path, module in zip(_FILES, _MODULES, strict=True)
    if hasattr(module, "CASES")
}

_every = pytest.mark.parametrize("stem", CASES)


def _with(table: str) -> pytest.MarkDecorator:
    """The structures that have rows in a table."""
    return pytest.mark.parametrize("stem", [stem for stem, cases in CASES.items() if getattr(cases, table)])


@contextmanager
def _row(stem: str, row: object) -> Iterator[None]:
    """Name the row that a failure is in."""
    try:
        yield
    except BaseException as error:
        error.add_note(f"in {stem}, row {row}")
        raise


def _spots(stem: str, locations: Sequence[Spot]) -> list[Spot]:
    return [(f"{stem}.{code}", path, offset, length) for code, path, offset, length in locations]


def test_every_structure_has_cases_in_the_file_of_its_stem_and_no_other_file_has() -> None:
    assert {stem: type(cases.value) for stem, cases in CASES.items()} == STRUCTURES


@_every
def test_the_fields_lie_where_the_section_puts_them(stem: str) -> None:
    data, value = CASES[stem].data, CASES[stem].value
    found = decode(data, stem)
    assert (type(found), found) == (type(value), value)
    assert encode(value) == data


# What is none of these is read where somebody says what it is.
_BY_PORT = {"message_packet", "topology_client_request", "topology_server_reply"}


@pytest.mark.parametrize("stem", sorted(PACKETS.keys() - _BY_PORT))
def test_a_packet_is_recognised_by_its_bytes_and_ends_where_they_do(stem: str) -> None:
    data, value = CASES[stem].data, CASES[stem].value
    assert decode(data) == value
    assert inspect(data + b"more").remainder == b"more"


@_with("kept")
def test_bytes_without_a_meaning_are_kept_and_not_judged(stem: str) -> None:
    for row in CASES[stem].kept:
        change, field, value = row
        with _row(stem, row):
            data = bent(CASES[stem].data, change)
            assert getattr(decode(data, stem), field) == value
            assert judge(stem, data) == []


def test_every_structure_with_bits_has_a_figure_of_them() -> None:
    with_bits = {stem for stem, cls in STRUCTURES.items() if getattr(cls, "BITS", None) is not None}
    assert {stem for stem, cases in CASES.items() if cases.bits} == with_bits


@_with("bits")
def test_the_bits_have_the_places_of_the_figure(stem: str) -> None:
    value = CASES[stem].value
    table = type(value).BITS
    expected = []
    shift = 0
    for part in CASES[stem].bits.split():
        name, _, digits = part.partition(":")
        expected.append((name, shift, int(digits or 1)))
        shift += int(digits or 1)
    assert [(bit.name, bit.shift, bit.width) for bit in table.bits.values()] == expected
    clear = value.with_bits(**dict.fromkeys(table.bits, 0))
    assert all(clear.bit(name) == 0 for name in table.bits)
    for name, at, width in expected:
        with _row(stem, name):
            top = (1 << width) - 1
            one = clear.with_bits(**{name: top})
            assert getattr(one, table.field) == top << at
            assert {other: one.bit(other) for other in table.bits if one.bit(other)} == {name: top}
            with pytest.raises(ValueError, match=name):
                clear.with_bits(**{name: top + 1})


@_with("broken")
def test_a_broken_must_is_named_where_it_lies(stem: str) -> None:
    for row in CASES[stem].broken:
        change, locations = row
        with _row(stem, row):
            data = bent(CASES[stem].data, change)
            assert judge(stem, data) == _spots(stem, locations)
            # A packet ends where its size says; a type or a header that lies leaves bytes to what follows.
            assert stem not in PACKETS or encode(decode(data, stem)) == data


@_with("wrapping")
def test_sums_that_wrap_in_32_bits_are_named_beside_the_error(stem: str) -> None:
    for row in CASES[stem].wrapping:
        change, locations = row
        with _row(stem, row):
            result = inspect(bent(CASES[stem].data, change), stem)
            assert result.error is not None
            found = [(found.code, found.path, found.offset, found.length) for found in result.anomalies]
            assert found == _spots(stem, locations)


@_every
def test_every_must_is_broken_once_and_held_once(stem: str) -> None:
    cases = CASES[stem]
    musts = [must.code for must in getattr(STRUCTURES[stem], "MUSTS", ())]
    others = {locations[0][0] for _, locations in cases.wrapping} | cases.elsewhere
    assert others <= set(musts)
    assert [locations[0][0] for _, locations in cases.broken] == [
        code for code in musts if code not in others
    ]
    assert judge(stem, cases.data) == []


@_with("borders")
def test_values_at_the_border_are_no_anomaly(stem: str) -> None:
    for change in CASES[stem].borders:
        with _row(stem, change):
            assert judge(stem, bent(CASES[stem].data, change)) == []


@_with("refused")
def test_bytes_that_cannot_be_decoded_are_refused_where_they_fail(stem: str) -> None:
    for row in CASES[stem].refused:
        change, cut, expected = row
        with _row(stem, row):
            assert refusal(stem, bent(CASES[stem].data, change)[:cut]) == expected


@_with("contradictions")
def test_a_value_that_contradicts_itself_is_not_written(stem: str) -> None:
    for row in CASES[stem].contradictions:
        changes, path = row
        with _row(stem, row):
            assert contradiction(msgspec.structs.replace(CASES[stem].value, **changes)) == path
