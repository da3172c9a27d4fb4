"""On Python 3.14 there is no dissect.target: what needs it is not collected."""

from __future__ import annotations

import sys

collect_ignore_glob = ["dissect", "responders/test_artifacts.py"] if sys.version_info >= (3, 14) else []
