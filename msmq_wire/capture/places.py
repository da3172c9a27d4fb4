"""Folders and files by path or URL: a thin layer over pyarrow.fs.

The rule kept here: what is no URL is a path, whatever is in it. The environment says how a store is
reached, so a task does what the driver does. Other URLs are refused before anything runs.
"""

from __future__ import annotations

import contextlib
import errno
import fnmatch
import glob
import os
import re
import socket
from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from functools import lru_cache, partial
from io import BufferedWriter, RawIOBase
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote, urlsplit

import msgspec

from msmq_wire.capture.opened_file import OpenedFile, open_local, reason_of
from msmq_wire.errors import MsmqWireError
from msmq_wire.output import make_folder, open_stream
from msmq_wire.units import SECOND
from msmq_wire.urls import mask_url_secrets

if TYPE_CHECKING:
    from pyarrow import NativeFile  # type: ignore[import-untyped]  # it has no stubs
    from pyarrow.fs import FileInfo, FileSystem  # type: ignore[import-untyped]  # it has no stubs

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://|(file):(?=/)", re.IGNORECASE)
"""A colon alone makes no URL of a path, but in ``file:/x``, as Java writes it."""
_BUCKET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{1,254}\Z")
_CONTAINER = re.compile(r"[$a-z0-9-]{3,63}@[a-z0-9]{3,24}\.dfs\.core\.windows\.net\Z")
_HOST = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,254}(?::[0-9]{1,5})?\Z")
_AZURE = "container@account.dfs.core.windows.net/key"
_STORES = {
    "s3": (_BUCKET, "bucket/key"),
    "gs": (_BUCKET, "bucket/key"),
    "abfss": (_CONTAINER, _AZURE),
    "hdfs": (_HOST, "host:port/path"),
}
"""What is between the scheme and the key of a URL, and what such a URL looks like."""
_ALIASES = {"s3a": "s3", "gcs": "gs", "abfs": "abfss"}
_COPY, _WRITE = "copy it to a folder", f"write abfss://{_AZURE}"
_INSTEAD = {"dbfs": "write /dbfs/...", "http": _COPY, "https": _COPY, "wasb": _WRITE, "wasbs": _WRITE}
_SIGNED = re.compile(r"\?[^/?]*=")
"""The query of a URL that somebody signed; in a pattern a question mark is followed by other characters."""
_NO_TABLE = re.compile(r"[\x00-\x1f\x7f\\\[\]^|]|%[0-9A-Fa-f]{2}")
"""What deltalake 1.6 loses, takes for something else, or panics at in the name of a table's folder."""
_ATTEMPTS = 10
"""How often a request is sent; one in ten may fail, and busy stores answer 503."""
_PATIENCE = 60
"""Seconds without a byte until a request is sent again."""
_SETTINGS = ("AWS_", "AZURE_", "AZURITE_", "CLOUD_STORAGE_", "GOOGLE_")
"""How variables of the environment begin that say how a store is reached."""


class Place(msgspec.Struct, frozen=True):
    """A file or folder: where it is, and how it is reached. It can be pickled.

    ``url`` is a path, or as ``s3://bucket/key`` with the key as it is: nothing in it is quoted.
    What reads or writes raises OSError, as pyarrow does; MsmqWireError for a store that cannot be reached.
    """

    url: str

    @property
    def is_local(self) -> bool:
        """Whether it is a path that this machine has."""
        return not self._root

    @property
    def _root(self) -> str:
        """The scheme and the store of a URL."""
        parts = self.url.split("/", 3)
        return "/".join(parts[:3]) if parts[0].removesuffix(":") in _STORES and parts[1:2] == [""] else ""

    @property
    def path(self) -> str:
        """What `filesystem` calls it: a path, ``bucket/key``, ``container/key``, or in HDFS ``/path``."""
        scheme, _, store = self._root.partition("://")
        key = self.url[len(self._root) :]
        return key or "/" if scheme == "hdfs" else store.partition("@")[0] + key

    def filesystem(self) -> FileSystem:
        """What reads and writes it; one in each process for a store and what the environment says."""
        # Here and below, because paths are for commands, too, which need no pyarrow.
        import pyarrow.fs as pafs

        scheme, _, store = self._root.partition("://")
        settings = frozenset(one for one in os.environ.items() if one[0].startswith(_SETTINGS))
        at = "" if scheme in ("s3", "gs") else store
        return _connected(scheme, at, settings) if scheme else pafs.LocalFileSystem()

    @property
    def table_url(self) -> str:
        """What deltalake calls it: a URL, quoted. Raises MsmqWireError for what cannot hold tables."""
        if self.url.startswith("hdfs://"):
            raise MsmqWireError(f"cannot keep tables in {self.url}: name a folder, s3://, gs:// or abfss://")
        key = self.url[len(self._root) :]
        if lost := _NO_TABLE.search(key):
            raise MsmqWireError(
                f"cannot keep tables in {self.url}: Delta does not take {lost[0]!r} in a name"
            )
        return (self._root or "file://") + quote(key)

    @property
    def storage_options(self) -> dict[str, str]:
        """What deltalake does not take from the environment."""
        plain = self.url.startswith("s3://") and (_s3_endpoint() or "").startswith("http:")
        return {"allow_http": "true"} if plain else {}

    def join(self, *names: str) -> Place:
        """The place below this one that ``names`` lead to. Raises MsmqWireError for one that leads away."""
        for name in names:
            if name in ("", ".", "..") or "/" in name:
                raise MsmqWireError(f"{name!r} is no name of a file or folder in {self.url}")
        return Place("/".join((self.url.rstrip("/"), *names)))

    def open_input(self) -> NativeFile:
        """Open a file to be read, anywhere in it; it knows its size."""
        import pyarrow as pa

        if self.is_local:
            return self.filesystem().open_input_file(self.path)
        return pa.PythonFile(self.open_ranges(), mode="r")

    def open_ranges(self) -> OpenedFile:
        """Open a file to be read in parts, as captures are."""
        return open_local(self.path) if self.is_local else _RangedFile(self)

    def open_output(self) -> NativeFile:
        """Open a file to be written anew: on this machine one that is not there, and through no link.

        In an object store it is there once it is closed.
        """
        import pyarrow as pa

        if self.is_local:
            return pa.PythonFile(BufferedWriter(open_stream(self.path)), mode="w")
        return self.filesystem().open_output_stream(self.path, compression=None)

    def info(self) -> FileInfo:
        """What it is (``type``; ``FileType.NotFound`` for nothing), ``size`` in bytes and ``mtime_ns``."""
        return self.filesystem().get_file_info(self.path)

    def exists(self) -> bool:
        """Whether there is a file or a folder."""
        return is_there(self.info())

    def list(self, *, recursive: bool = False) -> list[FileInfo]:
        """What the folder has, by path; a folder or bucket that is not there has nothing."""
        import pyarrow.fs as pafs

        flat, start = self.url.startswith("gs://"), len(self.path) + 1
        selector = pafs.FileSelector(self.path, allow_not_found=True, recursive=recursive or flat)
        found = {info.path: info for info in self.filesystem().get_file_info(selector)}
        # Of Google's store pyarrow lists no folders: there they are the beginnings of names.
        for path in [*found] if flat else ():
            while len(path := path.rpartition("/")[0]) > start:
                found.setdefault(path, pafs.FileInfo(path, pafs.FileType.Directory))
        return [found[path] for path in sorted(found) if recursive or not flat or "/" not in path[start:]]

    def glob(self, *, recursive: bool, each: Callable[..., Iterable[Any]] = map) -> Sequence[FileInfo]:
        """What there is in an object store whose names match the parts of the key, as `glob.glob` does it.

        ``**`` is a folder in folders, however deep, when it is ``recursive``. ``each`` is `map`, or does
        several at once: a folder is listed by each call.
        """
        parts = self.url.split("/")
        at = next((at for at, part in enumerate(parts) if at > 2 and glob.has_magic(part)), len(parts) - 1)
        folders, found = [Place("/".join(parts[:at]))], list[Any]()
        while at < len(parts):
            deep = recursive and parts[at] == "**"
            end = len(parts) if deep else at + 1
            listed = each(partial(Place.list, recursive=deep), folders)
            inside = [(len(one.path) + 1, infos) for one, infos in zip(folders, listed, strict=True)]
            found = [
                info
                for start, infos in inside
                for info in infos
                if _matches(info.path[start:].split("/"), parts[at:end])
            ]
            folders, at = [self.within(info) for info in found if info.size is None], end
        return found

    def within(self, info: FileInfo) -> Place:
        """The place of what `list` found."""
        return Place(f"{self._root}/{info.path.partition('/')[2]}")

    def changed_ns(self, info: FileInfo) -> int:
        """The time of the last change that `info` or `list` told (ns since 1970); 0 for what is not there.

        Whole seconds in an object store: some tell more of them in a listing than of the object itself.
        """
        found = info.mtime_ns or 0
        return found if self.is_local else found // SECOND * SECOND

    def make_folder(self) -> None:
        """Make it and those above it, where a store has folders. Raises OSError for a link."""
        if self.is_local:
            make_folder(self.path)

    def delete(self) -> None:
        """Delete the file, if it is there."""
        with contextlib.suppress(FileNotFoundError):
            self.filesystem().delete_file(self.path)


class _RangedFile(RawIOBase):
    """A file in an object store: a read asks for that range of it, again where pyarrow does not.

    pyarrow repeats a request, but not one for fewer bytes than the error has that the store sends instead.
    """

    def __init__(self, place: Place) -> None:
        self.name, self._place = place.url, place
        try:
            self._file: Any = place.filesystem().open_input_file(place.path)
        except FileNotFoundError:
            raise _missing(place) from None

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        at = self._file.tell()
        for _ in range(_ATTEMPTS - 1):
            with contextlib.suppress(OSError):
                return bytes(self._file.read(None if size < 0 else size))
            self._file.seek(at)
        return bytes(self._file.read(None if size < 0 else size))

    def readinto(self, buffer: Any) -> int:
        data = self.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def seek(self, offset: int, whence: int = 0) -> int:
        return int(self._file.seek(offset, whence))

    def tell(self) -> int:
        return int(self._file.tell())

    def status(self) -> tuple[int, int]:
        info = self._place.info()
        if info.size is None:
            raise _missing(self._place)
        return info.size, self._place.changed_ns(info)


def _missing(place: Place) -> FileNotFoundError:
    return FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), place.url)


def _matches(names: Sequence[str], parts: Sequence[str]) -> bool:
    """Whether the names of folders and of what is in the last of them match the parts of a glob."""
    if not names or not parts:
        return not names and all(part == "**" for part in parts)
    hidden = names[0].startswith(".")
    if parts[0] == "**":
        return _matches(names, parts[1:]) or (not hidden and _matches(names[1:], parts))
    fits = fnmatch.fnmatchcase(names[0], parts[0]) and hidden <= parts[0].startswith(".")
    return fits and _matches(names[1:], parts[1:])


def is_there(info: FileInfo) -> bool:
    """Whether `Place.info` found a file or folder."""
    return bool(info.type.name != "NotFound")


def input_path(text: str) -> str:
    """What is read: a path as it is, relative too, and of a URL what `place_of` makes of it."""
    return place_of(text).url if _SCHEME.match(text) else text


def local_folder(text: str) -> str:
    """The path of a folder that only a file system can be: files are linked or renamed in it.

    Raises MsmqWireError as `place_of`, and for an object store.
    """
    if not place_of(text).is_local:
        raise MsmqWireError(f"cannot write {text}: here a folder is needed, local or mounted, and no bucket")
    return input_path(text)


def place_of(text: str) -> Place:
    """The place that a path or a URL names: ``file:`` with an absolute path, or one of ``s3://bucket/key``,
    ``gs://bucket/key``, ``abfss://container@account.dfs.core.windows.net/key``, ``hdfs://host:port/path``.

    A path may be relative to the working folder, and is not taken apart: ``%20`` is three characters of it.
    ``%20`` in a ``file:`` URL is a space; the key behind ``s3://bucket/`` is taken as it is. Raises
    MsmqWireError for another scheme, saying what to do, and for a name that no store could hold.
    """
    if not text or "\0" in text:
        raise MsmqWireError(f"a file or folder needs a name, and {text!r} is none")
    refused = f"cannot use {mask_url_secrets(text.encode('utf-8', 'backslashreplace').decode())}"
    if (found := _SCHEME.match(text)) is None:
        url = os.path.abspath(text)
    elif (scheme := (found[1] or "file").lower()) == "file":
        host, slash, path = text[found.end() :].partition("/")
        if not slash or host.lower() not in ("", "localhost"):
            raise MsmqWireError(f"{refused}: a file: URL names no host, its path is absolute")
        url = os.path.normpath(unquote(f"/{path.lstrip('/')}", errors="surrogateescape"))
    else:
        scheme = _ALIASES.get(scheme, scheme)
        store, _, key = text[found.end() :].partition("/")
        key = key.rstrip("/")
        if scheme not in _STORES:
            instead = _INSTEAD.get(scheme, "mount it as a folder")
            raise MsmqWireError(f"{refused}: {scheme}:// is not reached here; {instead}")
        if ("@" in store and (":" in store or scheme != "abfss")) or _SIGNED.search(key):
            # Not shown: it may be a secret.
            raise MsmqWireError(
                "cannot use a URL with credentials: give them in the environment, AWS_ACCESS_KEY_ID ..."
            )
        if _STORES[scheme][0].match(store) is None:
            raise MsmqWireError(f"{refused}: it is not as {scheme}://{_STORES[scheme][1]}")
        if {"", ".", ".."} & set(key.split("/")) and key:
            raise MsmqWireError(f"{refused}: a part of its key is empty, '.' or '..'")
        url = f"{scheme}://{store}/{key}".rstrip("/")
    if url != url.encode("utf-8", "replace").decode():
        raise MsmqWireError(f"{refused}: its name is not UTF-8")
    return Place(url)


def _says(name: str) -> bool:
    return os.environ.get(name, "").lower() in ("1", "true", "yes")


def _s3_endpoint() -> str | None:
    return os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL") or None


@lru_cache(maxsize=8)
def _connected(scheme: str, store: str, _settings: object) -> FileSystem:
    import pyarrow.fs as pafs

    say, endpoint = os.environ.get, _s3_endpoint()
    try:
        if scheme == "s3":
            if endpoint is not None:
                # The SDK would ask for a host that nobody knows for a minute.
                socket.getaddrinfo(urlsplit(endpoint).hostname, None)
            return pafs.S3FileSystem(
                endpoint_override=endpoint,
                # Without one the SDK asks the machine; of two it takes the one that deltalake does not.
                region=say("AWS_REGION") or say("AWS_DEFAULT_REGION") or (endpoint and "us-east-1"),
                anonymous=_says("AWS_SKIP_SIGNATURE"),
                retry_strategy=pafs.AwsStandardS3RetryStrategy(max_attempts=_ATTEMPTS),
                request_timeout=_PATIENCE,
                connect_timeout=_PATIENCE,
            )
        if scheme == "gs":
            patience = timedelta(seconds=_PATIENCE)
            return pafs.GcsFileSystem(anonymous=_says("GOOGLE_SKIP_SIGNATURE"), retry_time_limit=patience)
        if scheme == "hdfs":
            return pafs.FileSystem.from_uri(f"hdfs://{store}/")[0]
        emulator = urlsplit(
            say("AZURITE_BLOB_STORAGE_URL", "") if _says("AZURE_STORAGE_USE_EMULATOR") else ""
        )
        return pafs.AzureFileSystem(
            account_name=store.partition("@")[2].partition(".")[0],
            account_key=say("AZURE_STORAGE_ACCOUNT_KEY"),
            sas_token=say("AZURE_STORAGE_SAS_TOKEN"),
            blob_storage_scheme=emulator.scheme or None,
            blob_storage_authority=emulator.netloc or None,
            dfs_storage_scheme=emulator.scheme or None,
            dfs_storage_authority=emulator.netloc or None,
        )
    except (ImportError, OSError, ValueError) as error:
        at = (
            f"{scheme}://{store}"
            if store or not endpoint
            else f"AWS_ENDPOINT_URL {mask_url_secrets(endpoint)}"
        )
        raise MsmqWireError(f"cannot reach {at}: {reason_of(error)}") from None
