from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from msmq_wire.reassembly.ip import IncompleteDatagram, IpDatagram, IpFragment, IpReassembler

A, B = bytes([192, 0, 2, 1]), bytes([192, 0, 2, 2])
A6, B6 = b"\x20\x01\x0d\xb8" + bytes(11) + b"\x01", b"\x20\x01\x0d\xb8" + bytes(11) + b"\x02"
SECOND = 1_000_000_000


def fragment(
    offset: int,
    payload: bytes,
    *,
    more: bool = True,
    frame: int = 1,
    time: int = 0,
    identification: int = 7,
    protocol: int = 17,
    src: bytes = A,
    dst: bytes = B,
) -> IpFragment:
    return IpFragment(src, dst, protocol, identification, offset, more, payload, frame, time)


def test_two_fragments_make_the_datagram_when_the_second_arrives() -> None:
    ip = IpReassembler()
    assert ip.feed(fragment(0, b"abcdefgh", frame=3)) is None
    assert ip.feed(fragment(8, b"ij", more=False, frame=5)) == IpDatagram(b"abcdefghij", 17, (3, 5), False)
    assert ip.finish() == []
    assert (ip.incomplete, ip.refused, ip.pending_bytes) == (0, 0, 0)


def test_fragments_in_reverse_order_make_the_same_datagram_with_ascending_frames() -> None:
    ip = IpReassembler()
    assert ip.feed(fragment(16, b"q", more=False, frame=1)) is None
    assert ip.feed(fragment(8, b"ijklmnop", frame=2)) is None
    result = ip.feed(fragment(0, b"abcdefgh", frame=3))
    assert result == IpDatagram(b"abcdefghijklmnopq", 17, (1, 2, 3), False)


def test_a_whole_packet_passes_without_touching_pending_fragments_of_its_identification() -> None:
    ip = IpReassembler()
    ip.feed(fragment(0, b"abcdefgh", frame=1))
    assert ip.feed(fragment(0, b"whole", more=False, frame=2)) == IpDatagram(b"whole", 17, (2,), False)
    assert ip.feed(fragment(8, b"z", more=False, frame=3)) == IpDatagram(b"abcdefghz", 17, (1, 3), False)


def test_an_exact_duplicate_is_no_overlap_and_brings_no_frame() -> None:
    ip = IpReassembler()
    ip.feed(fragment(0, b"abcdefgh", frame=1))
    ip.feed(fragment(0, b"abcdefgh", frame=2))
    assert ip.feed(fragment(8, b"z", more=False, frame=3)) == IpDatagram(b"abcdefghz", 17, (1, 3), False)


def test_a_differing_overlap_keeps_the_first_copy_and_says_so() -> None:
    ip = IpReassembler()
    ip.feed(fragment(8, b"IJKLMNOP", frame=1))
    ip.feed(fragment(0, b"abcdefghijklmnop", frame=2))
    result = ip.feed(fragment(16, b"z", more=False, frame=3))
    assert result == IpDatagram(b"abcdefghIJKLMNOPz", 17, (1, 2, 3), True)


def test_a_fragment_around_kept_ones_fills_only_the_holes() -> None:
    ip = IpReassembler()
    ip.feed(fragment(8, b"B" * 8, frame=1))
    ip.feed(fragment(24, b"D" * 8, frame=2))
    whole = b"AAAAAAAABBBBBBBBCCCCCCCCDDDDDDDDEEEEEEEE"
    ip.feed(fragment(0, whole, frame=3))
    result = ip.feed(fragment(40, b"F", more=False, frame=4))
    assert result == IpDatagram(whole + b"F", 17, (1, 2, 3, 4), False)


def test_ipv4_tells_protocols_apart_and_ipv6_does_not() -> None:
    ip = IpReassembler()
    ip.feed(fragment(0, b"abcdefgh", protocol=6))
    assert ip.feed(fragment(8, b"z", more=False, protocol=17)) is None
    six = IpReassembler()
    six.feed(fragment(8, b"z", more=False, protocol=44, src=A6, dst=B6, frame=1))
    result = six.feed(fragment(0, b"abcdefgh", protocol=6, src=A6, dst=B6, frame=2))
    assert result == IpDatagram(b"abcdefghz", 6, (1, 2), False)


def test_a_second_last_fragment_that_claims_another_length_is_refused_and_marked() -> None:
    ip = IpReassembler()
    ip.feed(fragment(8, b"z", more=False, frame=1))
    assert ip.feed(fragment(16, b"w", more=False, frame=2)) is None
    assert ip.refused == 1
    assert ip.feed(fragment(0, b"abcdefgh", frame=3)) == IpDatagram(b"abcdefghz", 17, (1, 3), True)


def test_a_last_fragment_that_ends_before_bytes_already_kept_is_refused() -> None:
    ip = IpReassembler()
    ip.feed(fragment(16, b"x" * 8))
    ip.feed(fragment(8, b"z", more=False))
    assert ip.refused == 1


def test_fragments_no_datagram_can_contain_are_refused_and_counted() -> None:
    ip = IpReassembler()
    assert ip.feed(fragment(65528, b"12345678", more=False)) is None
    assert ip.feed(fragment(-8, b"12345678")) is None
    assert ip.feed(fragment(8, b"")) is None
    assert ip.feed(fragment(8, b"1234567")) is None
    assert ip.feed(fragment(0, bytes(65536), more=False)) is None
    assert (ip.refused, ip.pending_bytes, ip.finish()) == (5, 0, [])


def test_the_largest_payload_is_65535_bytes() -> None:
    ip = IpReassembler()
    ip.feed(fragment(0, bytes(65528)))
    result = ip.feed(fragment(65528, b"1234567", more=False))
    assert result is not None
    assert len(result.payload) == 65535


def test_a_datagram_older_than_the_timeout_is_given_up_and_told_by_finish() -> None:
    ip = IpReassembler(timeout=30 * SECOND)
    ip.feed(fragment(0, b"abcdefgh", frame=1, time=0))
    assert ip.feed(fragment(8, b"z", more=False, frame=2, time=31 * SECOND)) is None
    assert ip.incomplete == 1
    assert ip.finish() == [
        IncompleteDatagram(A, B, 17, 7, (1,), 8, False, "timeout"),
        IncompleteDatagram(A, B, 17, 7, (2,), 1, False, "unfinished"),
    ]
    assert ip.incomplete == 2


def test_the_oldest_datagram_makes_room_for_a_new_one() -> None:
    ip = IpReassembler(max_datagrams=2)
    for number in (1, 2, 3):
        ip.feed(fragment(0, b"abcdefgh", identification=number, frame=number))
    assert ip.incomplete == 1
    assert [(item.identification, item.reason) for item in ip.finish()] == [
        (1, "limit"),
        (2, "unfinished"),
        (3, "unfinished"),
    ]


@given(st.binary(min_size=9, max_size=400), st.randoms(use_true_random=False))
def test_any_order_with_duplicates_gives_the_payload(payload: bytes, random: Random) -> None:
    cuts = [*range(0, len(payload), 8)]
    fragments = [
        fragment(at, payload[at : at + 8], more=at + 8 < len(payload), frame=number)
        for number, at in enumerate(cuts, 1)
    ]
    last = fragments.pop(random.randrange(len(fragments)))
    # Everything but one fragment, some of it twice, in any order; the one held back completes it.
    shuffled = fragments + random.sample(fragments, len(fragments) // 2)
    random.shuffle(shuffled)
    ip = IpReassembler()
    assert all(ip.feed(item) is None for item in shuffled)
    assert ip.feed(last) == IpDatagram(payload, 17, tuple(range(1, len(cuts) + 1)), False)


ANY_FRAGMENT = st.builds(
    IpFragment,
    src=st.sampled_from([A, A6]),
    dst=st.sampled_from([B, B6]),
    protocol=st.sampled_from([6, 17]),
    identification=st.integers(0, 3),
    offset=st.integers(0, 12).map(lambda eighths: eighths * 8) | st.integers(-8, 70_000),
    more=st.booleans(),
    payload=st.binary(max_size=40),
    frame=st.integers(1, 1000),
    time=st.integers(0, 100 * SECOND),
)


@given(st.lists(ANY_FRAGMENT, max_size=60))
def test_any_fragments_keep_within_the_limits_and_are_counted(fragments: list[IpFragment]) -> None:
    ip = IpReassembler(max_datagrams=3, max_bytes=600)
    for item in fragments:
        result = ip.feed(item)
        assert ip.pending_bytes <= 600
        assert result is None or len(result.payload) <= 65535
    assert len(ip.finish()) <= min(ip.incomplete, 6)
    assert ip.pending_bytes == 0
