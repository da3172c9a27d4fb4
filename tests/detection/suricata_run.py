"""Suricata over many captures at once: one file in which each capture has a VLAN and a day of its own.

Flows of two captures have the same addresses and ports: the tag keeps them apart, and says in an alert whose
it is. Thresholds and bits of hosts know no tag: the day keeps those apart, and stands in alerts of inner
packets of a tunnel, which name no tag.
"""

from __future__ import annotations

import json
import struct
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path

from msmq_wire.capture.pcap import Frame
from msmq_wire.capture.source import read_frames
from msmq_wire.errors import CaptureError

__all__ = ["alerts", "frames_of"]

_DAY = 86_400
_START = 1_700_000_000 // _DAY * _DAY
_ETHERNET = 1
_RAW = frozenset((12, 101, 228, 229))
_MACS = 12
_CONFIGURATION = """%YAML 1.1
---
vars:
  address-groups:
    HOME_NET: "[192.0.2.0/24,10.0.0.0/8,172.16.0.0/12,192.168.0.0/16]"
    EXTERNAL_NET: "!$HOME_NET"
vlan:
  use-for-tracking: true
stats:
  enabled: no
outputs:
  - eve-log:
      enabled: yes
      filename: eve.json
      types:
        - alert
app-layer:
  protocols:
    dcerpc:
      enabled: yes
    http:
      enabled: yes
"""
_CLASSES = ("misc-attack", "bad-unknown", "protocol-command-decode", "misc-activity", "attempted-recon")


def frames_of(capture: Path) -> list[Frame]:
    """What can be read of a capture."""
    found: list[Frame] = []
    try:
        for frame in read_frames(capture):
            found.append(frame)
    except CaptureError:
        pass
    return found


def alerts(captures: Mapping[str, Iterable[Frame]], rules: str, folder: Path) -> dict[int, set[str]]:
    """The names of the captures in which each sid fired.

    Raises AssertionError where Suricata refuses a rule.
    """
    names = list(captures)
    assert len(names) < 4095, "there are no more VLANs"
    (folder / "all.pcap").write_bytes(_joined(captures.values()))
    (folder / "msmq.rules").write_text(rules, encoding="utf-8")
    (folder / "suricata.yaml").write_text(_CONFIGURATION, encoding="utf-8")
    lines = (f"config classification: {name},{name},3" for name in _CLASSES)
    (folder / "classification.config").write_text("\n".join(lines) + "\n", encoding="utf-8")
    systems = "config reference: cve http://cve.example/\nconfig reference: url http://\n"
    (folder / "reference.config").write_text(systems, encoding="utf-8")
    options = ["--runmode", "single", "-k", "none", "--init-errors-fatal", "-l", str(folder)]
    options += ["--set", f"classification-file={folder / 'classification.config'}"]
    options += ["--set", f"reference-config-file={folder / 'reference.config'}"]
    command = ["suricata", "-c", str(folder / "suricata.yaml"), "-S", str(folder / "msmq.rules"), *options]
    done = subprocess.run(
        [*command, "-r", str(folder / "all.pcap")], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert "rror" not in done.stderr, done.stderr
    fired: dict[int, set[str]] = defaultdict(set)
    for line in (folder / "eve.json").read_text(encoding="utf-8").splitlines():
        event = json.loads(line)
        fired[event["alert"]["signature_id"]].add(names[_number(event) - 1])
    return fired


def _number(event: Mapping[str, object]) -> int:
    tags = event.get("vlan")
    if isinstance(tags, list):
        return int(tags[0])
    return (int(datetime.fromisoformat(str(event["timestamp"])).timestamp()) - _START) // _DAY


def _joined(captures: Iterable[Iterable[Frame]]) -> bytes:
    parts = [struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 1 << 18, _ETHERNET)]
    for number, frames in enumerate(captures, 1):
        parts += _tagged(number, frames)
    return b"".join(parts)


def _tagged(number: int, frames: Iterable[Frame]) -> Iterator[bytes]:
    first: int | None = None
    for frame in frames:
        time = frame.time or 0
        first = time if first is None else first
        data = _in_vlan(frame, number)
        if data is not None:
            micros = (_START + number * _DAY) * 1_000_000 + max(0, time - first) // 1000
            length = max(len(data), len(data) + frame.length - len(frame.data))
            yield struct.pack("<IIII", *divmod(micros, 1_000_000), len(data), length) + data


def _in_vlan(frame: Frame, number: int) -> bytes | None:
    """A frame with a tag in front of its others; None where it has no place for one."""
    tag = struct.pack(">HH", 0x8100, number)
    if frame.link_type == _ETHERNET:
        return frame.data[:_MACS] + tag + frame.data[_MACS:]
    if frame.link_type in _RAW:
        kind = b"\x08\0" if frame.data[:1] < b"\x50" else b"\x86\xdd"
        return bytes(_MACS) + tag + kind + frame.data
    return None
