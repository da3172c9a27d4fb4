"""`Scenario`: what an application does with Message Queuing, step by step, on Windows or in the lab.

The rule kept here: a step names what an application asks for, in words of the documents; how a host does it
is the business of who runs it. ``fixtures/record/scenario.json`` is the one scenario.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from msmq_wire.errors import MsmqWireError

__all__ = ["Acknowledge", "Deed", "Need", "Scenario", "ScenarioQueue", "Step", "read_scenario"]

Deed = Literal["send", "peek", "receive", "purge", "move", "wait", "properties", "create", "delete"]
"""What a step does with its queue; ``wait`` lets time pass."""

Need = Literal["other-host", "http", "domain", "management"]
"""What a step cannot be done without; where it is missing the step is recorded as skipped."""

Acknowledge = Literal["reach-queue", "receive", "nack-reach-queue", "nack-receive"]


class ScenarioQueue(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A private queue of the scenario: ``private$\\msmqwire_<name>``.

    ``host`` says whose it is: of the host that runs the scenario, of the other one, or of one that nobody
    can reach. A queue with ``exists`` false is named in messages and never created.
    """

    name: str
    host: Literal["own", "other", "nowhere"] = "other"
    transactional: bool = False
    journal: bool = False
    exists: bool = True


class Step(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One thing that the application does.

    ``queue`` is the name of a queue, with ``;journal``, ``;deadletter``, ``;xactdeadletter`` or a subqueue
    behind it where that is meant; with no name before that it is a queue of the system of the own host, which
    always exists. ``target`` is where a ``move`` puts the message. Times are seconds.
    """

    name: str
    do: Deed
    queue: str = ""
    why: str = ""
    needs: tuple[Need, ...] = ()

    # send
    label: str = ""
    body: str = ""
    repeat: int = 1
    """How often the body is repeated."""
    count: int = 1
    """How many messages, each with its number behind the label; in one transaction where there is one."""
    delivery: Literal["express", "recoverable", "transactional"] = "express"
    via: Literal["binary", "http"] = "binary"
    priority: int = 3
    app_specific: int = 0
    correlation_id: str = ""
    """Forty hexadecimal digits."""
    extension: str = ""
    acknowledge: tuple[Acknowledge, ...] = ()
    admin_queue: str = ""
    response_queue: str = ""
    time_to_reach_queue: int | None = None
    time_to_be_received: int | None = None
    journal: bool = False
    dead_letter: bool = False
    authenticated: bool = False
    encrypted: bool = False
    commit: bool = True
    """Whether the transaction of a send or a receive is committed; else it is aborted."""

    # peek, receive, move
    by: Literal["first", "cursor", "lookup"] = "first"
    """``cursor``: with a cursor of its own; ``lookup``: by the LookupId of the message with ``label``."""
    transaction: bool = False
    timeout: int = 0
    target: str = ""

    # wait
    seconds: int = 0


class Scenario(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The queues and the steps, in order."""

    version: Literal[1]
    queues: tuple[ScenarioQueue, ...]
    steps: tuple[Step, ...]

    def queue(self, name: str) -> ScenarioQueue:
        """The queue that a step names, whatever stands behind its name.

        Raises:
            KeyError: the scenario has no such queue.
        """
        wanted = name.partition(";")[0]
        if not wanted:
            return ScenarioQueue(name="", host="own")
        for queue in self.queues:
            if queue.name == wanted:
                return queue
        raise KeyError(name)


def read_scenario(data: bytes) -> Scenario:
    """Read a scenario from JSON.

    Raises:
        MsmqWireError: it is not one.
    """
    try:
        return msgspec.json.decode(data, type=Scenario)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise MsmqWireError(f"not a scenario: {error}") from None
