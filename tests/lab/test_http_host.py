"""HTTP is answered for the names of a lab, so that no web page reaches it by a name of its own."""

from __future__ import annotations

import asyncio
import socket
from uuid import UUID

import msgspec
import pytest

from msmq_wire.lab.log import LabEvent
from msmq_wire.srmp.building import build_srmp
from tests.lab.fake_transport import Transport, lab_of
from tests.lab.lab_scene import ANY_PORTS

SETTINGS = msgspec.structs.replace(
    ANY_PORTS, computer_name="Lab7", neighbours={"b": ("127.0.0.2", 1801)}, host="0.0.0.0"
)


def get(*hosts: str) -> bytes:
    return "\r\n".join(["GET /queues HTTP/1.1", *(f"Host: {one}" for one in hosts), "", ""]).encode("latin-1")


def post(host: str) -> bytes:
    return build_srmp(
        f"http://{host}/msmq/private$/orders",
        b"by post",
        source_qm_guid=UUID(int=7),
        message_number=1,
        sent_at=1_700_000_000,
        label="posted",
    )


KNOWN = (
    *("localhost", "LOCALHOST.", "localhost:8080", "127.0.0.1", "127.0.0.1:8080", "127.9.9.9"),
    *("[::1]", "[::1]:8080", "[0:0:0:0:0:0:0:1]", "lab7", "LAB7:8080", "b", socket.gethostname()),
)
UNKNOWN = (
    *("evil.example", "evil.example:8080", "lab7.evil.example", "localhost.evil.example", "192.0.2.7"),
    *("0.0.0.0", "[::]", "", ":8080", "127.0.0.1@evil.example", "127.0.0.1:8080:1", "[127.0.0.1", "\xff"),
)


@pytest.mark.parametrize("host", KNOWN)
async def test_a_host_that_the_lab_is_is_answered(host: str) -> None:
    async with lab_of(SETTINGS) as (_, serve):
        client = Transport(serve["http"]())
        client.feed(get(host))
        assert client.written.startswith(b"HTTP/1.1 200 OK\r\n")


@pytest.mark.slow
@pytest.mark.parametrize("origin", ["https://evil.example", "null"])
async def test_a_web_page_is_refused_whatever_its_host_is(origin: str) -> None:
    async with lab_of(SETTINGS) as (_lab, serve):
        client = Transport(serve["http"]())
        begun = post("localhost").replace(b"\r\n", f"\r\nOrigin: {origin}\r\n".encode(), 1)
        client.feed(begun)
        # A request of more than a piece takes two turns of the loop.
        await asyncio.sleep(0)
        assert client.written.startswith(b"HTTP/1.1 403 Forbidden\r\n")
        client = Transport(serve["http"]())
        client.feed(post("localhost"))
        await asyncio.sleep(0)
        assert client.written.startswith(b"HTTP/1.1 ")
        assert b"403" not in client.written[:20]


@pytest.mark.parametrize("host", UNKNOWN)
async def test_another_host_is_refused_with_one_line(host: str) -> None:
    events: list[LabEvent] = []
    async with lab_of(SETTINGS, events.append) as (_, serve):
        client = Transport(serve["http"]())
        client.feed(get(host))
        head, _, content = bytes(client.written).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 421 Misdirected Request\r\n")
        assert content == b"unknown Host: use an address of this lab, its --host or its --computer-name"
    assert [(one.event, one.fields["host"]) for one in events] == [("http-host", host)]


@pytest.mark.slow
@pytest.mark.parametrize("hosts", [(), ("localhost", "evil.example"), ("localhost", "localhost")])
async def test_a_request_has_one_host(hosts: tuple[str, ...]) -> None:
    async with lab_of() as (_, serve):
        client = Transport(serve["http"]())
        client.feed(get(*hosts))
        assert client.written.startswith(b"HTTP/1.1 400 Bad Request\r\n")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("host", "status"),
    [("lab7", 200), ("127.0.0.1:8080", 200), ("evil.example", 421), ("b", 400), ("127.0.0.2", 400)],
)
async def test_a_post_is_taken_for_the_hosts_that_the_lab_is(host: str, status: int) -> None:
    async with lab_of(SETTINGS) as (lab, serve):
        client = Transport(serve["http"]())
        client.feed(post(host))
        await asyncio.sleep(0)
        assert client.written.startswith(f"HTTP/1.1 {status} ".encode())
        queue = lab.manager.queue_collection["private$\\orders"]
        assert len(queue.message_position_list) == (status == 200)


@pytest.mark.slow
async def test_the_address_that_a_client_reached_is_a_host() -> None:
    class Reached(Transport):
        def get_extra_info(self, name: str, default: object = None) -> object:
            return ("192.0.2.7", 8080) if name == "sockname" else super().get_extra_info(name, default)

    async with lab_of(SETTINGS) as (_, serve):
        client = Reached(serve["http"]())
        client.feed(get("192.0.2.7:8080"))
        assert client.written.startswith(b"HTTP/1.1 200 OK\r\n")
