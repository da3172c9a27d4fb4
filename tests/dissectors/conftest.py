"""Where dissect.target is not to be had, as on Python 3.14, what needs it is not collected."""

from __future__ import annotations

from importlib.util import find_spec

_HAS_DISSECT = find_spec("dissect") is not None and find_spec("dissect.target") is not None
collect_ignore_glob = [] if _HAS_DISSECT else ["dissect", "responders/test_artifacts.py"]
