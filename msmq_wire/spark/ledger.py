"""Which captures are in the tables, and how their rows get there all at once.

The rule kept here: a capture is in the tables when its entry is in the ledger. What a run does to the files
of a capture is written down before it is done, so that the next run can finish or undo it.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import socket
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType

import msgspec

from msmq_wire.errors import MsmqWireError
from msmq_wire.spark.captures import Capture, CaptureFile
from msmq_wire.spark.table_files import HIDDEN, WrittenFile
from msmq_wire.spark.table_schemas import TABLES

__all__ = ["Entry", "Ledger", "capture_key"]

_PENDING = ".pending"
_LOCK = ".msmq-wire-lock"


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """A capture in the tables.

    ``options`` stands for what was asked for: other options make other rows. ``run`` is the run that did it,
    ``files`` hold its rows; ``frames`` were read, ``understood`` carried MSMQ traffic, ``skipped`` counts the
    others by reason, ``damage`` says what is wrong with which file. ``more`` counts findings that were not
    written, by rule, where there were too many.
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


def capture_key(name: str) -> str:
    """A name for files that stands for a capture."""
    return hashlib.sha256(name.encode("utf-8", "surrogateescape")).hexdigest()[:16]


_decode = msgspec.json.Decoder(Entry).decode


class Ledger:
    """The ledger of an output folder, locked while the block runs.

    Entering finishes what a run before had begun, and sweeps away files that no capture has. Raises
    MsmqWireError when another run has the folder, or it cannot be written.
    """

    def __init__(self, output: str) -> None:
        self.output = Path(output)
        self._folder = self.output / "captures"
        self.entries: dict[str, Entry] = {}

    def __enter__(self) -> Ledger:
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._lock()
        except OSError as error:
            raise MsmqWireError(f"cannot write {self.output}: {error.strerror or error}") from None
        self._recover()
        for path in self._folder.glob("*.json"):
            if not path.name.startswith(HIDDEN):
                entry = _decode(path.read_bytes())
                self.entries[entry.capture] = entry
        self.sweep()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        (self.output / _LOCK).unlink(missing_ok=True)

    def has(self, capture: Capture, options: str) -> bool:
        """Whether the tables hold a capture as it is now, read with the same options."""
        entry = self.entries.get(capture.name)
        if entry is None or entry.options != options:
            return False
        if any(file.error is not None for file in entry.sources):
            # It may be allowed to read it now.
            return False
        return _states(entry.sources) == _states(capture.files)

    def publish(self, entry: Entry) -> None:
        """Put a capture into the tables, in place of what was there of it before."""
        pending = self._folder / f"{HIDDEN}{capture_key(entry.capture)}{_PENDING}"
        _write(pending, entry)
        self._finish(pending, entry)

    def sweep(self) -> int:
        """Take away the files of tasks that came to nothing; return how many."""
        count = 0
        for table in TABLES:
            for path in (self.output / table).glob(f"*/{HIDDEN}part-*.parquet"):
                path.unlink(missing_ok=True)
                count += 1
        return count

    def _recover(self) -> None:
        for pending in sorted(self._folder.glob(f"{HIDDEN}*{_PENDING}")):
            try:
                entry = _decode(pending.read_bytes())
            except msgspec.MsgspecError:
                # It was cut while it was written: nothing had been done.
                pending.unlink()
                continue
            self._finish(pending, entry)

    def _finish(self, pending: Path, entry: Entry) -> None:
        final = self._folder / f"{capture_key(entry.capture)}.json"
        for file in entry.files:
            folder = self.output / file.folder
            hidden = folder / (HIDDEN + file.name)
            if hidden.exists():
                hidden.rename(folder / file.name)
            elif not (folder / file.name).exists():
                self._undo(pending, entry)
                return
        if final.exists():
            kept = {(file.folder, file.name) for file in entry.files}
            for file in _decode(final.read_bytes()).files:
                if (file.folder, file.name) not in kept:
                    (self.output / file.folder / file.name).unlink(missing_ok=True)
        pending.rename(final)
        self.entries[entry.capture] = entry

    def _undo(self, pending: Path, entry: Entry) -> None:
        """Somebody took files away between two runs: the capture is read again."""
        for file in entry.files:
            for name in (HIDDEN + file.name, file.name):
                (self.output / file.folder / name).unlink(missing_ok=True)
        pending.unlink()

    def _lock(self) -> None:
        lock = self.output / _LOCK
        ours = f"{socket.gethostname()} {os.getpid()}"
        for _ in range(2):
            try:
                with lock.open("x") as file:
                    file.write(ours)
                return
            except FileExistsError:
                holder = lock.read_text(errors="replace").split()
                if not _is_gone(holder):
                    raise MsmqWireError(
                        f"another run writes to {self.output} ({' '.join(holder) or 'unknown'}); "
                        f"if it does not run any more, remove {lock}"
                    ) from None
                lock.unlink(missing_ok=True)
        raise MsmqWireError(f"another run has just begun to write to {self.output}")


def _is_gone(holder: list[str]) -> bool:
    """Whether the process that holds a lock has ended, which only its own machine can tell."""
    if len(holder) != 2 or holder[0] != socket.gethostname() or not holder[1].isdigit():
        return False
    try:
        os.kill(int(holder[1]), 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return int(holder[1]) == os.getpid()


def _states(files: Iterable[CaptureFile]) -> list[tuple[str, int, int]]:
    return [(file.path, file.size, file.mtime_ns) for file in files]


def _write(path: Path, entry: Entry) -> None:
    """Write a file that is there whole or not at all."""
    beside = path.with_name(f"{path.name}.{secrets.token_hex(8)}.tmp")
    data = msgspec.json.format(msgspec.json.encode(entry), indent=1)
    with beside.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    beside.rename(path)
