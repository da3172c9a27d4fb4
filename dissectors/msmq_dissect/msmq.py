# SPDX-License-Identifier: AGPL-3.0-or-later
"""`MsmqPlugin`: ``target-query -f msmq`` tells the messages in the storage files of a Windows target.

The rule kept here: every file is searched from its first byte to its last, whatever its name promises; and a
find in a live file is told there, never once more for the volume.

dissect loads this file by its path, as the module ``msmq``: `msmq_dissect` says how.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from dissect.target.exceptions import RegistryError, UnsupportedPluginError  # type: ignore[import-untyped]  # it has no annotations
from dissect.target.helpers.record import TargetRecordDescriptor  # type: ignore[import-untyped]  # it has no annotations
from dissect.target.plugin import Plugin, arg, export  # type: ignore[import-untyped]  # it has no annotations

from msmq_dissect.finds import FIELDS, message_fields
from msmq_dissect.places import Ranges, found_file, ranges_of
from msmq_dissect.reading import DAMAGE, carve, reason_of
from msmq_wire.capture.carve.search import CarvedItem
from msmq_wire.capture.carve.storage import storage_kind

__all__ = ["KEY", "STORAGE", "MsmqPlugin", "MsmqRecord"]

STORAGE = "sysvol/windows/system32/msmq/storage"
"""Where the files are if nobody moved them."""
KEY = r"HKEY_LOCAL_MACHINE\SOFTWARE\Microsoft\MSMQ\Parameters"
"""The settings of the service, as notes 15 and 19 of [MC-MQSRM] name them.

Which values say where the files are is in no document that could be read: every text that is the path of a
folder with such files counts.
"""
_LIVE, _OUTSIDE = "live file", "unallocated"

MsmqRecord = TargetRecordDescriptor(
    "windows/msmq/message",
    [
        ("path", "source"),
        ("string", "kind"),
        ("string", "volume"),
        ("varint", "offset"),
        ("string", "state"),
        ("string", "grade"),
        ("string", "type"),
        ("string", "reason"),
        *FIELDS,
    ],
)


class MsmqPlugin(Plugin):  # type: ignore[misc]  # it has no annotations
    """MSMQ storage files: messages, found by their own bytes."""

    def check_compatible(self) -> None:
        """Refuse what is no Windows."""
        if self.target.os != "windows":
            raise UnsupportedPluginError("MSMQ is a service of Windows")

    @arg("--path", help="--path=PATH: file or folder to search instead")  # type: ignore[untyped-decorator]  # it has none
    @arg("--unallocated", action="store_true", help="search the volumes, too")  # type: ignore[untyped-decorator]  # it has none
    @export(record=MsmqRecord)  # type: ignore[untyped-decorator]  # it has none
    def msmq(self, path: str | None = None, unallocated: bool = False) -> Iterator[Any]:
        """Return packets and SRMP messages in the storage files of MSMQ.

        The files are those of the default folder and of every folder with such files that the settings of the
        service name. What surrounds messages in them is not documented, and no public one was found: each
        find is judged by its own bytes. ``grade`` is whole (it reads to its end and contradicts nothing),
        damaged (it contradicts itself, as ``reason`` says) or head (its end is not there).

        ``kind`` is what the name of the file says: express, recoverable, journal or log. ``offset`` counts
        bytes of the file, or of the volume where ``state`` is unallocated: such a find begins outside of the
        live storage files, in free space, in the slack behind them, or in another file such as the page file.
        A live file may hold messages that were received long ago: ``state`` says where a find lies, not that
        its message was still in a queue.
        """
        files = list(self._files(path))
        if not files:
            self.target.log.warning("No storage files of MSMQ found")
        for file in files:
            yield from self._live(file)
        if unallocated:
            yield from self._outside(files)

    def _files(self, path: str | None) -> Iterator[Any]:
        """The files to search, each once."""
        for folder in self._folders() if path is None else [self._path(path)]:
            if folder.is_file():
                yield folder
            elif folder.is_dir():
                yield from sorted(one for one in folder.rglob("*") if _is_file(one))
            else:
                self.target.log.warning("Not there: %s", folder)

    def _path(self, text: str) -> Any:
        """What a path of Windows leads to; without a registry variables in it stay as they are."""
        try:
            return self.target.resolve(text)
        except (RegistryError, UnsupportedPluginError):
            return self.target.fs.path(text)

    def _folders(self) -> list[Any]:
        default = self.target.fs.path(STORAGE)
        found = [default] if default.is_dir() else []
        for text in self._settings():
            folder = self._path(text)
            if _has_files(folder) and not any(folder.samefile(one) for one in found):
                found.append(folder)
        return found

    def _settings(self) -> Iterator[str]:
        """The texts that the service is set up with."""
        try:
            # With `keys` a collection without the hive SYSTEM has none.
            texts = [value.value for value in self.target.registry.key(KEY).values()]
        except (RegistryError, UnsupportedPluginError) as error:
            self.target.log.warning("No settings of the service can be read: %s", reason_of(error))
            return
        yield from (text for text in texts if isinstance(text, str) and text)

    def _live(self, file: Any) -> Iterator[Any]:
        """The finds in a file."""
        try:
            stream, size = file.open("rb"), file.stat().st_size
        except DAMAGE as error:
            self.target.log.error("Cannot open %s: %s", file, reason_of(error))
            return
        with stream:
            for find in self._carved(stream, size, str(file)):
                yield self._record(find, _LIVE, source=file, kind=storage_kind(file.name))

    def _outside(self, files: Iterable[Any]) -> Iterator[Any]:
        """The finds on all volumes that begin in none of the files."""
        live = self._ranges(files)
        below = [one.disk for one in self.target.volumes]
        volumes = [one for one in self.target.volumes if not _is_below(one, below)]
        if not volumes:
            self.target.log.warning("The target has no volume: only its files can be searched")
        for volume in volumes:
            name = f"{volume.number} at {volume.offset}" + (f" ({volume.name})" if volume.name else "")
            ranges = live.get(id(volume), Ranges())
            for find in self._carved(volume, volume.size, f"volume {name}"):
                if find.offset not in ranges:
                    yield self._record(find, _OUTSIDE, volume=name)

    def _ranges(self, files: Iterable[Any]) -> dict[int, Ranges]:
        """Where the files lie, by their volumes."""
        found: dict[int, Ranges] = {}
        unknown: list[Any] = []
        for file in files:
            try:
                entry = found_file(file)
                stretches = ranges_of(entry)
            except DAMAGE as error:
                self.target.log.error("Where %s lies cannot be read: %s", file, reason_of(error))
                continue
            if stretches is None:
                unknown.append(file)
            else:
                found.setdefault(id(entry.fs.volume), Ranges()).add(stretches)
        if unknown:
            reported = "Where %s lies is not known (%d files in all): what is in it may be told once more"
            self.target.log.warning(reported, unknown[0], len(unknown))
        return found

    def _carved(self, stream: Any, size: int, name: str) -> Iterator[CarvedItem]:
        def unread(offset: int, length: int, reason: str) -> None:
            self.target.log.error("%s: %d bytes at %d cannot be read: %s", name, length, offset, reason)

        return carve(stream, size, unread)

    def _record(self, find: CarvedItem, state: str, **where: Any) -> Any:
        return MsmqRecord(
            **where,
            offset=find.offset,
            state=state,
            grade=find.grade,
            type=find.type,
            reason=find.reason,
            **message_fields(find),
            _target=self.target,
        )


def _is_file(path: Any) -> bool:
    return bool(path.is_file()) and not path.is_symlink()


def _has_files(path: Any) -> bool:
    """Whether a path leads to a folder with files named as those of the storage are."""
    return bool(path.is_dir()) and any(storage_kind(one.name) for one in path.iterdir())


def _is_below(volume: Any, below: list[Any]) -> bool:
    """Whether a volume is what others are made of: their bytes are those that count."""
    return any(one is volume or (isinstance(one, list) and volume in one) for one in below)
