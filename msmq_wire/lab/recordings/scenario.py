"""`Scenario`: what an application does with Message Queuing, step by step, on Windows or in the lab.

The rule kept here: a step names what an application asks for, in words of the documents; how a host does it
is the business of who runs it. ``fixtures/record/scenario.json`` is the one scenario.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

import msgspec

from msmq_wire.errors import MsmqWireError

StepAction = Literal["send", "peek", "receive", "purge", "move", "wait", "properties", "create", "delete"]
"""What a step does with its queue; ``wait`` lets time pass."""

Need = Literal["other-host", "http", "domain", "management"]
"""What a step cannot be done without; where it is missing the step is recorded as skipped."""

Acknowledge = Literal["reach-queue", "receive", "nack-reach-queue", "nack-receive"]

_Seconds: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=0xFFFF_FFFE)]
_Waited: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=3600)]
_LONGEST_LABEL = 249
_LARGEST_BODY = 4 << 20
"""No message is longer. [MS-MQMQ] 2.2.19.1"""


class ScenarioQueue(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A private queue of the scenario: ``private$\\msmqwire_<name>``.

    ``host`` says whose it is: of the host that runs the scenario, of the other one, or of one that nobody
    can reach. A queue with ``exists`` false is not there until a step creates it.
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
    do: StepAction
    queue: str = ""
    why: str = ""
    needs: tuple[Need, ...] = ()

    # send
    label: Annotated[str, msgspec.Meta(max_length=_LONGEST_LABEL)] = ""
    body: str = ""
    repeat: Annotated[int, msgspec.Meta(ge=1, le=_LARGEST_BODY)] = 1
    """How often the body is repeated."""
    count: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 1
    """How many messages, each with its number behind the label; in one transaction where there is one."""
    delivery: Literal["express", "recoverable", "transactional"] = "express"
    via: Literal["binary", "http"] = "binary"
    priority: Annotated[int, msgspec.Meta(ge=0, le=7)] = 3
    app_specific: Annotated[int, msgspec.Meta(ge=0, le=0xFFFF_FFFF)] = 0
    correlation_id: Annotated[str, msgspec.Meta(pattern="^([0-9a-f]{40})?$")] = ""
    """Forty hexadecimal digits."""
    extension: str = ""
    acknowledge: tuple[Acknowledge, ...] = ()
    admin_queue: str = ""
    response_queue: str = ""
    time_to_reach_queue: _Seconds | None = None
    time_to_be_received: _Seconds | None = None
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
    timeout: _Waited = 0
    target: str = ""

    # wait
    seconds: _Waited = 0


class Scenario(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The queues and the steps, in order."""

    version: Literal[1]
    queues: tuple[ScenarioQueue, ...]
    steps: tuple[Step, ...]

    def __post_init__(self) -> None:
        for kind, names in (
            ("queues", [one.name for one in self.queues]),
            ("steps", [one.name for one in self.steps]),
        ):
            if len(set(names)) < len(names):
                raise ValueError(f"two {kind} have one name")
        for step in self.steps:
            if len(step.body.encode("utf-8", "replace")) * step.repeat > _LARGEST_BODY:
                raise ValueError(f"step {step.name} has a body of more than {_LARGEST_BODY} bytes")
            for name in (step.queue, step.target, step.admin_queue, step.response_queue):
                try:
                    self.queue(name)
                except KeyError:
                    raise ValueError(f"step {step.name} names the queue {name}, which is not there") from None

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
