"""A frame that is recorded at each layer of a host, as pktmon does, is told once and is not sent again."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

import msmq_wire as mw
from msmq_wire.capture.source import read_frames
from msmq_wire.capture.writer import write_pcap

_FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
_LAYERS = 4
_STEP = 3_000
"""Nanoseconds from one layer to the next."""


@pytest.mark.parametrize(
    "name",
    ["captures/clean_business_day.pcap", "places/two_ends/sender.pcap", "places/idle_silence/capture.pcap"],
)
def test_copies_of_each_layer_are_told_once(tmp_path: Path, name: str) -> None:
    frames = list(read_frames(str(_FIXTURES / name)))
    copies = [
        replace(frame, number=0, time=(frame.time or 0) + _STEP * layer)
        for frame in frames
        for layer in range(_LAYERS)
    ]
    copies.sort(key=lambda frame: frame.time or 0)
    path = tmp_path / "layers.pcap"
    with path.open("wb") as file:
        write_pcap(file, copies)
    alone, layers = mw.diagnose(_FIXTURES / name), mw.diagnose(path)
    assert alone.digest is not None
    assert layers.digest is not None
    digests = alone.digest, layers.digest
    counts = [one.looked_at.partition(" in ")[0] for one in digests]
    assert counts[0] == counts[1]
    rules = [sorted(line.rule or "" for line in one.causes) for one in digests]
    assert rules[0] == rules[1]
    again = [
        [text for one in found.answers for text in one.sentences if "sent again" in text]
        for found in (alone, layers)
    ]
    assert len(again[0]) == len(again[1])
