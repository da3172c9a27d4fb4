"""The reason of an error of a socket is that of the system, without addresses."""

from __future__ import annotations

import errno
import os
import socket

import pytest

from msmq_wire.lab.log import LabEvent, LabLog, why

REFUSED = os.strerror(errno.ECONNREFUSED)


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ConnectionRefusedError(errno.ECONNREFUSED, "Connect call failed ('127.0.0.1', 1801)"), REFUSED),
        (OSError(errno.EADDRINUSE, "error while attempting to bind"), os.strerror(errno.EADDRINUSE)),
        (
            OSError(
                f"Multiple exceptions: [Errno {errno.ECONNREFUSED}] Connect call failed ('::1', 1, 0, 0), "
                f"[Errno {errno.ETIMEDOUT}] Connect call failed ('127.0.0.1', 1)"
            ),
            REFUSED,
        ),
        (socket.gaierror(-2, "Name or service not known"), "Name or service not known"),
        (OSError("no number at all"), "no number at all"),
    ],
)
def test_an_error_is_told_in_the_words_of_the_system(error: OSError, reason: str) -> None:
    assert why(error) == reason


def test_a_long_detail_is_cut() -> None:
    events: list[LabEvent] = []
    LabLog(lambda: 0, events.append).say("srmp-post", target="/" * 100_000, status=500)
    assert events[0].fields == {"target": "/" * 256 + "...", "status": 500}
