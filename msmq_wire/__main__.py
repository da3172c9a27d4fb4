"""``python -m msmq_wire``: the program where its script is on no PATH."""

from __future__ import annotations

import sys

from msmq_wire.cli.app import main

if __name__ == "__main__":
    sys.exit(main())
