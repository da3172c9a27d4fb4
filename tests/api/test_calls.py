"""Calls as Python objects: values by hand."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import msmq_wire as mw

_CAPTURES = Path(__file__).resolve().parents[2] / "fixtures" / "captures"
_READS = _CAPTURES / "lab_remote_read.pcap"


def test_a_call_has_python_values() -> None:
    call = list(mw.calls(_READS))[4]
    assert (call.client, call.server) == ("192.0.2.21:49153", "192.0.2.10:2103")
    assert (call.interface, call.opnum, call.method) == ("RemoteRead", 7, "R_StartReceive")
    assert (call.queue, call.status, call.status_name) == ("DIRECT=OS:lab\\private$\\orders", 0, "MQ_OK")
    assert (call.latency, call.latency_ns) == (timedelta(0), 1)
    assert call.time == datetime(2026, 11, 20, 9, 14, 7, 10500, UTC)
    assert call.what == "peeks at the cursor's message: 38 bytes, label 'express order 1'"
    assert (call.answered, call.sealed, call.account, call.vlan) == (True, False, None, ())
    assert call.frames == (36, 37)
    assert call.carried is not None
    assert call.carried.label == "express order 1"
    assert call.packet is call.record.packet
    assert repr(call) == (
        "<Call id=31 method='R_StartReceive' queue='DIRECT=OS:lab\\\\private$\\\\orders' status_name='MQ_OK'>"
    )


def test_a_call_that_waited_has_its_latency() -> None:
    [call] = mw.calls(_READS, filter="status != 0")
    assert call.status_name == "MQ_ERROR_IO_TIMEOUT"
    assert (call.latency, call.latency_ns) == (timedelta(seconds=1, microseconds=500), 1_000_500_000)


def test_sealed_calls_are_a_notice() -> None:
    found = mw.calls(_CAPTURES / "com_sealed.pcap")
    assert [(call.method, call.sealed) for call in found] == [("ReceiveCurrent_v1", True), ("Purge", True)]
    assert found.notices[-1] == "2 sealed calls could not be read: a negotiator opens them"


def test_a_wrong_filter_raises_before_anything_is_read() -> None:
    with pytest.raises(mw.MsmqWireError, match="nothing is called 'lable'"):
        mw.calls("no such file", filter="lable ~ order")
