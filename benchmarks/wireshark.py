"""What the dissector adds to tshark: ``python -m benchmarks.wireshark``.

20,000 typical messages of 600 bytes, each in a segment of its own. Every round runs tshark without the script
and with it, for each kind of output; printed are medians of user CPU time, which neighbours disturb least,
and of the ratios of rounds. ``start`` reads a single frame: programs and scripts are loaded in every run.
``-q`` is of another kind: tshark alone dissects nothing then.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.capture_groups import find_tshark
from benchmarks.traffic import in_order, write
from benchmarks.workload import messages

__all__ = ["OUTPUTS", "user_seconds"]

_SCRIPT = Path(__file__).resolve().parents[1] / "dissectors" / "msmq_wireshark" / "msmq.lua"
_LABEL = "msmq.message_properties_header.label"
OUTPUTS: dict[str, tuple[str, ...]] = {
    "start": ("-c", "1"),
    "-q": ("-q",),
    "summary lines": (),
    "-T fields, frame.number": ("-T", "fields", "-e", "frame.number"),
    "-T fields, a label": ("-T", "fields", "-e", _LABEL),
    "-T fields, msmq.type": ("-T", "fields", "-e", "msmq.type"),
    "-V": ("-V",),
    "-Y msmq": ("-Y", "msmq"),
    "-Y _ws.expert": ("-Y", "_ws.expert"),
}
"""What tshark is asked for, by name."""
_WITHOUT = {"msmq": "tcp", "msmq.type": "tcp.flags", _LABEL: "tcp.payload"}
"""What tshark without the script is asked for, which knows no such names."""


def user_seconds(command: Sequence[str]) -> float:
    """The user CPU time of a program, and of what it starts."""
    before = os.times().children_user
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    return os.times().children_user - before


def _report(name: str, without: list[float], with_it: list[float]) -> str:
    ratios = [ours / bare for ours, bare in zip(with_it, without, strict=True)]
    return (
        f"{name:26} {statistics.median(without):8.2f} {statistics.median(with_it):8.2f} "
        f"{statistics.median(ratios):7.2f}  ({min(ratios):.2f} to {max(ratios):.2f})"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--messages", type=int, default=20_000, help="messages in the capture")
    parser.add_argument("--rounds", type=int, default=5, help="rounds, at least 3")
    parser.add_argument("--script", type=Path, default=_SCRIPT, help="another msmq.lua, to compare with")
    parser.add_argument("--tshark", default=find_tshark(), help="another tshark than that on PATH")
    options = parser.parse_args()
    if options.tshark is None:
        print("tshark is not found: it comes with Wireshark", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory(prefix="msmq-wire-") as folder:
        path = Path(folder) / "messages.pcap"
        write(path, in_order(messages(options.messages)))
        bare = [options.tshark, "-n", "-r", str(path)]
        scripted = [*bare, "-X", f"lua_script:{options.script}"]
        version = subprocess.run([options.tshark, "--version"], capture_output=True, text=True, check=True)
        print(version.stdout.partition("\n")[0])
        print(f"{'':26} {'without':>8} {'with':>8} {'ratio':>7}")
        seconds: dict[str, tuple[list[float], list[float]]] = {name: ([], []) for name in OUTPUTS}
        for _ in range(max(3, options.rounds)):
            for name, words in OUTPUTS.items():
                known = [_WITHOUT.get(word, word) for word in words]
                seconds[name][0].append(user_seconds([*bare, *known]))
                seconds[name][1].append(user_seconds([*scripted, *words]))
        for name, (without, with_it) in seconds.items():
            print(_report(name, without, with_it))
    return 0


if __name__ == "__main__":
    sys.exit(main())
