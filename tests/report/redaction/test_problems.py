"""Of what is wrong the words go that may come from the traffic."""

from __future__ import annotations

from pathlib import Path

import pytest

from msmq_wire.capture.reader import read_capture
from msmq_wire.errors import DecodeError
from msmq_wire.report.redaction.forms import NOT_SHOWN
from msmq_wire.report.redaction.problems import redacted_problem
from msmq_wire.spec import SpecRef
from msmq_wire.wire.musts import Anomaly
from tests.effort import in_batches

_FIXTURES = Path(__file__).resolve().parents[3] / "fixtures"
_SPEC = SpecRef("MS-MQMQ", "2.2.19.1")
# Their messages repeat what was sent, or bytes of it.
_QUOTING = {
    "http.grammar",
    "signature",
    "srmp_envelope_header.envelope",
    "srmp_message.unsigned-part",
    "xml.encoding",
}


def anomaly(code: str, message: str, path: str = "a.b[0]") -> Anomaly:
    return Anomaly(code=code, message=message, path=path, offset=1, length=2, spec=_SPEC)


@in_batches(sorted(_FIXTURES.rglob("*.pcap")))
def test_of_what_captures_show_all_is_told_that_quotes_nothing(path: Path) -> None:
    for record in read_capture(path):
        pairs: list[tuple[Anomaly | DecodeError, Anomaly | DecodeError]]
        pairs = [(one, redacted_problem(one)) for one in record.anomalies]
        if record.error is not None:
            pairs.append((record.error, redacted_problem(record.error)))
        assert [
            one for one, reported in pairs if reported.message == NOT_SHOWN and one.code not in _QUOTING
        ] == []
        assert [one for one, reported in pairs if reported.path != one.path] == []


@pytest.mark.parametrize("code", ["no-such", "base_header.no-such", *sorted(_QUOTING)])
def test_a_message_of_a_code_that_no_list_names_goes(code: str) -> None:
    assert redacted_problem(anomaly(code, "srv01")).message == NOT_SHOWN
    assert redacted_problem(DecodeError(code, "srv01", path="a")).message == NOT_SHOWN


def test_a_declared_message_stays_as_it_is_declared() -> None:
    declared = anomaly("base_header.version-number", "VersionNumber must be 0x10")
    assert redacted_problem(declared) == declared
    assert redacted_problem(anomaly(declared.code, "srv01")).message == NOT_SHOWN


def test_a_path_that_no_declaration_gives_goes() -> None:
    for path, shown in (("parts[0].data", "parts[0].data"), ("SRV01", "")):
        assert redacted_problem(anomaly("x", "y", path)).path == shown
        assert redacted_problem(DecodeError("x", "y", path=path)).path == shown


def test_an_error_loses_what_was_decoded_before_it() -> None:
    error = DecodeError(
        "missing-bytes", "2 bytes needed, 1 left", path="a", offset=3, spec=_SPEC, partial=b"x"
    )
    shown = redacted_problem(error)
    assert (shown.message, shown.offset, shown.spec, shown.partial) == (error.message, 3, _SPEC, None)
