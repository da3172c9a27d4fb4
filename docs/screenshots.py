"""Takes the pictures of Wireshark in docs/img: needs wireshark, tshark, Xvfb, xdotool and ImageMagick.

``python docs/screenshots.py`` opens the demo capture in Wireshark on a virtual screen, with the dissector of
this checkout and an empty profile, and takes the window. Nothing is left running and nothing is installed.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

# The checkout has to be importable before this.
from docs.pictures import CAPTURE, drawn  # noqa: E402

_TOOLS = ("wireshark", "tshark", "Xvfb", "xdotool", "import")
_SCREEN = "1280x800"
_WAIT = 40
_TREE, _ROW = 366, 17  # where the tree begins on the screen, and how high a row is
_PREFERENCES = """\
gui.update.enabled: FALSE
privs.warn_if_elevated: FALSE
gui.layout_content_3: NONE
gui.column.format: "No.","%m","Time","%t","Source","%s","Destination","%d","Protocol","%p","Info","%i"
"""
_RECENT = f"""\
gui.geometry_main_x: 0
gui.geometry_main_y: 0
gui.geometry_main_width: {_SCREEN.split("x")[0]}
gui.geometry_main_height: {_SCREEN.split("x")[1]}
gui.geometry_main_maximized: TRUE
gui.geometry_main_upper_pane: 250
gui.geometry_main_lower_pane: 420
gui.welcome_page.show_recent: FALSE
"""


@contextlib.contextmanager
def _process(*command: str, **environment: str) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(
        command,
        env=os.environ | environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _ask(*command: str, **environment: str) -> str:
    result = subprocess.run(
        command, env=os.environ | environment, capture_output=True, text=True, check=False, timeout=60
    )
    return result.stdout.strip()


def _window(display: str, title: str) -> str:
    """The window with a title, as soon as there is one."""
    for _ in range(_WAIT):
        found = _ask("xdotool", "search", "--onlyvisible", "--name", title, DISPLAY=display)
        if found:
            return found.splitlines()[0]
        time.sleep(0.5)
    raise SystemExit(f"no window called {title!r} after {_WAIT // 2} s")


@contextlib.contextmanager
def _home() -> Iterator[str]:
    """A home folder with an empty profile and the dissector."""
    with tempfile.TemporaryDirectory() as home:
        profile = Path(home) / ".config" / "wireshark"
        profile.mkdir(parents=True)
        (profile / "preferences").write_text(_PREFERENCES, encoding="utf-8")
        (profile / "recent").write_text(_RECENT, encoding="utf-8")
        plugins = Path(home) / ".local" / "lib" / "wireshark" / "plugins"
        plugins.mkdir(parents=True)
        for script in (ROOT / "dissectors" / "msmq_wireshark").glob("*.lua"):
            shutil.copy(script, plugins)
        yield home


def draw(command: str, target: Path) -> None:
    """Draw what tshark prints."""
    with _home() as home, contextlib.chdir(ROOT):
        output = _ask(*shlex.split(command), HOME=home)
    target.write_text(drawn("tshark", "$ ", command, output.splitlines(), 60, 112), encoding="utf-8")
    print(f"wrote {target.relative_to(ROOT)}")


def take(capture: Path, frame: int, display_filter: str, row: int, target: Path) -> None:
    """Save Wireshark with ``frame`` selected, and what stands in ``row`` of its tree expanded."""
    with _home() as home:
        display = f":{90 + os.getpid() % 100}"
        wireshark = ["wireshark", "-r", str(capture), "-g", str(frame), "-Y", display_filter]
        with (
            _process("Xvfb", display, "-screen", "0", f"{_SCREEN}x24"),
            _process(*wireshark, DISPLAY=display, HOME=home, QT_QPA_PLATFORM="xcb") as shown,
        ):
            window = _window(display, capture.name)
            _ask("xdotool", "windowsize", window, *_SCREEN.split("x"), DISPLAY=display)
            _ask("xdotool", "windowmove", window, "0", "0", DISPLAY=display)
            time.sleep(3)
            # Shift and an arrow expand everything below.
            _ask("xdotool", "mousemove", "200", str(_TREE + _ROW * row), "click", "1", DISPLAY=display)
            _ask("xdotool", "key", "--clearmodifiers", "shift+Right", DISPLAY=display)
            if shown.poll() is not None:
                raise SystemExit("wireshark ended before the picture was taken")
            time.sleep(1)
            _ask("import", "-window", "root", str(target), DISPLAY=display)
    print(f"wrote {target.relative_to(ROOT)}")


def main() -> int:
    """Take all pictures; 1 when a tool is missing."""
    missing = [tool for tool in _TOOLS if shutil.which(tool) is None]
    if missing:
        print(f"missing: {', '.join(missing)}", file=sys.stderr)
        return 1
    captures, images = ROOT / "fixtures" / "captures", ROOT / "docs" / "img"
    draw(f"tshark -r {CAPTURE} -O msmq -Y frame.number==11", images / "tshark.svg")
    take(captures / "demo.pcap", 11, "msmq", 4, images / "wireshark.png")
    return 0


if __name__ == "__main__":
    sys.exit(main())
