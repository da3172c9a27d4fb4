"""What is said of folders that are named on the command line, and of what is left out of them."""

from __future__ import annotations

from msmq_wire.capture.listing import list_files
from msmq_wire.capture.named_captures import folders_in
from msmq_wire.records.tree.value_text import count_text

NAMED_IS_READ = "a file that is named itself is read, whatever its name"


def nothing_in_folder(folder: str, recursive: bool) -> str:
    """What is said of a folder in which there is nothing to read, or which cannot be read."""
    try:
        deeper = folders_in(folder)
    except OSError as error:
        return f"cannot read this folder: {error.strerror or error}"
    parts = ["no capture in this folder"]
    left_out = list_files([folder], recursive=recursive).left_out
    if left_out:
        parts.append(f"{count_text(left_out, 'other file')}, named otherwise: {NAMED_IS_READ}")
    if deeper and not recursive:
        parts.append("--recursive reads its folders, too")
    return "; ".join(parts)
