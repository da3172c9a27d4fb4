"""``--queues``: the files in which a queue manager registers its queues, and the names that they give."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Annotated

import msgspec
import typer

from msmq_wire.capture.carve.storage import storage_kind
from msmq_wire.capture.queue_files import QueueFolder, manager_and_folder, queue_folder, read_queue_folder
from msmq_wire.cli.reporting import print_note
from msmq_wire.errors import CaptureError
from msmq_wire.records.registered_queues import QueueNames, names_in_force
from msmq_wire.records.tree.value_text import count_text
from msmq_wire.report.redaction.redactor import Redaction, Redactor

_MOST_FOLDERS = 100
_MOST_NAMED = 3

QueueFolders = Annotated[
    list[str] | None,
    typer.Option(
        "--queues",
        metavar="[GUID=]DIR",
        help="Name queues that are known by number: DIR is storage\\lqs of a queue manager, a folder with "
        "lqs in it, or a file of it. GUID is its QMId. Without it names are shown as perhaps. "
        "May be repeated.",
        show_default=False,
    ),
]


def queue_names_for(values: Sequence[str] | None, redactor: Redactor, *, quiet: bool) -> QueueNames | None:
    """The names that are given, None without any or where hosts are redacted. Raises typer.BadParameter."""
    if not values:
        return None
    names = QueueNames()
    for value in values:
        manager, path = manager_and_folder(value)
        try:
            folder = read_queue_folder(path)
        except CaptureError as error:
            raise typer.BadParameter(error.message, param_hint="--queues") from None
        _take(names, folder, manager, redactor)
        more = {reason: count for reason, count in folder.left_out.items() if reason != "other names"}
        if more and not quiet:
            listed = ", ".join(f"{count_text(count, 'file')} ({reason})" for reason, count in more.items())
            print_note(f"{redactor.file(folder.path)}: left out: {listed}")
    return None if redactor.hides_hosts else names


def names_beside(files: Iterable[str], redactor: Redactor) -> QueueNames | None:
    """The names in the folder ``lqs`` beside storage files; None without one."""
    names = QueueNames()
    folders = dict.fromkeys(os.path.dirname(one) or "." for one in files if storage_kind(one))
    for beside in filter(None, map(queue_folder, list(folders)[:_MOST_FOLDERS])):
        try:
            _take(names, read_queue_folder(beside), None, redactor)
        except CaptureError:
            # Nobody asked for it.
            continue
    return names if names.unknown and not redactor.hides_hosts else None


def _take(names: QueueNames, folder: QueueFolder, manager: str | None, redactor: Redactor) -> None:
    queues = folder.queues
    if Redaction.LABELS in redactor.what:
        queues = tuple(msgspec.structs.replace(one, label="") for one in queues)
    names.add(queues, manager, folder.path)


def unsure_managers() -> Counter[str]:
    """The queue managers for whose queues there were names that are perhaps."""
    names = names_in_force()
    return Counter() if names is None else Counter(names.asked.keys())


def unsure_names_text(elsewhere: Counter[str]) -> str | None:
    """What is said of names that are perhaps, and how they become sure.

    ``elsewhere`` are `unsure_managers` of other processes.
    """
    names, managers = names_in_force(), [*{**elsewhere, **unsure_managers()}]
    if names is None or not managers:
        return None
    of = ", ".join(managers[:_MOST_NAMED])
    if len(managers) > _MOST_NAMED:
        of += f" and {len(managers) - _MOST_NAMED} more"
    folder = names.unknown[0]
    many = f"{folder} and {len(names.unknown) - 1} more do" if len(names.unknown) > 1 else f"{folder} does"
    return (
        f"names of queues are perhaps: {many} not say whose queues these are; "
        f"PRIVATE names are of {of}; --queues GUID={folder} names those of one for sure"
    )
