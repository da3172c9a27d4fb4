"""``msmq-wire lab record``: runs a scenario and records its capture and the result of each step."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from msmq_wire.cli.options import Force, check_folder, check_output
from msmq_wire.cli.recording_folder import default_scenario
from msmq_wire.cli.reporting import print_error, print_note
from msmq_wire.errors import MsmqWireError
from msmq_wire.lab.recorder import files_of, record
from msmq_wire.output import make_folder
from msmq_wire.records.tree.value_text import count_text

_MOST_BYTES = 1 << 20


def record_scenario(
    folder: Annotated[
        str,
        typer.Argument(
            metavar="DIR", help="Where recording.json, capture.pcap, scenario.json go.", show_default=False
        ),
    ],
    scenario: Annotated[
        str | None,
        typer.Option(
            "--scenario",
            metavar="FILE",
            help="What is done, in JSON.",
            show_default="that of fixtures/record",
        ),
    ] = None,
    force: Force = False,
    seed: Annotated[
        int, typer.Option("--seed", metavar="N", help="Identifiers are drawn from this number.")
    ] = 0,
    seconds: Annotated[
        int | None,
        typer.Option(
            "--time",
            metavar="SECONDS",
            min=0,
            max=0x7FFF_FFFF,
            help="Seconds since 1970 at the start, in place of the clock of this computer.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Run a scenario on two lab queue managers and record it.

    The recording has the form of one made on Windows. An application on the host "own" sends to queues of the
    host "other", and reads them. capture.pcap has what crosses between the two: the binary protocol,
    RemoteRead and SRMP. recording.json has what the application was told: identifiers, times, statuses,
    digests of bodies. scenario.json is what was run. Time that would only be waited for is skipped. A line on
    standard error tells each step that a lab cannot do, and why.

    Exit status: 0 recorded; 1 the scenario is none or cannot be run, or a file cannot be read or written; 2
    bad usage, or a recording is there.

    Examples:

        msmq-wire lab record recorded

        msmq-wire lab record recorded --scenario mine.json --force
    """
    check_folder(folder, "DIR")
    begin = int(time.time()) if seconds is None else seconds
    try:
        data = default_scenario() if scenario is None else _read(scenario)
        for path in files_of(Path(folder), data):
            check_output(str(path), "DIR", force=force)
        make_folder(folder)
        made = record(Path(folder), data, begin=begin, seed=seed, force=force)
    except MsmqWireError as error:
        print_error(f"{scenario}: {error}" if scenario is not None else str(error))
        raise typer.Exit(1) from None
    except OSError as error:
        print_error(f"{error.filename or folder}: {error.strerror or error}")
        raise typer.Exit(1) from None
    for step in made.steps:
        if step.outcome == "skipped":
            print_note(f"{step.name} was skipped: {step.reason}")
    outcomes = Counter(step.outcome for step in made.steps)
    reported = ", ".join(f"{number} {outcome}" for outcome, number in outcomes.items())
    print(f"{count_text(len(made.steps), 'step')}: {reported}")


def _read(scenario: str) -> bytes:
    """The bytes of a scenario; of a file that is too large for one, as many as show that."""
    with open(scenario, "rb") as file:
        data = file.read(_MOST_BYTES + 1)
    if len(data) > _MOST_BYTES:
        raise MsmqWireError(f"larger than {_MOST_BYTES} bytes: no scenario")
    return data
