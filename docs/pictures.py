"""Draws docs/img: what commands and scapy print on the demo capture, as SVG; ``--check`` compares only.

A picture is the real output, with the colours of a terminal, and loads nothing from a network.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

# The checkout has to be importable before this.
from msmq_wire.cli.app import main as msmq_wire  # noqa: E402

IMAGES = ROOT / "docs" / "img"
CAPTURE = "fixtures/captures/demo.pcap"
READS = "fixtures/rpc_captures/rpc_none_ndr.pcap"

# Command line as it is shown, how many of its lines, and how wide the terminal is.
REFUSED = "fixtures/diagnose/q05_vanished.pcap"
PICTURES = {
    "decode.svg": (f'msmq-wire decode {CAPTURE} --filter "label ~ order"', 60, 112),
    "messages.svg": (f"msmq-wire messages {CAPTURE}", 24, 120),
    "messages-80.svg": (f"msmq-wire messages {CAPTURE} {READS}", 24, 80),
    "calls-80.svg": (f"msmq-wire calls {READS}", 24, 80),
    "calls.svg": (f"msmq-wire calls {READS}", 24, 120),
    "findings.svg": ("msmq-wire findings fixtures/findings/FPR-METASPLOIT/hit_top_bit.pcap", 40, 120),
    "findings-80.svg": ("msmq-wire findings fixtures/findings/FPR-METASPLOIT/hit_top_bit.pcap", 40, 80),
    "diagnose.svg": ("msmq-wire fixtures/digest/fault_and_attack.pcap", 50, 120),
    "diagnose-80.svg": ("msmq-wire fixtures/digest/fault_and_attack.pcap", 50, 80),
    "why.svg": (f'msmq-wire why {REFUSED} "order 4170"', 40, 120),
    "why-80.svg": (f'msmq-wire why {REFUSED} "order 4170"', 40, 80),
    "route-audit.svg": (
        "msmq-wire route-audit --topology fixtures/routing/example.toml fixtures/captures/routed_mixed.pcap",
        40,
        112,
    ),
    "timeline.svg": (f"msmq-wire timeline {CAPTURE} --session 0", 50, 112),
}

DRAWN = {
    "route.svg": "msmq-wire route --topology fixtures/routing/example_other_costs.toml A-CLIENT1 C-CLIENT1"
}
"""Command lines that draw the picture themselves."""

SHOWN = "packets[MSMQUserMessage][0][MSMQUserMessage].show()"
"""The expression whose output scapy.svg shows; packets are those of the demo capture."""

_FONT_FACE = re.compile(r"\s*@font-face \{.*?\}", re.DOTALL)


def printed(command: str, width: int, *options: str) -> str:
    """What a command line prints on a terminal, escape sequences and all."""
    output = io.StringIO()
    os.environ["COLUMNS"] = str(width)
    arguments = [*shlex.split(command)[1:], *(options or ("--color", "always")), "--quiet"]
    with contextlib.chdir(ROOT), contextlib.redirect_stdout(output):
        status = msmq_wire(arguments)
    if status != 0:
        raise RuntimeError(f"{command} ended with status {status}")
    return output.getvalue()


def shown_by_scapy() -> str:
    """What scapy shows of the first message of the demo capture; scapy runs in a process of its own."""
    program = f"""\
import sys
sys.path[:0] = ["dissectors", "."]
import msmq_scapy
from msmq_scapy import MSMQUserMessage
from scapy.utils import rdpcap
msmq_scapy.register()
packets = rdpcap({CAPTURE!r})
{SHOWN}
"""
    result = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return result.stdout


def drawn(title: str, prompt: str, command: str, output: list[str], lines: int, width: int) -> str:
    """The picture of a command and the first ``lines`` lines of its output."""
    console = Console(record=True, width=width, file=io.StringIO(), force_terminal=True, legacy_windows=False)
    console.print(Text.assemble((prompt, "dim"), (command, "bold")), highlight=False)
    for line in output[:lines]:
        console.print(Text.from_ansi(line), highlight=False, soft_wrap=True)
    if len(output) > lines:
        console.print(Text("...", "dim"), highlight=False)
    svg = console.export_svg(title=title, unique_id=title.replace(" ", "-"))
    svg = _FONT_FACE.sub("", svg).replace("Fira Code", "ui-monospace, Menlo, Consolas, DejaVu Sans Mono")
    return "\n".join(line.rstrip() for line in svg.strip().splitlines()) + "\n"


def pictures() -> dict[str, str]:
    """The pictures by the name of their file."""
    found = {}
    for name, (command, lines, width) in PICTURES.items():
        title = " ".join(command.split()[:2])
        found[name] = drawn(title, "$ ", command, printed(command, width).splitlines(), lines, width)
    for name, command in DRAWN.items():
        found[name] = printed(command, 80, "--svg")
    found["scapy.svg"] = drawn("scapy", ">>> ", SHOWN, shown_by_scapy().splitlines(), 60, 100)
    return found


def main(arguments: list[str]) -> int:
    """Write the pictures; with ``--check`` name those that differ instead, and return 1 if there are any."""
    if arguments not in ([], ["--check"]):
        print("usage: python docs/pictures.py [--check]", file=sys.stderr)
        return 2
    status = 0
    for name, svg in pictures().items():
        path = IMAGES / name
        if path.exists() and path.read_text(encoding="utf-8") == svg:
            continue
        if arguments:
            print(f"docs/img/{name} is out of date: run python docs/pictures.py", file=sys.stderr)
            status = 1
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(svg, encoding="utf-8")
            print(f"wrote docs/img/{name}")
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
