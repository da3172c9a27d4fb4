"""Stubs encoded by impacket, with the values they hold: ``python tests/oracles/rpc_impacket_stubs.py``.

Prints a JSON list of ``{name, interface, opnum, method, direction, syntax, values, hex}``, ``syntax`` being
``"ndr"`` or ``"ndr64"``. What is evened out and how values are written: `rpc_impacket_types`. impacket pads
every union to four octets in NDR 2.0, so an empty arm is followed by a gap.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.oracles.rpc_cases import CASES
from tests.oracles.rpc_impacket_calls import METHODS, stub


def main() -> None:
    """Print every case in both transfer syntaxes."""
    found = []
    for name, interface, opnum, direction, values in CASES:
        for syntax in ("ndr", "ndr64"):
            found.append(
                {
                    "name": name,
                    "interface": interface,
                    "opnum": opnum,
                    "method": METHODS[interface][opnum][0],
                    "direction": direction,
                    "syntax": syntax,
                    "values": values,
                    "hex": stub(interface, opnum, direction, values, ndr64=syntax == "ndr64").hex(),
                }
            )
    json.dump(found, sys.stdout, indent=1)


if __name__ == "__main__":
    main()
