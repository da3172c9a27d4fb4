"""``msmq-wire spark run``: loads many captures into tables."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer
from msgspec.structs import replace

from msmq_wire.capture.listing import list_files
from msmq_wire.cli.options import Quiet, check_folder
from msmq_wire.cli.reporting import print_error, print_note
from msmq_wire.cli.spark_session import DriverMemory, Master, check_spark, running_session
from msmq_wire.errors import MsmqWireError
from msmq_wire.records.tree.value_text import count_text
from msmq_wire.spark.read_options import ReadOptions

if TYPE_CHECKING:
    from msmq_wire.spark.publishing import JobRun

_REASONS = 6


class CaptureScope(StrEnum):
    """What one capture is."""

    RING = "ring"
    PLACES = "places"
    FILE = "file"
    GROUP = "group"


class TableName(StrEnum):
    """The tables of the job."""

    PACKETS = "packets"
    MESSAGES = "messages"
    CALLS = "calls"
    SESSIONS = "sessions"
    LIVES = "lives"
    FINDINGS = "findings"
    ANOMALIES = "anomalies"
    ERRORS = "errors"


def run(
    output: Annotated[
        str,
        typer.Option(
            "--output", "-o", metavar="DIR", help="The folder, or URL, of the tables.", show_default=False
        ),
    ],
    more: Annotated[
        list[str] | None,
        typer.Argument(metavar="PATH...", help="More inputs, as a shell gives them.", show_default=False),
    ] = None,
    inputs: Annotated[
        list[str] | None,
        typer.Option(
            "--input",
            "-i",
            metavar="PATH",
            help="A capture, a folder of captures, or a pattern of both. May be repeated.",
            show_default=False,
        ),
    ] = None,
    scope: Annotated[
        CaptureScope,
        typer.Option(
            "--scope",
            help="ring: files that follow each other are a capture; places: those of the same traffic, too, "
            "for which all files are read beforehand; file: each is; group: all of a folder.",
        ),
    ] = CaptureScope.RING,
    tables: Annotated[
        list[TableName] | None,
        typer.Option(
            "--table",
            metavar="NAME",
            help=f"Fill only this table: {', '.join(TableName)}. May be repeated.",
            show_default="all but packets",
        ),
    ] = None,
    packets: Annotated[
        bool, typer.Option("--packets", help="Fill packets too: every frame with its bytes.")
    ] = False,
    pattern: Annotated[
        str | None,
        typer.Option(
            "--glob",
            metavar="PATTERN",
            help='Names of the files to read in folders, as "*"; by default those that end like a capture.',
            show_default=False,
        ),
    ] = None,
    recursive: Annotated[bool, typer.Option("--recursive", help="Read folders in folders too.")] = False,
    ports: Annotated[
        list[str] | None,
        typer.Option(
            "--port",
            metavar="N",
            help="Read only what goes to or from this TCP or UDP port. May be repeated.",
            show_default=False,
        ),
    ] = None,
    hosts: Annotated[
        list[str] | None,
        typer.Option(
            "--host",
            metavar="HOST",
            help="Read only what goes to or from this address or network. May be repeated.",
            show_default=False,
        ),
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(
            "--since",
            metavar="TIME",
            help="Read only frames from this time on, as 2026-01-31T12:00:00Z.",
            show_default=False,
        ),
    ] = None,
    until: Annotated[
        str | None,
        typer.Option(
            "--until", metavar="TIME", help="Read only frames before this time.", show_default=False
        ),
    ] = None,
    nt_password_file: Annotated[
        str | None,
        typer.Option(
            "--nt-password-file",
            metavar="FILE",
            help="Passwords that open sealed calls (NTLM), one a line.",
            show_default=False,
        ),
    ] = None,
    nt_hash_file: Annotated[
        str | None,
        typer.Option(
            "--nt-hash-file", metavar="FILE", help="NT hashes instead, one a line.", show_default=False
        ),
    ] = None,
    keytabs: Annotated[
        list[str] | None,
        typer.Option(
            "--keytab",
            metavar="FILE",
            help="Keys of servers that open sealed calls (Kerberos). May be repeated.",
            show_default=False,
        ),
    ] = None,
    rsa_keys: Annotated[
        list[str] | None,
        typer.Option(
            "--rsa-key",
            metavar="FILE",
            help="Private keys of queue managers that open encrypted bodies. May be repeated.",
            show_default=False,
        ),
    ] = None,
    rsa_key_password_file: Annotated[
        str | None,
        typer.Option(
            "--rsa-key-password-file",
            metavar="FILE",
            help="Passwords of these, one a line.",
            show_default=False,
        ),
    ] = None,
    again: Annotated[
        bool,
        typer.Option(
            "--again", "--force", help="Decode captures again that the tables hold, and replace their rows."
        ),
    ] = False,
    fail: Annotated[bool, typer.Option("--fail", help="End at the first file that cannot be read.")] = False,
    split_bytes: Annotated[
        str,
        typer.Option("--split-bytes", metavar="SIZE", help="Bytes of captures that one task reads."),
    ] = "64m",
    master: Master = None,
    driver_memory: DriverMemory = None,
    ui: Annotated[
        bool, typer.Option("--ui", help="Show what Spark does on a web page while it runs, here.")
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Decode captures into Parquet tables, every capture once.

    A capture is what is in it, whatever it is called: one that the tables hold is left alone, so the same
    command again reads only what is new. A run that was ended is gone on with, and two runs at once are no
    harm. Every table has a folder of its own in DIR, partitioned by day; it is read by its log, as by
    msmq-wire spark sql. Files that cannot be read are rows of the table errors.

    On a cluster captures, keys and DIR must be in folders that all machines have under the same name; see
    msmq-wire spark package.

    Exit status: 0 done; 1 no capture was found, one could not be read or was damaged (the tables are written
    all the same), DIR cannot be written or has tables of an older version, or Spark or Java is missing; 2 bad
    usage.

    Examples:

        msmq-wire spark run --input captures --output tables

        msmq-wire spark run captures/*.pcapng --output tables --since 2026-01-31T00:00:00Z

        msmq-wire spark run --input ring --output tables --master spark://host:7077
    """
    paths = [*(inputs or ()), *(more or ())]
    if not paths:
        raise typer.BadParameter("name at least one capture or folder", param_hint="--input")
    check_folder(output, "--output")
    options = _options(
        {
            "--input": ("paths", json.dumps(paths)),
            "--glob": ("glob", pattern),
            "--recursive": ("recursive", str(recursive)),
            "--scope": ("scope", scope.value),
            "--port": ("ports", ",".join(ports) if ports else None),
            "--host": ("hosts", ",".join(hosts) if hosts else None),
            "--since": ("since", since),
            "--until": ("until", until),
            "--fail": ("onError", "fail" if fail else "quarantine"),
            "--split-bytes": ("splitBytes", split_bytes),
            "--nt-password-file": ("ntPasswordFile", nt_password_file),
            "--nt-hash-file": ("ntHashFile", nt_hash_file),
            "--rsa-key-password-file": ("rsaKeyPasswordFile", rsa_key_password_file),
        },
        # A name may hold what separates names in a text.
        keytabs=tuple(keytabs or ()),
        rsa_keys=tuple(rsa_keys or ()),
    )
    wanted = set(tables or set(TableName) - {TableName.PACKETS})
    if packets:
        wanted.add(TableName.PACKETS)
    check_spark(master, driver_memory)
    _refuse_nothing(options)
    with running_session(master, driver_memory, quiet=quiet, ui=ui) as spark:
        from msmq_wire.spark.job import run_job
        from msmq_wire.spark.key_options import body_opener_of, negotiator_of

        # What is wrong with a key is told here, and not by a task.
        negotiator_of(options)
        body_opener_of(options)
        done = run_job(
            spark,
            output,
            options,
            tables=wanted,
            again=again,
            tell=_nothing if quiet else print_note,
            warn=lambda text: print_error(f"WARNING: {text}"),
        )
    for damage in done.damage:
        path, _, reason = damage.partition(": ")
        print_error(reason if path in reason else damage)
    if not quiet:
        print_note(_summary(done, output))
    raise typer.Exit(1 if done.damage else 0)


def _options(given: Mapping[str, tuple[str, str | None]], **lists: tuple[str, ...]) -> ReadOptions:
    """What is read. Raises typer.BadParameter, which names the option of the command line."""
    texts = {}
    for option, (name, text) in given.items():
        if text is None:
            continue
        texts[name] = text
        try:
            ReadOptions.of({name: text})
        except MsmqWireError as error:
            raise typer.BadParameter(str(error), param_hint=option) from None
    return replace(ReadOptions.of(texts), **lists)


def _refuse_nothing(options: ReadOptions) -> None:
    """End with status 1 where no input is there, before Spark is started for it."""
    listing = list_files(options.paths, pattern=options.glob, recursive=options.recursive)
    if any(file.error is None or os.path.lexists(file.path) for file in listing.files):
        return
    for file in listing.files:
        print_error(file.error or file.path)
    if not listing.files:
        left_out = count_text(listing.left_out, "file")
        more = f'; {left_out} there not named like one: --glob "*" reads all' if listing.left_out else ""
        deeper = "" if options.recursive else "; --recursive looks deeper"
        print_error(f"no capture in {', '.join(options.paths)}{more}{deeper}")
    raise typer.Exit(1)


def _summary(done: JobRun, output: str) -> str:
    """What a run did, in one line."""
    parts = [f"{count_text(done.captures, 'capture')} decoded"]
    if done.unchanged:
        parts[0] += f", {done.unchanged} there already"
    if done.left_out:
        parts[0] += f", {count_text(done.left_out, 'other file')} left out"
    skipped = sum(done.skipped.values())
    if done.captures:
        text = f"{count_text(done.frames, 'frame')} read, {done.understood} understood, {skipped} skipped"
        parts.append(f"{text} ({_most(done.skipped)})" if skipped else text)
        parts.append("rows: " + ", ".join(f"{count} {table}" for table, count in done.rows.items()))
    parts.append(f"tables in {output}")
    return "; ".join(parts)


def _most(counts: Mapping[str, int]) -> str:
    shown = sorted(counts.items(), key=lambda one: -one[1])
    text = ", ".join(f"{count} {reason}" for reason, count in shown[:_REASONS])
    rest = sum(count for _, count in shown[_REASONS:])
    return f"{text}, {rest} other" if rest else text


def _nothing(text: str) -> None:
    """Where no progress is wanted."""
