"""Captures that land in a folder, into tables: Spark's own source of files, and the job for each batch.

The rule kept here: Spark keeps which names a stream has seen, the tables keep which captures they hold. So a
batch that is run again changes nothing.
"""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from msmq_wire.capture.listing import is_capture_name
from msmq_wire.capture.places import place_of
from msmq_wire.errors import MsmqWireError
from msmq_wire.spark.job import DEFAULT_TABLES, run_job
from msmq_wire.spark.read_options import ReadOptions

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamWriter

_FILES = "path string, modificationTime timestamp, length bigint, content binary"
"""What the source must be asked for; as only the path is selected, it opens no file."""
_EVER = "36500d"
"""Spark leaves out what is a week older than the latest file unless it is told another age."""
_QUOTED = str.maketrans({one: f"\\{one}" for one in "\\[]{}*?"})
"""Characters that Hadoop would take for a pattern."""


def stream_job(
    spark: SparkSession,
    folder: str,
    output: str,
    options: ReadOptions | None = None,
    *,
    tables: Iterable[str] = DEFAULT_TABLES,
    **source: Any,
) -> DataStreamWriter:
    """Fill the tables below ``output`` with every capture that lands in ``folder``, by `run_job`.

    ``folder`` is a path, a URL or a glob that Spark can list. ``source`` are options of Spark's source of
    files, as ``maxFilesPerTrigger=100``. Names are those that ``options`` take (``glob``, ``recursive``); the
    paths in them do not count. Give the result a ``checkpointLocation`` and a trigger, and start it. A file
    that cannot be read is a row of ``errors``; what `run_job` raises ends the query. Raises MsmqWireError
    with scope ``group`` or ``places``, and what Spark raises where the folder is not there.
    """
    options = options or ReadOptions()
    if options.scope in ("group", "places"):
        raise MsmqWireError(
            f"a stream never has a whole folder: the option scope is ring or file, not {options.scope}"
        )
    place = place_of(folder)
    # Hadoop has names of its own for stores.
    path = place.path if place.is_local else folder
    if place.is_local and os.path.lexists(path):
        path = path.translate(_QUOTED)
    read = spark.readStream.format("binaryFile").schema(_FILES).option("maxFileAge", _EVER)
    # Otherwise folders named as day=1 are columns, and others beside them an error.
    files = read.option("recursiveFileLookup", True).options(**source).load(path)
    batch = partial(
        _run_batch,
        output=place_of(output).url,
        options=options,
        tables=tuple(tables),
        depth=path.rstrip("/").count("/") + 1,
    )
    return files.select("path").writeStream.foreachBatch(batch)


def _run_batch(
    files: DataFrame, number: int, *, output: str, options: ReadOptions, tables: tuple[str, ...], depth: int
) -> None:
    """Run the job on the files of a batch; on Spark Connect the server does that, from a copy of this."""
    found = (row.path for row in files.collect())
    # Nothing in such a name is quoted.
    paths = tuple(path.removeprefix("file:") for path in found if _is_wanted(path, options, depth))
    if paths:
        run_job(files.sparkSession, output, replace(options, paths=paths), tables=tables)


def _is_wanted(path: str, options: ReadOptions, depth: int) -> bool:
    name = path.rpartition("/")[2]
    named = is_capture_name(name) if options.glob is None else fnmatch.fnmatchcase(name, options.glob)
    return named and (options.recursive or path.count("/") <= depth)
