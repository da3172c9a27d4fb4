"""The process that reads an .evtx file: a line of JSON for each event, and one for what went wrong.

The rule kept here: a file can make its reader take any amount of memory and time, or end it. So it is read
where that ends nothing else, and where the system bounds both.
"""

from __future__ import annotations

import sys
import warnings

import msgspec

from msmq_wire.capture.event_logs.event_xml import EventXml

MEMORY = 1 << 30
"""Bytes that the process may take."""
SECONDS = 300
"""Seconds that it may compute."""
_MAX_RECORD = 1 << 20
"""Characters of one record."""
MISSING = 3
"""The exit status where the package is not installed."""


def main(path: str) -> int:
    """Write the events of a file to standard output."""
    _limit()
    try:
        import evtx
    except ImportError:
        return MISSING
    skipped: list[int] = [0]

    def count(*_: object, **__: object) -> None:
        skipped[0] += 1

    warnings.showwarning = count
    warnings.simplefilter("always")
    encoder, out = msgspec.json.Encoder(), sys.stdout.buffer
    problem = ""
    try:
        records = evtx.PyEvtxParser(
            path, number_of_threads=1, validate_checksums=True, skip_errors=True
        ).records()
        for record in records:
            text: str = record["data"]  # type: ignore[index]  # its stubs say that there may be no record
            if len(text) > _MAX_RECORD:
                skipped[0] += 1
                continue
            reader = EventXml()
            for event in reader.feed(text.encode("utf-8", "replace"), last=True):
                out.write(encoder.encode(event) + b"\n")
            skipped[0] += bool(reader.problem)
    except (OSError, RuntimeError, MemoryError) as error:
        problem = str(error).partition("\n")[0][:200] or type(error).__name__
    out.write(encoder.encode({"skipped": skipped[0], "problem": problem}) + b"\n")
    out.flush()
    return 0


def _limit() -> None:
    """Bound memory and time, where the system can."""
    try:
        import resource
    except ImportError:
        return
    for kind, most in ((resource.RLIMIT_AS, MEMORY), (resource.RLIMIT_CPU, SECONDS)):
        _, hard = resource.getrlimit(kind)
        resource.setrlimit(kind, (most if hard < 0 else min(most, hard), hard))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
