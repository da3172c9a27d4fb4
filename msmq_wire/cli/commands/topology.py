"""``msmq-wire topology``: makes a topology file from directory calls, for route and route-audit."""

from __future__ import annotations

import typer

from msmq_wire.cli.options import CaptureFiles
from msmq_wire.cli.reading_options import BODY_KEYS, ReadingOptions, with_reading_options
from msmq_wire.cli.reporting import print_error, print_note
from msmq_wire.errors import TopologyError
from msmq_wire.records.tree.value_text import count_text
from msmq_wire.routing.topology_calls import DirectoryCalls
from msmq_wire.routing.topology_text import topology_text

_MOST_NOTES = 6


@with_reading_options(but=(*BODY_KEYS, "queues", "redact", "utc", "local", "timezone", "color"))
def topology(files: CaptureFiles, *, options: ReadingOptions) -> None:
    """Write the sites and links that directory calls reveal.

    What servers of dscomm answered about sites, routing links, queue managers and connected networks, and
    what clients set, is written as TOML that route and route-audit read, each object behind the frames that
    told of it. What was told last counts. What is left out, and why, is told on standard error: objects
    without an identifier, and references to what nobody told of. Captures that are named together are one
    enterprise. Sealed calls are read with keys.

    Exit status: 0 done; 1 a FILE could not be read, was damaged or held no MSMQ traffic, or nothing in them
    tells of an enterprise; 2 bad usage.

    Examples:

        msmq-wire topology capture.pcapng > enterprise.toml

        msmq-wire topology *.pcap --keytab server.keytab > enterprise.toml
    """
    reading = options.reading(files, options.redactor())
    calls = DirectoryCalls()
    for record in reading:
        calls.take(record)
    status = 0
    try:
        learnt, places = calls.topology()
    except TopologyError as error:
        print_error(str(error))
        raise typer.Exit(1) from None
    objects = len(learnt.queue_managers) + len(learnt.sites) + len(learnt.routing_links)
    if objects:
        print(topology_text(learnt, {key: f"Told in {place}." for key, place in places.items()}))
    else:
        print_error("no call in there tells of sites, routing links or queue managers")
        status = 1
    if not options.quiet:
        for note in learnt.notes[:_MOST_NOTES]:
            print_note(note)
        if len(learnt.notes) > _MOST_NOTES:
            print_note(f"and {len(learnt.notes) - _MOST_NOTES} more")
    reported = (
        count_text(len(learnt.sites), "site"),
        count_text(len(learnt.routing_links), "routing link"),
        count_text(len(learnt.queue_managers), "queue manager"),
    )
    reading.print_summary(f"{', '.join(reported)}, told of by {count_text(calls.calls, 'call')}")
    raise typer.Exit(reading.status or status)
