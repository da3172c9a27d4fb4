"""``msmq-wire suricata rules``: writes a Suricata rule file for the findings that one packet shows."""

from __future__ import annotations

from typing import Annotated

import typer

from msmq_wire.cli.options import Force, Quiet, check_output
from msmq_wire.cli.reporting import print_error, print_note
from msmq_wire.detection.suricata_rules import FIRST_SID, rendered, rule_file
from msmq_wire.errors import MsmqWireError
from msmq_wire.output import whole_file
from msmq_wire.records.tree.value_text import count_text


def rules(
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="The file to write; without it standard output.",
            show_default=False,
        ),
    ] = None,
    force: Force = False,
    sid_base: Annotated[
        int,
        typer.Option(
            "--sid-base", metavar="N", help="The sid before the first; 1000 are taken from there on."
        ),
    ] = FIRST_SID,
    pages: Annotated[
        str,
        typer.Option(
            "--pages",
            metavar="URL",
            help="Where this documentation is on the web: each rule then refers to the page of its finding.",
            show_default=False,
        ),
    ] = "",
    sightings: Annotated[
        bool,
        typer.Option(
            "--sightings",
            help="Also turn on the rules that only say who uses what: sessions, interfaces, HTTP.",
        ),
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Write detection rules for Suricata.

    A rule is written for each finding that one packet decides. They run in Suricata 7.0 and newer, without
    Lua. The sid of a rule never changes, its metadata has the id of the finding, and its references are the
    CVEs of which a public source gives the condition. What needs a whole session, or a field without a fixed
    place, has no rule: the documentation lists which, and why.

    Exit status: 0 done; 1 FILE cannot be written; 2 bad usage, or FILE is there.

    Examples:

        msmq-wire suricata rules -o msmq.rules

        suricata -S msmq.rules -r capture.pcap
    """
    try:
        text = rule_file(sid_base, pages, sightings=sightings)
    except MsmqWireError as error:
        raise typer.BadParameter(str(error)) from None
    if output is None:
        print(text, end="")
        return
    check_output(output, "--output", force=force)
    try:
        with whole_file(output, force=force) as file:
            file.write(text.encode())
    except OSError as error:
        print_error(f"cannot write {output}: {error.strerror or error}")
        raise typer.Exit(1) from None
    if not quiet:
        lines = list(rendered(sightings=sightings))
        off = sum(one.off for one in lines)
        print_note(f"{count_text(len(lines) - off, 'rule')} on, {off} off")
