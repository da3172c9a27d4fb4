"""Discovery of directory servers: requests, and the replies that belong to them."""

from __future__ import annotations

import struct

import pytest

from msmq_wire.records.decoder import decoded
from msmq_wire.records.finder import PacketFinder
from msmq_wire.sessions.discoveries import DiscoveryTracker
from msmq_wire.wire.types.guid import GUID

_CLIENT, _SERVER, _OTHER = bytes((192, 0, 2, 21)), bytes((192, 0, 2, 10)), bytes((192, 0, 2, 11))
_EVERYBODY = bytes((192, 0, 2, 255))
_ENTERPRISE, _ID, _SITE, _NETWORK = (GUID(bytes(15) + bytes((number,))) for number in (1, 2, 3, 4))


def _request(number: int = 2) -> bytes:
    return b"\0\1\0\0" + _ENTERPRISE + bytes(12) + number.to_bytes(4, "big") + _SITE


def _reply(servers: str = "", number: int = 2) -> bytes:
    array = servers.encode("utf-16-le")
    tied = bytes(12) + number.to_bytes(4, "big")
    head = b"\0\2\0\0" + tied + struct.pack("<III", 1, 0, len(array)) + _NETWORK
    return head + _SITE + array if servers else head


def _tracked(*datagrams: tuple[bytes, bytes, bytes]) -> DiscoveryTracker:
    finder, tracker = PacketFinder(), DiscoveryTracker()
    for frame, (src, dst, data) in enumerate(datagrams, 1):
        for record in decoded(finder.datagram(src, 1801, dst, 1801, data, frame, frame)):
            tracker.feed(record)
    return tracker


def test_replies_are_put_to_their_request() -> None:
    tracker = _tracked(
        (_CLIENT, _EVERYBODY, _request()),
        (_SERVER, _CLIENT, _reply()),
        (_OTHER, _CLIENT, _reply("10alpha,01beta\0")),
    )
    (found,) = tracker.discoveries()
    assert (found.request_id, found.enterprise, found.site) == (_ID, _ENTERPRISE, _SITE)
    assert (found.client, found.requests) == ("192.0.2.21:1801", 1)
    assert found.request is not None
    assert found.request.frame == 1
    same, other = found.replies
    assert (same.server, same.site, same.networks, same.servers) == ("192.0.2.10:1801", None, (_NETWORK,), ())
    assert (other.site, other.at.frame) == (_SITE, 3)
    assert other.servers == ((True, False, "alpha"), (False, True, "beta"))


def test_a_request_on_every_network_of_a_client_is_one() -> None:
    (found,) = _tracked(*[(_CLIENT, _EVERYBODY, _request())] * 3).discoveries()
    assert (found.requests, found.request is not None and found.request.frame) == (3, 1)


def test_a_reply_before_its_request_keeps_its_place() -> None:
    (found,) = _tracked((_SERVER, _CLIENT, _reply()), (_CLIENT, _EVERYBODY, _request())).discoveries()
    assert (found.client, len(found.replies)) == ("192.0.2.21:1801", 1)


def test_what_is_cut_tells_nothing() -> None:
    assert (
        _tracked((_CLIENT, _EVERYBODY, _request()[:40]), (_SERVER, _CLIENT, _reply()[:40])).discoveries()
        == ()
    )


@pytest.mark.slow
def test_replies_and_requests_without_end_cost_no_memory() -> None:
    tracker = _tracked(*[(_SERVER, _CLIENT, _reply())] * 70)
    (found,) = tracker.discoveries()
    assert (len(found.replies), found.more) == (64, 6)
    tracker = _tracked(*[(_CLIENT, _EVERYBODY, _request(number)) for number in range(5_000)])
    assert len(tracker.discoveries()) == 4_096
    assert tracker.left_out == 5_000 - 4_096


def test_a_long_list_of_servers_is_read_as_far_as_64() -> None:
    (found,) = _tracked((_SERVER, _CLIENT, _reply("10a," * 5_000))).discoveries()
    assert len(found.replies[0].servers) == 64
