"""``msmq-wire spark forget``: removes captures from the tables."""

from __future__ import annotations

from typing import Annotated

import typer

from msmq_wire.cli.options import Quiet
from msmq_wire.cli.reporting import print_note
from msmq_wire.cli.store_options import TablesFolder, opened_store
from msmq_wire.records.tree.value_text import count_text


def forget(
    captures: Annotated[
        list[str],
        typer.Argument(
            metavar="CAPTURE...",
            help="Its name in the tables, or the first digits of its digest, at least eight.",
            show_default=False,
        ),
    ],
    tables: TablesFolder,
    quiet: Quiet = False,
) -> None:
    """Remove captures from all tables.

    Their rows go, and the note that their files were seen. All captures stop to count at once, or none where
    one is not known; then their rows are deleted. Files that other captures share are written anew. The old
    files stay for who still reads them, until msmq-wire spark vacuum deletes them: forgetting alone takes no
    secret off the disk. A later run that finds such a file decodes it again. Runs may go on meanwhile. Spark
    is not started.

    SELECT capture, digest FROM captures names what there is.

    Exit status: 0 done; 1 a CAPTURE is not there or is several, DIR holds no tables or cannot be written, or
    the extra spark is not installed; 2 bad usage.

    Examples:

        msmq-wire spark forget /captures/monday.pcap --tables tables

        msmq-wire spark forget 9f86d081884c7d65 --tables tables
    """
    with opened_store(tables) as store:
        from msmq_wire.tables.store.upkeep import forget as take_out

        names = take_out(store, captures)
    if not quiet:
        print_note(f"{count_text(len(names), 'capture')} forgotten: {', '.join(names)}")
