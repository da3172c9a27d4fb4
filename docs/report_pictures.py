"""Takes docs/img/report.png: the report of the demo capture and the sessions in headless Chromium.

``python docs/report_pictures.py [FOLDER]`` needs chromium. With a FOLDER it writes
there what has to be looked at as well: light and dark, the width of a phone, and the print as PDF.
"""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

# The checkout has to be importable before this.
from msmq_wire.cli.app import main as msmq_wire  # noqa: E402

PICTURE = ROOT / "docs" / "img" / "report.png"
_BROWSERS = ("chromium", "chromium-browser", "google-chrome")
_MOST = 400_000
_TALL = 12_000
_DARK = "--blink-settings=preferredColorScheme=0"
_FRAME = '<body style="margin:0"><iframe src="{}" style="width:360px;height:{}px;border:0"></iframe></body>'


def _browser() -> str:
    found = next(filter(None, map(shutil.which, _BROWSERS)), None)
    if found is None:
        raise SystemExit(f"none of {', '.join(_BROWSERS)} is on PATH")
    return found


def write_report(page: Path) -> None:
    """Write the report of the demo capture and of all sessions to a file."""
    sessions = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "fixtures" / "sessions").glob("*.pcap"))
    with contextlib.chdir(ROOT):
        status = msmq_wire(
            ["report", "fixtures/captures/demo.pcap", *sessions, "-o", str(page), "--force", "--quiet"]
        )
    if status != 0:
        raise SystemExit(f"the report ended with status {status}")


def look(page: Path, *options: str) -> None:
    """Open a page in the browser, which ends by itself."""
    command = [_browser(), "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
    subprocess.run(
        [*command, "--virtual-time-budget=4000", *options, page.as_uri()],
        check=True,
        timeout=120,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def _all(page: Path, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, options in (("light", ()), ("dark", (_DARK,))):
        look(page, f"--window-size=1200,{_TALL}", f"--screenshot={folder / name}.png", *options)
    frame = page.with_name("phone.html")
    # A window of the browser is at least 500 pixels wide.
    frame.write_text(_FRAME.format(page.name, _TALL), encoding="utf-8")
    look(frame, f"--window-size=500,{_TALL}", f"--screenshot={folder / 'phone'}.png")
    look(page, "--no-pdf-header-footer", f"--print-to-pdf={folder / 'print'}.pdf")


def main() -> None:
    """Take the picture of the documentation; with a folder, all others too."""
    with tempfile.TemporaryDirectory() as temporary:
        page = Path(temporary) / "report.html"
        write_report(page)
        look(page, "--window-size=1200,2800", f"--screenshot={PICTURE}")
        if len(sys.argv) > 1:
            _all(page, Path(sys.argv[1]).resolve())
    size = PICTURE.stat().st_size
    if size > _MOST:
        raise SystemExit(f"{PICTURE.name} has {size} bytes: {_MOST} is the most")


if __name__ == "__main__":
    main()
