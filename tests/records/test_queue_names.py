from __future__ import annotations

import pytest

from msmq_wire.records.queue_names import short_queue


@pytest.mark.parametrize(
    ("name", "short"),
    [
        (r"DIRECT=OS:msg01\private$\orders", "msg01 orders"),
        (r"DIRECT=OS:msg01.example.com\PRIVATE$\orders", "msg01 orders"),
        (r"DIRECT=TCP:192.0.2.10\private$\orders", "192.0.2.10 orders"),
        (r"DIRECT=OS:msg01\private$\orders;late", "msg01 orders;late"),
        (r"DIRECT=OS:msg01\orders", r"msg01 \orders"),
        ("DIRECT=http://msg01/msmq/private$/orders", "msg01 orders (http)"),
        ("DIRECT=HTTPS://msg01:8443/msmq/Private$/orders", "msg01 orders (https)"),
        ("DIRECT=http://192.0.2.10/msmq/private$/orders", "192.0.2.10 orders (http)"),
        ("DIRECT=http://[2001:db8::1]:8080/msmq/private$/orders", "[2001:db8::1]:8080 orders (http)"),
        ("PRIVATE=6d4be2a0-5c17-4f3e-9b82-13f0a7c4d9e5\\0000000a", "PRIVATE=6d4be2a0…\\0000000a"),
        ("PUBLIC=6d4be2a0-5c17-4f3e-9b82-13f0a7c4d9e5", "PUBLIC=6d4be2a0…"),
        ("DL=6d4be2a0-5c17-4f3e-9b82-13f0a7c4d9e5", "DL=6d4be2a0…"),
        ("MACHINE=6d4be2a0-5c17-4f3e-9b82-13f0a7c4d9e5;DEADLETTER", "MACHINE=6d4be2a0…;DEADLETTER"),
        ("MULTICAST=234.1.1.1:8001", "MULTICAST=234.1.1.1:8001"),
        # Names that are none stay as they are.
        (r"DIRECT=OS:msg01\private$\a\b", r"DIRECT=OS:msg01\private$\a\b"),
        (r"DIRECT=OS:\private$\orders", r"DIRECT=OS:\private$\orders"),
        ("", ""),
    ],
)
def test_a_queue_is_named_by_its_host_and_what_it_is_called_there(name: str, short: str) -> None:
    assert short_queue(name) == short


def test_public_and_private_queues_of_one_name_differ() -> None:
    assert short_queue(r"DIRECT=OS:a\private$\q") != short_queue(r"DIRECT=OS:a\q")
