"""Commands run as in ``tests/cli``: what they print with ``--redact``."""

from __future__ import annotations

from tests.cli.conftest import make_capture, packet_bytes, run

__all__ = ["make_capture", "packet_bytes", "run"]
