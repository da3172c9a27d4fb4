"""Event logs beside captures in Python: ``why(..., events=...)`` and ``diagnose(..., events=...)``."""

from __future__ import annotations

from pathlib import Path

import pytest

import msmq_wire as mw
from msmq_wire.errors import CaptureWarning
from tests.capture.event_logs.event_text import event_text
from tests.capture.event_logs.logs import ORDERS, RECEIVED, SENDER

_CAPTURE = Path(__file__).resolve().parents[2] / "fixtures" / "diagnose" / "q04_two_unacknowledged.pcap"


def _texts() -> list[str]:
    return [event_text(number, time, [str(SENDER), str(number), ORDERS]) for number, time in RECEIVED.items()]


def test_functions_take_event_logs(tmp_path: Path) -> None:
    xml = str(tmp_path / "events.xml")
    Path(xml).write_text("".join(_texts()))
    found = mw.why(_CAPTURE, "4164", events=xml)
    assert [step.event_log for step in found.steps] == [None, None, "MSG01.corp.example", None]
    assert len(found.evidence) == 3
    assert "says the event log of MSG01.corp.example" in str(found)
    assert any("put into a queue" in one.text for one in mw.diagnose(_CAPTURE, events=[Path(xml)]).causes)
    cut = tmp_path / "cut.xml"
    cut.write_text(f"<Events>{_texts()[3]}")
    with pytest.warns(CaptureWarning, match="not well-formed"):
        assert mw.diagnose(_CAPTURE, events=cut).notices
    with pytest.raises(mw.CaptureError):
        mw.diagnose(_CAPTURE, events=str(tmp_path / "absent"))
    for wrong in (7, b"events", [7]):
        with pytest.raises(TypeError, match="events"):
            mw.why(_CAPTURE, "4164", events=wrong)  # type: ignore[arg-type]  # on purpose
