"""What the files of a storage folder hold, by their names.

The rule kept here: a name is all that is documented of these files; whether a file keeps to it shows when it
is read.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath, PureWindowsPath
from typing import Literal, TypeAlias

StorageKind: TypeAlias = Literal["express", "recoverable", "journal", "log", "transactions"]
"""``express`` r*.mq, ``recoverable`` p*.mq, ``journal`` j*.mq, ``log`` l*.mq (which places of the others are
taken), ``transactions`` MQTrans.*, MQInSeqs.* and QMLog."""

_MESSAGES: dict[str, StorageKind] = {"r": "express", "p": "recoverable", "j": "journal", "l": "log"}
_FILE = re.compile(r"([rpjl])[0-9a-f]{1,16}\.mq", re.IGNORECASE)
_TRANSACTIONS = re.compile(r"(?:mqtrans|mqinseqs)\..+|qmlog", re.IGNORECASE)


def storage_kind(path: str) -> StorageKind | None:
    """What a file holds that is called so; None for another name. Paths of Windows are paths, too."""
    name = PureWindowsPath(PurePosixPath(path).name).name
    found = _FILE.fullmatch(name)
    if found is not None:
        return _MESSAGES[found[1].lower()]
    return "transactions" if _TRANSACTIONS.fullmatch(name) else None
