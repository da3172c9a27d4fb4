"""The captures that somebody names: files, and folders for the captures in them.

The rule kept here: what is left out of a folder is counted.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from msmq_wire.capture.listing import list_files


def holds_captures(path: str, recursive: bool) -> bool:
    """Whether a path is a folder with captures in it."""
    return is_folder(path) and bool(list_files([path], recursive=recursive).files)


def captures_named(files: Sequence[str], recursive: bool) -> tuple[list[str], int, int]:
    """The files, of folders the captures in them, and how many other files and folders are left out there."""
    found: list[str] = []
    left_out = deeper = 0
    for file in files:
        listing = list_files([file], recursive=recursive) if is_folder(file) else None
        if listing is not None and listing.files:
            found += [one.path for one in listing.files]
            left_out += listing.left_out
            deeper += 0 if recursive else folders_in(file)
        else:
            # What is wrong with a folder is said when it is its turn.
            found.append(file)
    return found, left_out, deeper


def folders_in(folder: str) -> int:
    """How many folders there are in one."""
    with os.scandir(folder) as entries:
        return sum(entry.is_dir(follow_symlinks=False) for entry in entries)


def is_folder(path: str) -> bool:
    """Whether a path that was named is a folder of this machine."""
    return path != "-" and os.path.isdir(path)
