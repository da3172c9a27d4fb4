"""Folders and files by path or URL: on this machine, in mounted folders, and in object stores.

The rule kept here: what is no URL is a path, whatever is in it; the environment of the process says how a
store is reached, so a task does what the driver does; what cannot be reached is refused before anything runs.
"""

from __future__ import annotations

import errno
import fnmatch
import glob
import os
import re
import socket
from collections.abc import Callable, Iterable, Sequence
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
_SIGNED = re.compile(r"\?[^/?]*=")
"""The query of a URL that somebody signed; in a pattern a question mark is followed by other characters."""
_NEEDED = {
    "abfs": "a mounted folder (blobfuse2)",
    "abfss": "a mounted folder (blobfuse2)",
    "dbfs": "its mounted folder, /dbfs/...",
    "gcs": "a mounted folder (gcsfuse)",
    "gs": "a mounted folder (gcsfuse)",
    "hdfs": "a mounted folder (the NFS gateway of HDFS), or a copy in s3://",
    "http": "a copy in a folder",
    "https": "a copy in a folder",
    "wasbs": "a mounted folder (blobfuse2)",
}
_NO_TABLE = re.compile(r"[\x00-\x1f\x7f\\\[\]^|]|%[0-9A-Fa-f]{2}")
"""What deltalake 1.6 loses, takes for something else, or panics at in the name of a table's folder."""
_ATTEMPTS = 10
"""How often a request is sent; one in ten may fail, and busy stores answer 503."""
_PATIENCE = 60
"""Seconds without a byte until a request is sent again."""


class Place(msgspec.Struct, frozen=True):
    """A file or folder: where it is, and how it is reached. It can be pickled.

    ``url`` is an absolute path, or ``s3://bucket/key`` with the key as it is: nothing in it is quoted.
    What reads or writes raises OSError, as pyarrow does.
    """

    url: str

    @property
    def is_local(self) -> bool:
        """Whether it is a path that this machine has."""
        return not self.url.startswith("s3://")

    @property
    def path(self) -> str:
        """What `filesystem` calls it: an absolute path, or ``bucket/key``."""
        return self.url.removeprefix("s3://")

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.rsplit("/", 1)[-1]

    def filesystem(self) -> FileSystem:
        """What reads and writes it; one in each process for what the environment says."""
        # Here and below, because paths are for commands, too, which need no pyarrow.
        import pyarrow.fs as pafs

        return pafs.LocalFileSystem() if self.is_local else _s3(_access())

    @property
    def table_url(self) -> str:
        """What deltalake calls it: a URL, quoted. Raises MsmqWireError for a name that it cannot take."""
        lost = _NO_TABLE.search(self.path)
        if lost:
            raise MsmqWireError(
                f"cannot keep tables in {self.url}: {lost[0]!r} in its name is not taken by Delta"
            )
        return ("file://" if self.is_local else "s3://") + quote(self.path)

    @property
    def storage_options(self) -> dict[str, str]:
        """How deltalake reaches it, as `filesystem` does; credentials it finds as that does."""
        if self.is_local:
            return {}
        access = _access()
        # A commit is a put that fails where the object is there: two writers need no lock beside the store.
        options = {"aws_conditional_put": "etag"}
        if access.endpoint is not None:
            options["aws_endpoint"] = access.endpoint
            options["allow_http"] = str(access.endpoint.startswith("http://")).lower()
        if access.region is not None:
            options["aws_region"] = access.region
        if access.anonymous:
            options["aws_skip_signature"] = "true"
        return options

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

        selector = pafs.FileSelector(self.path, allow_not_found=True, recursive=recursive)
        return sorted(self.filesystem().get_file_info(selector), key=lambda info: info.path)

    def glob(self, *, recursive: bool, each: Callable[..., Iterable[Any]] = map) -> Sequence[FileInfo]:
        """What there is in an object store whose names match the parts of the key, as `glob.glob` does it.

        ``**`` is a folder in folders, however deep, when it is ``recursive``. ``each`` is `map`, or does
        several at once: a folder is listed by each call.
        """
        import pyarrow.fs as pafs

        bucket, *parts = self.path.split("/")
        deep = parts.index("**") if recursive and "**" in parts else len(parts)
        folders = [Place(f"s3://{bucket}")]
        found: Sequence[FileInfo] = ()
        for at, part in enumerate(parts[:deep]):
            below = [folder.join(part) for folder in folders]
            if glob.has_magic(part):
                listed = each(Place.list, folders)
                found = [info for infos in listed for info in infos if _matches([info.base_name], [part])]
            elif at + 1 < len(parts):
                folders = below
                continue
            else:
                found = [*each(Place.info, below)]
            folders = [self.within(info) for info in found if info.type is pafs.FileType.Directory]
        if deep < len(parts):
            found = []
            for folder, infos in zip(
                folders, each(partial(Place.list, recursive=True), folders), strict=True
            ):
                start = len(folder.path) + 1
                found += [one for one in infos if _matches(one.path[start:].split("/"), parts[deep:])]
        return [info for info in found if is_there(info)]

    def within(self, info: FileInfo) -> Place:
        """The place of what `list` found."""
        return Place(info.path if self.is_local else f"s3://{info.path}")

    def changed_ns(self, info: FileInfo) -> int:
        """The time of the last change that `info` or `list` told (ns since 1970); 0 for what is not there.

        Whole seconds in an object store: some tell more of them in a listing than of the object itself.
        """
        found = info.mtime_ns or 0
        return found if self.is_local else found // SECOND * SECOND

    def make_folder(self) -> None:
        """Make it and those above it, where they are not; an object store has no folders to make.

        Raises OSError for a link.
        """
        if self.is_local:
            make_folder(self.path)

    def delete(self) -> None:
        """Delete the file, if it is there."""
        try:
            self.filesystem().delete_file(self.path)
        except FileNotFoundError:
            return


class _RangedFile(RawIOBase):
    """A file in an object store: a read asks for that range of it, again where pyarrow does not.

    pyarrow repeats a request, but not one for fewer bytes than the error has that the store sends instead.
    """

    _file: Any = None

    def __init__(self, place: Place) -> None:
        try:
            self._file = place.filesystem().open_input_file(place.path)
        except FileNotFoundError:
            raise _missing(place) from None
        self._place = place

    @property
    def name(self) -> str:
        return self._place.url

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        place, left = self._file.tell(), _ATTEMPTS
        while True:
            left -= 1
            try:
                return bytes(self._file.read(None if size < 0 else size))
            except OSError:
                if not left:
                    raise
                self._file.seek(place)

    def readinto(self, buffer: Any) -> int:
        data = self.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def seek(self, offset: int, whence: int = 0) -> int:
        return int(self._file.seek(offset, whence))

    def tell(self) -> int:
        return int(self._file.tell())

    def close(self) -> None:
        super().close()
        # One that could not be opened is closed, too, when it is let go.
        if self._file is not None:
            self._file.close()

    def status(self) -> tuple[int, int]:
        info = self._place.info()
        if info.size is None:
            raise _missing(self._place)
        return info.size, self._place.changed_ns(info)


def _matches(names: Sequence[str], parts: Sequence[str]) -> bool:
    """Whether the names of folders and of what is in the last of them match the parts of a glob."""
    if not names or not parts:
        return not names and all(part == "**" for part in parts)
    hidden = names[0].startswith(".")
    if parts[0] == "**":
        return _matches(names, parts[1:]) or (not hidden and _matches(names[1:], parts))
    if not fnmatch.fnmatchcase(names[0], parts[0]) or (hidden and not parts[0].startswith(".")):
        return False
    return _matches(names[1:], parts[1:])


def is_there(info: FileInfo) -> bool:
    """Whether `Place.info` found a file or folder."""
    there: bool = info.type.name != "NotFound"
    return there


def _missing(place: Place) -> FileNotFoundError:
    return FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), place.url)


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
    """The place that a path or a URL names: ``file:`` with an absolute path, ``s3://`` or ``s3a://``.

    A path may be relative to the working folder, and is not taken apart: ``%20`` is three characters of it.
    ``%20`` in a ``file:`` URL is a space; the key behind ``s3://bucket/`` is taken as it is. Raises
    MsmqWireError for another scheme, saying what would be needed, and for a name that no store could hold.
    """
    if not text or "\0" in text:
        raise MsmqWireError(f"a file or folder needs a name, and {text!r} is none")
    found = _SCHEME.match(text)
    if found is None:
        return Place(_legible(os.path.abspath(text), text))
    scheme, rest = (found[1] or found[2]).lower(), text[found.end() :]
    if scheme == "file":
        host, slash, path = rest.partition("/") if found[1] else ("", "/", rest.lstrip("/"))
        if not slash or host.lower() not in ("", "localhost"):
            raise MsmqWireError(f"cannot use {_shown(text)}: a file: URL names no host, its path is absolute")
        return Place(_legible(os.path.normpath(unquote(f"/{path}", errors="surrogateescape")), text))
    if scheme in ("s3", "s3a"):
        return Place(_legible(f"s3://{_bucket_and_key(rest, text)}", text))
    needed = _NEEDED.get(scheme, "a mounted folder")
    raise MsmqWireError(
        f"cannot use {_shown(text)}: only paths and s3:// are reached; for {scheme}:// it takes {needed}"
    )


def _bucket_and_key(rest: str, text: str) -> str:
    bucket, _, key = rest.partition("/")
    if "@" in bucket or _SIGNED.search(key):
        # Not shown: it may be a secret.
        raise MsmqWireError(
            "cannot use a URL with credentials: give them in the environment, AWS_ACCESS_KEY_ID ..."
        )
    if _BUCKET.match(bucket) is None:
        raise MsmqWireError(f"cannot use {_shown(text)}: it names no bucket, as s3://bucket/key does")
    key = key.rstrip("/")
    if {"", ".", ".."} & set(key.split("/")) and key:
        raise MsmqWireError(f"cannot use {_shown(text)}: a part of its key is empty, '.' or '..'")
    return f"{bucket}/{key}" if key else bucket


def _legible(path: str, text: str) -> str:
    if path != path.encode("utf-8", "replace").decode():
        raise MsmqWireError(f"cannot use {_shown(text)}: its name is not UTF-8")
    return path


def _shown(text: str) -> str:
    return mask_url_secrets(text.encode("utf-8", "backslashreplace").decode())


class _Access(msgspec.Struct, frozen=True):
    """What the environment says of S3: a URL without a path, the region, whether requests are not signed."""

    endpoint: str | None
    region: str | None
    anonymous: bool


def _access() -> _Access:
    say = os.environ.get
    endpoint = (say("AWS_ENDPOINT_URL_S3") or say("AWS_ENDPOINT_URL") or "").rstrip("/") or None
    region = say("AWS_REGION") or say("AWS_DEFAULT_REGION") or (endpoint and "us-east-1")
    return _Access(endpoint, region, (say("AWS_SKIP_SIGNATURE") or "").lower() in ("1", "true", "yes"))


@lru_cache(maxsize=8)
def _s3(access: _Access) -> FileSystem:
    import pyarrow.fs as pafs

    more: dict[str, Any] = {}
    if access.endpoint is not None:
        url = urlsplit(access.endpoint)
        if url.scheme not in ("http", "https") or not url.netloc or url.path:
            shown = mask_url_secrets(access.endpoint)
            raise MsmqWireError(f"AWS_ENDPOINT_URL is as http://host:port, not {shown}")
        try:
            socket.getaddrinfo(url.hostname, None)
        except OSError as error:
            # What sends requests would ask again for minutes.
            shown, reason = mask_url_secrets(access.endpoint), reason_of(error)
            raise MsmqWireError(f"cannot find the host of AWS_ENDPOINT_URL, {shown}: {reason}") from None
        more = {"scheme": url.scheme, "endpoint_override": url.netloc}
    return pafs.S3FileSystem(
        region=access.region,
        anonymous=access.anonymous,
        retry_strategy=pafs.AwsStandardS3RetryStrategy(max_attempts=_ATTEMPTS),
        request_timeout=_PATIENCE,
        connect_timeout=_PATIENCE,
        **more,
    )
