"""The files below fixtures that many tests read."""

from __future__ import annotations

from pathlib import Path

__all__ = ["HEX_FILES"]

HEX_FILES = sorted((Path(__file__).resolve().parents[1] / "fixtures" / "packets").glob("*/*.hex"))
"""Bytes of structures as text, with comments; a .json beside each says what they are."""
