"""Which captures are in the tables, and how their rows get there all at once.

The rule kept here: a capture is in the tables when its entry is in the ledger. What a run does to the files
of a capture is written down before it is done, so that the next run can finish or undo it.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import socket
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType

import msgspec

from msmq_wire.errors import MsmqWireError
from msmq_wire.output import make_folder
from msmq_wire.spark.captures import Capture, CaptureFile
from msmq_wire.spark.table_files import HIDDEN, WrittenFile
from msmq_wire.spark.table_schemas import DAY, TABLES

__all__ = ["Entry", "Ledger", "capture_key"]

_PENDING = ".pending"
_DRAFT = ".tmp"
_LOCK = ".msmq-wire-lock"
_PART = re.compile(r"part-([0-9a-f]{16})-[0-9a-f]{16}\.parquet")
_NUMBER = re.compile(r"[0-9]{1,9}")
_held: set[str] = set()
"""What is written in the locks that this process holds."""


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """A capture in the tables.

    ``options`` stands for what was asked for: other options make other rows. ``run`` is the run that did it,
    ``files`` hold its rows; ``frames`` were read, ``understood`` carried MSMQ traffic, ``skipped`` counts the
    others by reason, ``damage`` says what is wrong with which file. ``more`` counts findings that were not
    written, by rule, where there were too many. ``tables`` are those that were filled, ``version`` is that
    of the package that decoded.
    """

    capture: str
    sources: tuple[CaptureFile, ...]
    options: str
    run: str
    files: tuple[WrittenFile, ...]
    rows: Mapping[str, int]
    frames: int = 0
    understood: int = 0
    skipped: Mapping[str, int] = {}
    notices: Mapping[str, int] = {}
    more: Mapping[str, int] = {}
    damage: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()
    version: str = ""


def capture_key(name: str) -> str:
    """A name for files that stands for a capture."""
    return hashlib.sha256(name.encode("utf-8", "surrogateescape")).hexdigest()[:16]


_decode = msgspec.json.Decoder(Entry).decode


class Ledger:
    """The ledger of an output folder, locked while the block runs.

    Entering finishes what a run before had begun, and sweeps away files that no capture has. Raises
    MsmqWireError when another run has the folder, it cannot be written, or what it says is no ledger.
    """

    def __init__(self, output: str) -> None:
        self.output = Path(output)
        self._folder = self.output / "captures"
        self._mark = f"{socket.gethostname()} {os.getpid()} {secrets.token_hex(8)}"
        self._strays: dict[str, set[tuple[str, str]]] = {}
        self.entries: dict[str, Entry] = {}

    def __enter__(self) -> Ledger:
        try:
            make_folder(self.output)
            self._folder.mkdir(exist_ok=True)
            self._lock()
            try:
                self._open()
            except BaseException:
                self._unlock()
                raise
        except OSError as error:
            raise self._unwritten(error) from None
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._unlock()

    def has(self, capture: Capture, options: str) -> bool:
        """Whether the tables hold a capture as it is now, read with the same options."""
        entry = self.entries.get(capture.name)
        if entry is None or entry.options != options:
            return False
        if any(file.error is not None for file in entry.sources):
            # It may be allowed to read it now.
            return False
        if _states(entry.sources) != _states(capture.files):
            return False
        return all((self.output / file.folder / file.name).exists() for file in entry.files)

    def publish(self, entry: Entry) -> None:
        """Put a capture into the tables, in place of what was there of it before.

        Raises MsmqWireError when its files are not there: workers wrote them to other disks.
        """
        pending = self._folder / f"{HIDDEN}{capture_key(entry.capture)}{_PENDING}"
        try:
            _write(pending, entry)
            if self._finish(pending, entry):
                return
        except OSError as error:
            raise self._unwritten(error) from None
        raise MsmqWireError(
            f"the rows of {entry.capture} did not come to {self.output}: all machines that decode must see "
            "that folder, and nobody else may take files away"
        )

    def sweep(self) -> int:
        """Take away the files of tasks that came to nothing; return how many."""
        count = 0
        for table in TABLES:
            for path in (self.output / table).glob(f"*/{HIDDEN}part-*.parquet"):
                path.unlink(missing_ok=True)
                count += 1
        return count

    def _open(self) -> None:
        for path in self._folder.glob("*.json"):
            if not path.name.startswith(HIDDEN):
                entry = _read(path)
                self.entries[entry.capture] = entry
        self._strays = self._found_strays()
        for pending in sorted(self._folder.glob(f"{HIDDEN}*{_PENDING}")):
            self._finish(pending, _read(pending))
        for draft in self._folder.glob(f"{HIDDEN}*{_DRAFT}"):
            draft.unlink(missing_ok=True)
        self.sweep()

    def _found_strays(self) -> dict[str, set[tuple[str, str]]]:
        """The files that count for no entry, by the key of their capture.

        There are some where an entry was taken away. They stay as long as their capture is not read again:
        it may be gone.
        """
        known = {(file.folder, file.name) for entry in self.entries.values() for file in entry.files}
        found: dict[str, set[tuple[str, str]]] = {}
        for table in TABLES:
            for path in (self.output / table).glob("*/part-*.parquet"):
                part = _PART.fullmatch(path.name)
                place = os.path.join(table, path.parent.name), path.name
                if part is not None and place not in known:
                    found.setdefault(part[1], set()).add(place)
        return found

    def _finish(self, pending: Path, entry: Entry) -> bool:
        """Do what a pending entry says; False where its files are gone, and nothing of it is left."""
        key = capture_key(entry.capture)
        kept = {(file.folder, file.name) for file in entry.files}
        for file in entry.files:
            folder = self.output / file.folder
            hidden = folder / (HIDDEN + file.name)
            if hidden.exists():
                hidden.rename(folder / file.name)
            elif not (folder / file.name).exists():
                self._undo(pending, entry)
                return False
        before = self.entries.get(entry.capture)
        old = self._strays.pop(key, set())
        if before is not None:
            old |= {(file.folder, file.name) for file in before.files}
        for place in old - kept:
            self.output.joinpath(*place).unlink(missing_ok=True)
        pending.rename(self._folder / f"{key}.json")
        self.entries[entry.capture] = entry
        return True

    def _undo(self, pending: Path, entry: Entry) -> None:
        """Somebody took files away between two runs: the capture is read again."""
        for file in entry.files:
            for name in (HIDDEN + file.name, file.name):
                (self.output / file.folder / name).unlink(missing_ok=True)
        pending.unlink()

    def _lock(self) -> None:
        lock = self.output / _LOCK
        for _ in range(3):
            try:
                with lock.open("x", encoding="utf-8") as file:
                    file.write(self._mark)
                _held.add(self._mark)
                return
            except FileExistsError:
                holder = _text(lock)
            if holder is not None and not _is_gone(holder):
                raise MsmqWireError(
                    f"another run writes to {self.output} ({' '.join(holder.split()[:2]) or 'unknown'}); "
                    f"if it does not run any more, remove {lock}"
                )
            if holder is not None:
                _take_away(lock, holder)
        raise MsmqWireError(f"another run has just begun to write to {self.output}")

    def _unlock(self) -> None:
        lock = self.output / _LOCK
        _held.discard(self._mark)
        if _text(lock) == self._mark:
            lock.unlink(missing_ok=True)

    def _unwritten(self, error: OSError) -> MsmqWireError:
        return MsmqWireError(f"cannot write {self.output}: {error.strerror or error}")


def _is_gone(holder: str) -> bool:
    """Whether the process that holds a lock has ended, which only its own machine can tell."""
    words = holder.split()
    if len(words) != 3 or words[0] != socket.gethostname() or not _NUMBER.fullmatch(words[1]):
        return False
    process = int(words[1])
    if process == os.getpid():
        # Containers give the same number to process after process.
        return holder not in _held
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False


def _take_away(lock: Path, holder: str) -> None:
    """Take a lock away, unless it is not that of ``holder`` any more."""
    aside = lock.with_name(f"{_LOCK}.{secrets.token_hex(8)}")
    try:
        lock.rename(aside)
    except FileNotFoundError:
        return
    if _text(aside) == holder:
        aside.unlink()
    else:
        # Another run was faster, and has it now.
        aside.rename(lock)


def _text(lock: Path) -> str | None:
    try:
        return lock.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return None


def _states(files: Iterable[CaptureFile]) -> list[tuple[str, int, int]]:
    return [(file.path, file.size, file.mtime_ns) for file in files]


def _read(path: Path) -> Entry:
    """Read an entry; only what the ledger wrote names files that may be renamed and removed."""
    try:
        entry = _decode(path.read_bytes())
    except msgspec.MsgspecError as error:
        raise _no_entry(path, str(error)) from None
    key = path.name.removeprefix(HIDDEN).partition(".")[0]
    if capture_key(entry.capture) != key:
        raise _no_entry(path, "its name is that of another capture")
    for file in entry.files:
        part = _PART.fullmatch(file.name)
        table, _, day = file.folder.partition(os.sep)
        if part is None or part[1] != key or table not in TABLES or table != file.table:
            raise _no_entry(path, f"it names the file {file.name}")
        if not day.startswith(f"{DAY}=") or os.sep in day:
            raise _no_entry(path, f"it names the folder {file.folder}")
    return entry


def _no_entry(path: Path, reason: str) -> MsmqWireError:
    return MsmqWireError(
        f"{path} is no entry of the ledger: {reason}; without that file, what it stands for is read again"
    )


def _write(path: Path, entry: Entry) -> None:
    """Write a file that is there whole or not at all."""
    beside = path.with_name(f"{path.name}.{secrets.token_hex(8)}{_DRAFT}")
    data = msgspec.json.format(msgspec.json.encode(entry), indent=1)
    with beside.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    beside.rename(path)
