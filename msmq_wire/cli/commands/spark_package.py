"""``msmq-wire spark package``: writes the two files that spark-submit needs."""

from __future__ import annotations

import shlex
from typing import Annotated

import typer

from msmq_wire.cli.options import Force, Quiet, check_folder, check_output
from msmq_wire.cli.render.safe_text import escaped
from msmq_wire.cli.reporting import print_error, print_note
from msmq_wire.errors import MsmqWireError
from msmq_wire.spark.packaging import older_files, write_package


def package(
    to: Annotated[
        str, typer.Option("--to", metavar="DIR", help="The folder to write to.", show_default=False)
    ],
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Write the files that spark-submit needs.

    These are this package as msmq_wire.zip, and msmq_wire_job.py, which runs it. The program takes what
    msmq-wire spark takes. What must be installed on the machines of the cluster: construct, msgspec,
    numpy, pandas and pyarrow, for captures with zstd backports.zstd, and for sealed calls cryptography; typer
    and rich too where the driver runs. Other files of these names are replaced with --force only.

    Exit status: 0 done; 1 DIR cannot be written; 2 bad usage, or a file of these names is there.

    Examples:

        msmq-wire spark package --to job

        spark-submit --py-files job/msmq_wire.zip job/msmq_wire_job.py run -i captures -o tables
    """
    check_folder(to, "--to")
    for path in older_files(to):
        check_output(str(path), "--to", force=force)
    try:
        archive, launcher = write_package(to, force=force)
    except MsmqWireError as error:
        print_error(str(error))
        raise typer.Exit(1) from None
    for path in (archive, launcher):
        print(escaped(str(path)))
    if not quiet:
        names = [shlex.quote(str(path)) for path in (archive, launcher)]
        print_note(f"spark-submit --py-files {names[0]} {names[1]} run --input CAPTURES --output TABLES")
