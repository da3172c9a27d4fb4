# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes the generated tables of the Wireshark dissector; with ``--check`` says what is out of date."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

# ruff: noqa: E402  (the checkout has to be importable before these)
from msmq_wireshark import lua_tables, rpc_tables


def main(arguments: list[str]) -> int:
    """Write the files; with ``--check`` name those that differ instead, and return 1 if there are any."""
    if arguments not in ([], ["--check"]):
        print("usage: python dissectors/generate.py [--check]", file=sys.stderr)
        return 2
    stale = 0
    for name, text in {**lua_tables.files(), **rpc_tables.files()}.items():
        path = HERE / "msmq_wireshark" / name
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        stale += 1
        if arguments:
            print(f"{name} is out of date: run python dissectors/generate.py", file=sys.stderr)
        else:
            path.write_text(text, encoding="utf-8")
            print(f"wrote {name}")
    return 1 if arguments and stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
