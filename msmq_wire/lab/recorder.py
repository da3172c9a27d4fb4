"""`record`: a scenario on two queue managers of the lab, its capture, and what the application was told."""

from __future__ import annotations

import asyncio
import selectors
import tempfile
import time
from collections.abc import Mapping
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any

from msmq_wire.capture.conversation_writer import CaptureWriter
from msmq_wire.errors import MsmqWireError
from msmq_wire.lab.recorded_hosts import OTHER, OWN, RecordedHosts
from msmq_wire.lab.recordings.recording import RecordedStep, Recording, write_recording
from msmq_wire.lab.recordings.scenario import Step, read_scenario
from msmq_wire.lab.step_actions import STEP_ACTIONS, unsupported
from msmq_wire.output import whole_file
from msmq_wire.rpc.statuses import Status

_RECORDING, _CAPTURE, _SCENARIO = "recording.json", "capture.pcap", "scenario.json"

_BETWEEN = 0.01
"""Seconds between steps, so that none begins when another ends."""
_AFTER = 0.1
"""Seconds in which what a step has caused is done, before it counts as ended."""

_GRACE = 0.01
"""Seconds in which what was sent over loopback arrives, on a busy machine, too."""


def files_of(folder: Path, scenario: bytes) -> list[Path]:
    """What a recording of a scenario writes into a folder: not the scenario, where that is there already."""
    copy = folder / _SCENARIO
    there = copy.is_file() and copy.read_bytes() == scenario
    return [folder / _RECORDING, folder / _CAPTURE, *([] if there else [copy])]


def record(folder: Path, scenario: bytes, *, begin: int, seed: int = 0, force: bool = False) -> Recording:
    """Run a scenario, given as JSON; write its capture and its recording into ``folder``, and it beside them.

    It begins at ``begin``, in seconds since 1970; identifiers are drawn from ``seed``. Raises `MsmqWireError`
    for what is no scenario, or cannot be asked for, and where ports cannot be served; OSError where a file
    cannot be written.
    """
    # What is in the folder stays as it is until all of the scenario was run.
    with tempfile.TemporaryDirectory(prefix=".msmq-wire-", dir=folder) as work:
        captured = Path(work, _CAPTURE)
        with asyncio.Runner(loop_factory=SkippingLoop) as runner:
            made = runner.run(_record(captured, scenario, begin=begin, seed=seed))
        contents = {
            _CAPTURE: captured.read_bytes(),
            _RECORDING: write_recording(made),
            _SCENARIO: scenario,
        }
    for path in files_of(folder, scenario):
        with whole_file(path, force=force) as file:
            file.write(contents[path.name])
    return made


async def _record(capture: Path, data: bytes, *, begin: int, seed: int) -> Recording:
    scenario = read_scenario(data)
    hosts = RecordedHosts(scenario, begin=begin, seed=seed)
    with CaptureWriter(capture, clock=hosts.now) as writer:
        async with hosts:
            await hosts.start(writer)
            begun = hosts.moment()
            steps = [await _done(hosts, step) for step in scenario.steps]
            ended = hosts.moment()
            own, other = hosts.described(OWN), hosts.described(OTHER)
    return Recording(
        version=1,
        made_by=f"msmq-wire {version('msmq-wire')} lab record",
        scenario_sha256=sha256(data).hexdigest(),
        own=own,
        other=other,
        begun=begun,
        ended=ended,
        capture=_CAPTURE,
        steps=tuple(steps),
    )


async def _done(hosts: RecordedHosts, step: Step) -> RecordedStep:
    """Do a step, or say why it cannot be done."""
    reason = unsupported(hosts, step)
    if reason is not None:
        return RecordedStep(name=step.name, do=step.do, outcome="skipped", reason=reason)
    await hosts.pass_time(_BETWEEN)
    begun = hosts.moment()
    try:
        outcome = await STEP_ACTIONS[step.do](hosts, step)
    except ValueError as error:
        # What an application must not ask for.
        raise MsmqWireError(f"step {step.name}: {error}") from error
    await hosts.pass_time(_AFTER)
    return RecordedStep(
        name=step.name,
        do=step.do,
        outcome="done" if outcome.status == Status.MQ_OK else "refused",
        status=outcome.status,
        format_name=hosts.opened_name(step),
        remote=bool(step.queue) and hosts.is_remote(step.queue),
        begun=begun,
        ended=hosts.moment(),
        messages=outcome.messages,
    )


class _Waiting(selectors.BaseSelector):
    """A selector that waits for a moment only where the loop would wait for a time.

    ``now`` stands still while the loop does what is due, so that all of it happens at one time.
    """

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._skipped = 0.0
        self.now = time.monotonic()

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Wait for what comes; where nothing does, the rest of ``timeout`` is over at once."""
        if timeout is None or timeout <= _GRACE:
            events = self._selector.select(timeout)
        else:
            begun = time.monotonic()
            events = self._selector.select(_GRACE)
            while not events and time.monotonic() - begun > 2 * _GRACE:
                # The machine stood still, and what was sent meanwhile has to arrive yet.
                begun = time.monotonic()
                events = self._selector.select(_GRACE)
            if not events:
                self._skipped += timeout - _GRACE
        self.now = max(self.now, time.monotonic() + self._skipped)
        return events

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        """Watch a file."""
        return self._selector.register(fileobj, events, data)

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        """Watch it no more."""
        return self._selector.unregister(fileobj)

    def modify(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        """Watch it for something else."""
        return self._selector.modify(fileobj, events, data)

    def get_map(self) -> Mapping[Any, selectors.SelectorKey]:
        """What is watched."""
        return self._selector.get_map()

    def close(self) -> None:
        """Watch nothing any more."""
        self._selector.close()


class SkippingLoop(asyncio.SelectorEventLoop):
    """An event loop for runs in one process, over loopback: a minute of waiting takes a few milliseconds.

    Time jumps only to what the loop waits for next, and where nothing has come meanwhile. Everything that
    takes its time from the loop agrees on how late it is, also across several queue managers.
    """

    def __init__(self) -> None:
        self._waiting = _Waiting()
        super().__init__(self._waiting)

    def time(self) -> float:
        """The time of the loop in seconds, since any moment."""
        return self._waiting.now
