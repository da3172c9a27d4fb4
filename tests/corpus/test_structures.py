"""Samples of structures: what was done to the bytes is what a parser must say of them."""

from __future__ import annotations

from functools import cache
from itertools import accumulate

import pytest

from msmq_wire.corpus.sample import Sample
from msmq_wire.corpus.structures import GROUPS, structure_samples
from msmq_wire.corpus.violations import VIOLATIONS
from msmq_wire.engines import columns, reference
from msmq_wire.engines.codec import inspect
from msmq_wire.wire.registry import STRUCTURES
from tests.effort import share
from tests.wire.test_cases import CASES as BY_HAND

CASES = [(group, stem) for group, stems in GROUPS.items() for stem in stems]
SOME = [("headers", "base_header"), ("headers", "user_header"), ("packets", "session_ack")]


@cache
def samples(group: str, stem: str) -> list[Sample]:
    return list(structure_samples(group, stem))


@pytest.mark.parametrize(("group", "stem"), share(CASES, every=5))
def test_the_row_engine_agrees_with_every_verdict(group: str, stem: str) -> None:
    for sample in samples(group, stem):
        found, expected = inspect(sample.data, stem, engine="rows"), sample.expected
        assert found.consumed == expected.consumed, sample.file
        assert [one.code for one in found.anomalies] == [one.code for one in expected.anomalies], sample.file
        error = None if found.error is None else (found.error.code, found.error.path, found.error.offset)
        said = (
            None
            if expected.error is None
            else (
                expected.error.code,
                expected.error.path,
                expected.error.offset,
            )
        )
        assert error == said, sample.file


@pytest.mark.slow
@pytest.mark.parametrize(("group", "stem"), [case for case in CASES if case[0] != "types"])
def test_the_column_engine_agrees_with_every_verdict(group: str, stem: str) -> None:
    rows = samples(group, stem)
    batch = columns.decode(
        b"".join(one.data for one in rows), [0, *accumulate(len(one.data) for one in rows)], as_=stem
    )
    seen = 0
    for table in batch.tables.values():
        for place, row in enumerate(table.rows.tolist()):
            expected = rows[row].expected
            assert table.consumed[place] == expected.consumed, rows[row].file
            codes = [one.code for one in table.anomalies.get(place, ())]
            assert codes == [one.code for one in expected.anomalies], rows[row].file
            error = table.errors.get(place)
            assert (error and error.code) == (expected.error and expected.error.code), rows[row].file
            seen += 1
    assert seen == len(rows)


@pytest.mark.parametrize(("group", "stem"), SOME)
def test_a_sample_is_valid_unchanged_or_accepted_or_broken_by_its_kind(group: str, stem: str) -> None:
    kinds = {sample.kind for sample in samples(group, stem)}
    assert kinds == {"valid", "boundary", "broken"}
    for sample in samples(group, stem):
        is_broken = bool(sample.expected.anomalies) or sample.expected.error is not None
        assert is_broken == (sample.kind == "broken")
        assert (sample.kind == "valid") <= (sample.changed is None)


@pytest.mark.parametrize(("group", "stem"), SOME)
def test_a_cut_inside_the_fields_is_missing_bytes_at_the_cut(group: str, stem: str) -> None:
    cut = [one for one in samples(group, stem) if one.changed is not None and one.changed.how == "cut"]
    assert cut
    for sample in cut:
        assert sample.changed is not None
        assert sample.expected.error is not None
        assert sample.expected.error.code == "missing-bytes"
        assert len(sample.data) == sample.changed.offset
        assert sample.expected.error.offset <= len(sample.data)


@pytest.mark.parametrize(("group", "stem"), SOME)
def test_a_number_that_was_set_is_read_as_little_endian(group: str, stem: str) -> None:
    for sample in samples(group, stem):
        change = sample.changed
        if change is not None and change.how == "set" and sample.expected.fields:
            written = sample.data[change.offset : change.offset + change.length]
            assert sample.expected.fields == {change.path: int.from_bytes(written, "little")}


def test_a_base_header_is_broken_in_the_ways_that_its_section_forbids() -> None:
    broken = {
        (one.changed.path, one.changed.value): {place.code for place in one.expected.anomalies}
        for one in samples("headers", "base_header")
        if one.changed is not None and one.changed.how == "set"
    }
    assert "base_header.version-number" in broken["version_number", 0]
    assert "base_header.signature" in broken["signature", 0]


def test_each_bit_of_the_flags_of_a_user_header_is_set_alone_once() -> None:
    words = {one.expected.fields.get("flags") for one in samples("headers", "user_header")}
    assert {1 << place for place in range(32)} <= words


@pytest.mark.slow
def test_every_must_is_broken() -> None:
    broken = {place.code for case in CASES for one in samples(*case) for place in one.expected.anomalies}
    declared = {
        f"{stem}.{must.code}" for stem, cls in STRUCTURES.items() for must in getattr(cls, "MUSTS", ())
    }
    assert declared - broken == set()


@pytest.mark.slow
def test_a_rule_is_broken_where_the_case_by_hand_of_its_structure_breaks_it() -> None:
    by_hand = {
        (f"{stem}.{code}", path.rpartition(".")[2])
        for stem, cases in BY_HAND.items()
        for _, spots in (*cases.broken, *cases.wrapping)
        for code, path, _, _ in spots[:1]
    }
    # A header breaks its rules inside of a packet, too, where its fields have longer paths.
    found = {
        (place.code, place.path.rpartition(".")[2])
        for case in CASES
        for one in samples(*case)
        for place in one.expected.anomalies
    }
    assert len(by_hand) == 150
    assert by_hand - found == set()


@pytest.mark.parametrize("code", VIOLATIONS)
def test_several_changes_break_the_rule_that_they_are_declared_for(code: str) -> None:
    stem = code.partition(".")[0]
    (case,) = (case for case in CASES if case[1] == stem)
    (sample,) = (one for one in samples(*case) if one.changed is not None and one.changed.breaks == code)
    assert sample.changed is not None
    assert (sample.kind, sample.changed.how, sample.expected.error) == ("broken", "several", None)
    assert code in {place.code for place in sample.expected.anomalies}
    for edit in sample.changed.edits:
        there = sample.data[edit.offset : edit.offset + edit.length]
        shown = there.hex() if edit.value is None else edit.value
        assert sample.expected.fields[edit.path] == shown
        assert edit.value in (None, int.from_bytes(there, "little"))


def test_bytes_that_no_header_claims_are_counted_by_the_size_of_the_packet() -> None:
    (sample,) = (one for one in samples("packets", "session_ack") if one.changed and one.changed.edits)
    assert sample.data[8:12] == (40).to_bytes(4, "little")
    assert sample.data[36:] == b"\xaa\x55\xaa\x55"
    assert [(one.code, one.path, one.offset, one.length) for one in sample.expected.anomalies] == [
        ("session_ack.undeclared", "undeclared", 36, 4)
    ]


@pytest.mark.slow
@pytest.mark.parametrize(("group", "stem"), CASES)
def test_a_valid_sample_gives_back_its_bytes(group: str, stem: str) -> None:
    for sample in samples(group, stem):
        if sample.kind == "valid":
            assert reference.build(reference.parse(STRUCTURES[stem], sample.data)[0]) == sample.data
