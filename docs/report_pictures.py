"""Takes the pictures of the report in docs/img with headless Chromium (Debian: chromium).

``python docs/report_pictures.py [FOLDER]``: with a FOLDER it writes there what else has to be looked at, of a
capture with an attack, of 1, 100 and 50,000 messages: at 1400 and 1920 pixels, as a phone, dark, and printed.
"""

from __future__ import annotations

import contextlib
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

# The checkout has to be importable before this.
from benchmarks.traffic import in_order, write  # noqa: E402
from benchmarks.workload import messages  # noqa: E402
from msmq_wire.cli.app import main as msmq_wire  # noqa: E402
from tests.chromium import Chromium  # noqa: E402

CAPTURE = "fixtures/digest/attack_in_traffic.pcap"
_IMAGES = ROOT / "docs" / "img"
_MOST = 400_000
_TALL = 9_000
_COUNTS = (1, 100, 50_000)


def write_report(page: Path, *captures: str) -> None:
    """Write the report of captures, named from the root of the project, to a file."""
    with contextlib.chdir(ROOT):
        status = msmq_wire(["report", *captures, "-o", str(page), "--force", "--quiet"])
    if status != 0:
        raise SystemExit(f"the report ended with status {status}")


def _pages(folder: Path) -> Iterator[Path]:
    """The pages that have to be looked at."""
    page = folder / "attack.html"
    write_report(page, CAPTURE)
    yield page
    for count in _COUNTS:
        capture = folder / f"{count}.pcap"
        write(capture, in_order(messages(count), min(count, 8)))
        write_report(capture.with_suffix(".html"), str(capture))
        yield capture.with_suffix(".html")


def _all(chromium: Chromium, page: Path, folder: Path) -> None:
    """Everything that is to be looked at of a page."""
    for name, width, dark in (
        ("1400", 1400, False),
        ("1920", 1920, False),
        ("phone", 390, False),
        ("dark", 1400, True),
    ):
        tab = chromium.open(page, width=width, dark=dark)
        tab.picture(folder / f"{page.stem}-{name}.png", whole=True, height=_TALL)
    tab.pdf(folder / f"{page.stem}-print.pdf")


def main() -> None:
    """Take the pictures of the documentation; with a folder, all others too."""
    with tempfile.TemporaryDirectory() as temporary, Chromium() as chromium:
        page = Path(temporary) / "report.html"
        write_report(page, CAPTURE)
        first, opened = _IMAGES / "report.png", _IMAGES / "report-message.png"
        chromium.open(page, height=1300).picture(first)
        chromium.open(page, "#message-46", height=760).picture(opened)
        for picture in (first, opened):
            size = picture.stat().st_size
            if size > _MOST:
                raise SystemExit(f"{picture.name} has {size} bytes: {_MOST} is the most")
        if len(sys.argv) > 1:
            folder = Path(sys.argv[1]).resolve()
            folder.mkdir(parents=True, exist_ok=True)
            for one in _pages(Path(temporary)):
                _all(chromium, one, folder)


if __name__ == "__main__":
    main()
