"""How members are put into runs that one read takes."""

from __future__ import annotations

from msmq_wire.rpc.ndr import BYTE, DWORD, HYPER, NDR, NDR64, UUID, WORD, Conformant, Ranged, Unique
from msmq_wire.rpc.ndr.plans import PackedMembers, Plan, Single


def test_members_of_fixed_size_are_one_run_with_its_gaps() -> None:
    (run,) = Plan((BYTE, DWORD, WORD, Unique(BYTE), HYPER), NDR, 8, deferring=False).steps
    assert isinstance(run, PackedMembers)
    assert (run.align, run.size) == (8, 24)
    assert run.offsets == (0, 4, 8, 12, 16)
    assert run.gaps == ((1, 4), (10, 12))
    assert run.pointers == (3,)


def test_a_pointer_has_eight_bytes_in_ndr64() -> None:
    (run,) = Plan((BYTE, Unique(BYTE), WORD), NDR64, 8, deferring=False).steps
    assert isinstance(run, PackedMembers)
    assert run.offsets == (0, 8, 16)
    assert run.gaps == ((1, 8),)


def test_in_a_parameter_list_a_pointer_stands_alone() -> None:
    first, pointer, last = Plan((DWORD, Unique(BYTE), DWORD), NDR, 8, deferring=True).steps
    assert isinstance(first, PackedMembers)
    assert isinstance(pointer, Single)
    assert isinstance(last, PackedMembers)
    assert (first.first, first.last, pointer.place, last.first, last.last) == (0, 1, 1, 2, 3)


def test_behind_what_has_any_size_a_run_ends_where_more_alignment_is_needed() -> None:
    array, small, large = Plan((Conformant(BYTE), WORD, HYPER), NDR, 8, deferring=True).steps
    assert isinstance(array, Single)
    assert not array.uses_scope
    assert isinstance(small, PackedMembers)
    assert isinstance(large, PackedMembers)
    assert (small.align, large.align) == (2, 8)


def test_ranges_and_what_is_no_plain_number_are_known_by_their_place() -> None:
    number = Ranged(DWORD, 0, 1)
    (run,) = Plan((BYTE, number, UUID), NDR, 4, deferring=False).steps
    assert isinstance(run, PackedMembers)
    assert run.ranges == ((1, 4, number),)
    assert run.wrapped == ((2, UUID),)
