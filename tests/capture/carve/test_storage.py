"""What a storage file holds, by its name."""

from __future__ import annotations

import pytest

from msmq_wire.capture.carve.storage import storage_kind


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("P0003420.MQ", "recoverable"),
        ("C:\\Windows\\System32\\msmq\\storage\\r000001a.mq", "express"),
        ("/mnt/storage/j0000007.mq", "journal"),
        ("L0003420.MQ", "log"),
        ("MQTrans.lg1", "transactions"),
        ("MQInSeqs.lg2", "transactions"),
        ("QMLog", "transactions"),
        ("p0003420.mq.bak", None),
        ("x0003420.mq", None),
        ("memory.dmp", None),
    ],
)
def test_the_kind_is_that_of_the_name(name: str, kind: str | None) -> None:
    assert storage_kind(name) == kind
