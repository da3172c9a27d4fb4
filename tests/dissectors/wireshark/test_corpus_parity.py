"""The samples of the corpus: the dissector shows the fields, the broken rules and the error of each."""

from __future__ import annotations

from pathlib import Path

import pytest

from msmq_wire.corpus.samples import every_sample
from msmq_wire.engines.codec import inspect
from tests.dissectors.wireshark.test_parity import _compare
from tests.dissectors.wireshark.tshark_view import named_frame, show, write
from tests.effort import share


@pytest.mark.slow
@pytest.mark.tshark
@pytest.mark.parametrize("group", ["headers", "packets"])
def test_the_dissector_agrees_with_the_verdicts(group: str, tmp_path: Path) -> None:
    # No frame shows nothing.
    samples = [one for one in share(list(every_sample(group))) if one.data]
    frames = [named_frame(number, one.stem, one.data) for number, one in enumerate(samples, 1)]
    shown = show(write(tmp_path / "samples.pcap", frames))
    found = {
        sample.file: _compare(inspect(sample.data, sample.stem), one)
        for sample, one in zip(samples, shown, strict=True)
    }
    assert {file: problems for file, problems in found.items() if problems} == {}
