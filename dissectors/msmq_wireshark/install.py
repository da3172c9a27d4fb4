# SPDX-License-Identifier: GPL-2.0-or-later
"""The Lua scripts of this package in the folder where Wireshark looks for those of the user.

The rule kept here: a file that is not ours is overwritten only by ``force``, and never what a link leads to.
"""

from __future__ import annotations

import os
import re
import struct
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from msmq_wire.errors import MsmqWireError
from msmq_wire.output import folder_refusal, make_folder, refusal, whole_file

__all__ = ["check", "install", "loaded_folder", "plugin_folder", "problem", "script", "scripts"]

_OURS = b"SPDX-License-Identifier: GPL-2.0-or-later"
_NAME = b"msmq"
_FOLDER = "Personal Lua Plugins:"
_OF_ALL = "Global Lua Plugins:"
_EMPTY = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 0x40000, 1)
"""A capture without frames."""
_VERSION = re.compile(r"[0-9]+(?:\.[0-9]+)+")


def script() -> Path:
    """The script that Wireshark is given: ``msmq.lua`` of this package, which loads the others beside it."""
    return Path(__file__).resolve().parent / "msmq.lua"


def scripts() -> list[Path]:
    """All Lua files of this package, by name."""
    return sorted(script().parent.glob("*.lua"))


def plugin_folder() -> Path:
    """Where Wireshark looks for Lua scripts of this user: as tshark says, else where it is documented."""
    return _told_folder(_FOLDER) or _default_folder(os.environ, sys.platform)


def loaded_folder() -> Path:
    """Where Wireshark finds our scripts for this user: in the plugins of all, if they are only there."""
    own, of_all = plugin_folder(), _told_folder(_OF_ALL)
    if of_all is None or any((own / path.name).exists() for path in scripts()):
        return own
    return of_all if any((of_all / path.name).exists() for path in scripts()) else own


def problem(folder: Path | None = None) -> str | None:
    """Why tshark does not run the scripts of a folder, in one line; None if it does, or is not there.

    ``folder`` is one that -X names, by default that of personal plugins. Newer tsharks ignore both when root
    runs them, without a word.
    """
    named = [] if folder is None else ["-X", f"lua_script:{folder / script().name}"]
    asked = _tshark(*named, "-r", "-", "-Y", "msmq", given=_EMPTY)
    if asked is None or asked.returncode == 0:
        return None
    reported = _tshark("--version")
    version = None if reported is None else _VERSION.search(reported.stdout.decode(errors="replace"))
    name = f"tshark {version[0]}" if version else "tshark"
    if not _is_root():
        return f"{name} does not run the scripts: start it by hand to see why"
    place = _told_folder(_OF_ALL)
    where = "the folder of global Lua plugins" if place is None else str(place)
    return (
        f"{name} ignores personal plugins and -X lua_script when root runs it: be another user, or "
        f"msmq-wire wireshark install --dir {where}"
    )


def _is_root() -> bool:
    return getattr(os, "geteuid", lambda: 1)() == 0


def _told_folder(title: str) -> Path | None:
    reported = _tshark("-G", "folders")
    for line in [] if reported is None else reported.stdout.decode(errors="replace").splitlines():
        if line.startswith(title):
            return Path(line[len(title) :].strip())
    return None


def _tshark(*arguments: str, given: bytes = b"") -> subprocess.CompletedProcess[bytes] | None:
    """A run of tshark with something on standard input; None where it cannot be run."""
    try:
        return subprocess.run(["tshark", *arguments], input=given, capture_output=True, check=False)
    except OSError:
        return None


def _default_folder(environment: Mapping[str, str], platform: str) -> Path:
    """The folder that Wireshark's user guide names for a platform as in `sys.platform`."""
    if platform == "win32":
        return (
            Path(environment.get("APPDATA") or Path.home() / "AppData" / "Roaming") / "Wireshark" / "plugins"
        )
    return Path.home() / ".local" / "lib" / "wireshark" / "plugins"


def check(folder: Path | None = None) -> dict[str, str]:
    """What is wrong with the scripts in a folder, by file name; nothing if all are there and current.

    By default the folder is the one where Wireshark finds them.
    """
    target = loaded_folder() if folder is None else folder
    found = {path.name: _difference(path, target / path.name) for path in scripts()}
    return {name: difference for name, difference in found.items() if difference}


def install(folder: Path | None = None, *, force: bool = False) -> list[Path]:
    """Write the scripts into a folder, which is made if it is missing; return the files that changed.

    Raises MsmqWireError, in one line, when a link or, without ``force``, a file that is not ours has the name
    of one of the scripts, and when it cannot be written; then nothing, or not everything, is changed.
    """
    target = plugin_folder() if folder is None else folder
    reason = folder_refusal(target)
    if reason is not None:
        raise MsmqWireError(f"{target} {reason}")
    changed = [path for path in scripts() if _difference(path, target / path.name)]
    for path in changed:
        reason = refusal(target / path.name, force=True)
        if reason is not None:
            raise MsmqWireError(f"{target / path.name} {reason}: move it away first")
        if not force and _is_foreign(target / path.name):
            raise MsmqWireError(f"{target / path.name} is another file: move it away first")
    try:
        make_folder(target)
        for path in changed:
            # Wireshark may be starting.
            with whole_file(target / path.name, force=True) as file:
                file.write(path.read_bytes())
    except OSError as error:
        raise MsmqWireError(f"cannot write to {target}: {error.strerror or error}") from None
    return [target / path.name for path in changed]


def _difference(ours: Path, installed: Path) -> str:
    try:
        content = installed.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return "not installed"
    except OSError as error:
        return f"cannot be read: {error.strerror or error}"
    if content == ours.read_bytes():
        return ""
    return "another file" if _is_foreign(installed) else "another version"


def _is_foreign(path: Path) -> bool:
    """Whether something is there that no version of this package wrote."""
    try:
        content = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    head = content[:4096]
    return _OURS not in head or _NAME not in head.lower()
