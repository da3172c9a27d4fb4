"""What stands for what goes: as long as it was and empty of it, the same for one host in all of a run."""

from __future__ import annotations

from typing import Any, TypeVar

from msmq_wire.records.joined_capture import JoinedCapture, LocatedFile
from msmq_wire.wire.types.guid import GUID, NULL_GUID
from msmq_wire.wire.types.wchar_text import FixedWcharText, WcharText

_T = TypeVar("_T", str, bytes, int)
_RFC_4122 = 2
"""The variant of GUIDs that have a version."""


def blank(value: _T) -> _T:
    """Letters for a text, zeros for bytes and for a number."""
    if isinstance(value, str):
        return "x" * len(value)
    if isinstance(value, int):
        return 0
    if not isinstance(value, WcharText):
        return type(value)(bytes(len(value)))
    end = len(value)
    if isinstance(value, FixedWcharText):
        end = value.used
    elif value.terminated:
        end -= 2
    return type(value)((b"x\0" * (end // 2)).ljust(len(value), b"\0"))


class StandIns:
    """Those of one run: a queue manager has a GUID of zeros and a number, an address is ``host-1``."""

    def __init__(self) -> None:
        self._guids: dict[bytes, GUID] = {}
        self._hosts: dict[str, str] = {}
        self._files: dict[str, str] = {}
        self._joined: dict[str, JoinedCapture] = {}

    def guid(self, value: bytes) -> bytes:
        """For the GUID of a queue manager; what is left of one that is cut still tells, so nothing stays."""
        if len(value) != 16:
            return bytes(len(value))
        if value == NULL_GUID:
            return value
        known = self._guids.get(value)
        if known is None:
            number = len(self._guids) + 1
            known = self._guids[value] = GUID(bytes(12) + number.to_bytes(4, "big"))
        return known

    def made(self, value: bytes) -> bytes:
        """For a GUID that a host made: of version 1 it tells the host and the time."""
        by_time = len(value) == 16 and value[7] >> 4 == 1 and value[8] >> 6 == _RFC_4122
        return self.guid(value) if by_time else value

    def file(self, path: str) -> str:
        """For a file that is read: a name of a folder or a file may be that of a host or a user."""
        if path in ("", "-"):
            return path
        if isinstance(path, JoinedCapture):
            return self._renamed(path)
        if isinstance(path, LocatedFile):
            return LocatedFile(self.file(str(path)), self._renamed(path.of), path.frames)
        return self._files.setdefault(path, f"file {len(self._files) + 1}")

    def _renamed(self, capture: JoinedCapture) -> JoinedCapture:
        if capture not in self._joined:
            self._joined[capture] = capture.renamed([self.file(one) for one in capture.files], self.endpoint)
        return self._joined[capture]

    def endpoint(self, text: str) -> str:
        """For an address, with its port if it has one."""
        address, colon, port = text.rpartition(":")
        if not colon or not port.isdigit() or (":" in address and not address.startswith("[")):
            address, colon, port = text, "", ""
        if not address:
            return text
        known = self._hosts.setdefault(address, f"host-{len(self._hosts) + 1}")
        return f"{known}{colon}{port}"

    def host(self, value: Any) -> Any:
        """For a value that names a host and nothing else."""
        return self.guid(value) if isinstance(value, GUID) else blank(value)
