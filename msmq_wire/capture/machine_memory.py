"""How much memory there is for what is followed: the same for the commands and for Python.

The rule kept here: a capture has the same answers in both.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
from pathlib import Path

from msmq_wire.errors import MsmqWireError
from msmq_wire.units import byte_count

MEMORY = "MSMQ_WIRE_MEMORY"
"""The variable that counts where no size is given."""
_MOST_MEMORY = 2 << 30
_PART_OF_MEMORY = 4
_CGROUPS = Path("/sys/fs/cgroup")
_OWN = Path("/proc/self/cgroup")


def default_memory() -> int:
    """Bytes that `MEMORY` asks for, else the smaller of 2 GiB and a quarter of what there is.

    Raises MsmqWireError for what is no size.
    """
    asked = os.environ.get(MEMORY)
    if asked:
        size = byte_count(asked)
        if size is None:
            raise MsmqWireError(f"{MEMORY}={asked[:40]} is no size as 128m or 1g")
        return size
    there = machine_memory()
    return _MOST_MEMORY if there is None else min(_MOST_MEMORY, there // _PART_OF_MEMORY)


def machine_memory() -> int | None:
    """Bytes of memory of the machine, or as many as its container may have; None where nobody says."""
    known = [one for one in (_physical(), *_limits()) if one is not None]
    return min(known, default=None)


def _physical() -> int | None:
    if os.name == "nt":
        return _of_windows()
    with contextlib.suppress(AttributeError, OSError, ValueError):
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return None


def _of_windows() -> int | None:
    """GlobalMemoryStatusEx, of which the second half of the first 16 bytes counts what there is."""
    status = (ctypes.c_ulonglong * 8)()
    ctypes.c_ulong.from_buffer(status).value = ctypes.sizeof(status)
    found = ctypes.windll.kernel32.GlobalMemoryStatusEx(status)  # type: ignore[attr-defined]  # of Windows
    return int(status[1]) if found else None


def _limits() -> list[int]:
    """What control groups allow: of version 2 each around this process, of version 1 its own."""
    folders = [_CGROUPS / "memory"]
    for line in _text(_OWN).splitlines():
        number, _, place = line.partition("::")
        if number == "0":
            own = _CGROUPS / place.strip("/")
            folders += [own, *own.parents]
    names = ("memory.max", "memory.limit_in_bytes")
    inside = [folder for folder in folders if folder.is_relative_to(_CGROUPS)]
    said = [_text(folder / name).strip() for folder in inside for name in names]
    return [int(one) for one in said if one.isascii() and one.isdigit()]


def _text(path: Path) -> str:
    with contextlib.suppress(OSError, UnicodeDecodeError):
        return path.read_text(encoding="ascii")
    return ""
