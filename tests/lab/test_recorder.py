"""A scenario recorded by the lab: the capture has what the application was told, and keeps the rules."""

from __future__ import annotations

import contextlib
import json
import socket
import time
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
import pytest

from msmq_wire.cli.recording_folder import default_scenario
from msmq_wire.detection import Judge
from msmq_wire.errors import MsmqWireError
from msmq_wire.lab import recorded_hosts, step_actions
from msmq_wire.lab.recorder import record
from msmq_wire.lab.recordings.recording import RecordedMessage, RecordedStep, Recording, read_recording
from msmq_wire.lab.recordings.scenario import Scenario, ScenarioQueue, Step, read_scenario
from msmq_wire.lab.step_actions import NEEDS_NOT_HERE
from msmq_wire.records.record import Record
from tests.lab.lab_scene import START, deviations_of, records_of
from tests.schemas import schema_of

SCHEMAS = Path(__file__).resolve().parents[2] / "docs" / "schema"
SCENARIO = read_scenario(default_scenario())
QUEUES = (
    ScenarioQueue(name="mine", host="own"),
    ScenarioQueue(name="new", host="own", exists=False),
    ScenarioQueue(name="theirs"),
    ScenarioQueue(name="missing", exists=False),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the one scenario."""
    made = tmp_path_factory.mktemp("recorded")
    record(made, default_scenario(), begin=START)
    return made


@pytest.fixture(scope="module")
def recording(folder: Path) -> Recording:
    return read_recording((folder / "recording.json").read_bytes())


@pytest.fixture(scope="module")
def records(folder: Path) -> list[Record]:
    return records_of(folder / "capture.pcap")


def recorded(tmp_path: Path, *steps: Step, **options: Any) -> list[RecordedStep]:
    """What came of steps by themselves."""
    scenario = Scenario(version=1, queues=QUEUES, steps=steps)
    return list(record(tmp_path, msgspec.json.encode(scenario), begin=START, **options).steps)


def seconds(text: str | None) -> float:
    assert text is not None
    return datetime.fromisoformat(text).timestamp()


def microseconds(text: str | None) -> int:
    assert text is not None
    return (datetime.fromisoformat(text) - datetime.fromtimestamp(0, UTC)) // timedelta(microseconds=1)


def done(recording: Recording, action: str) -> Iterator[tuple[Step, RecordedStep]]:
    """The steps with a deed that were done, and what came of them."""
    for step, reported in zip(SCENARIO.steps, recording.steps, strict=True):
        if reported.do == action and reported.outcome == "done":
            yield step, reported


def identifier(one: Record) -> str:
    user = one.packet.user_header
    return f"{user.source_queue_manager}\\{user.message_id}"


@pytest.mark.slow
def test_every_step_is_recorded_and_what_a_lab_has_not_is_skipped(recording: Recording) -> None:
    assert [(one.name, one.do) for one in recording.steps] == [(one.name, one.do) for one in SCENARIO.steps]
    skipped = {one.name: one.reason for one in recording.steps if one.outcome == "skipped"}
    assert skipped == {
        step.name: NEEDS_NOT_HERE[need]
        for step in SCENARIO.steps
        for need in step.needs
        if need in NEEDS_NOT_HERE
    }
    assert all((one.begun is None) is (one.outcome == "skipped") for one in recording.steps)


@pytest.mark.slow
def test_what_is_refused_is_what_the_scenario_says_will_be(recording: Recording) -> None:
    refused = {one.name: one.status for one in recording.steps if one.outcome == "refused"}
    not_found, exists, timeout = 0xC00E0003, 0xC00E0005, 0xC00E001B
    # A queue that is not there is not told of: [MS-MQQB] 3.1.7.15, SendInsecureNacks.
    assert refused == {
        "open-missing": not_found,
        "receive-from-an-empty-queue": timeout,
        "acknowledgment-7": timeout,
        "acknowledgment-8": timeout,
        "acknowledgment-9": timeout,
        "make-again": exists,
        "unmake-again": not_found,
    }


def test_what_was_sent_is_on_the_wire_in_its_step_as_the_application_said(
    recording: Recording, records: list[Record]
) -> None:
    own = str(recording.own.queue_manager)
    carried = {
        identifier(one): one
        for one in records
        if one.type == "user_message" and identifier(one).startswith(own)
    }
    expected: dict[str, tuple[RecordedMessage, RecordedStep]] = {}
    for step, reported in done(recording, "send"):
        if reported.remote and step.via == "binary" and step.commit and step.queue != "unreachable":
            expected.update({str(one.message_id): (one, reported) for one in reported.messages})
    assert set(carried) == set(expected)
    for name, (message, reported) in expected.items():
        one = carried[name]
        properties, user = one.packet.message_properties_header, one.packet.user_header
        assert properties.label.text.rstrip("\0") == message.label
        assert sha256(properties.message_body).hexdigest() == message.body_sha256
        assert properties.flags & 0x0F == message.acknowledge
        assert properties.application_tag == message.app_specific
        assert user.format_name("destination_queue") == reported.format_name
        assert user.format_name("admin_queue") == message.admin_queue
        assert user.format_name("response_queue") == message.response_queue
        assert (user.bit("jp"), user.bit("jn")) == (message.journal, message.dead_letter)
        assert one.time is not None
        # A step is told to the microsecond, and a float does not hold nanoseconds.
        assert microseconds(reported.begun) <= one.time // 1000 <= microseconds(reported.ended)
        assert int(seconds(reported.begun)) <= user.sent_time <= seconds(reported.ended)


def test_what_was_posted_is_on_the_wire_as_the_application_said(
    recording: Recording, records: list[Record]
) -> None:
    reported = next(one for step, one in done(recording, "send") if step.via == "http")
    (posted,) = [one.packet for one in records if one.type == "srmp_message"]
    (message,) = reported.messages
    assert (posted.message_id, posted.label) == (message.message_id, message.label)
    assert sha256(posted.body).hexdigest() == message.body_sha256
    assert f"DIRECT={posted.envelope.header.path.to}" == reported.format_name


def test_what_was_read_was_sent_before_and_has_the_same_content(recording: Recording) -> None:
    sent = {one.message_id: one for _, reported in done(recording, "send") for one in reported.messages}
    got = [
        one
        for action in ("peek", "receive", "move")
        for _, reported in done(recording, action)
        for one in reported.messages
        if not one.message_class
    ]
    assert len(got) >= 15
    for one in got:
        message = sent[one.message_id]
        shared = ("label", "body_sha256", "extension_sha256", "delivery", "acknowledge", "app_specific")
        assert [getattr(one, name) for name in shared] == [getattr(message, name) for name in shared]


def test_a_read_shows_what_its_step_says(recording: Recording) -> None:
    labels = {
        reported.name: reported.messages[0].label
        for action in ("peek", "receive", "move")
        for _, reported in done(recording, action)
        if reported.messages[0].label
    }
    assert {step.name: step.label for step in SCENARIO.steps if step.by == "lookup"}.items() <= labels.items()
    assert labels["receive-and-abort"] == labels["receive-after-the-abort"] == "transaction 2"
    assert labels["receive-from-poison"] == labels["move-to-poison"]
    assert labels["receive-from-the-journal"] == labels["receive-by-lookup"]
    assert labels["own-dead-letter"] == "nack reach time"
    assert labels["peek-first"] == "every property"


def test_the_application_gets_the_acknowledgments_that_it_asked_for(recording: Recording) -> None:
    sent = {one.message_id: one.label for _, reported in done(recording, "send") for one in reported.messages}
    reported = [
        one.messages[0] for _, one in done(recording, "receive") if one.name.startswith("acknowledgment")
    ]
    found = set()
    for one in reported:
        assert one.correlation_id is not None
        name = bytes.fromhex(one.correlation_id)
        number = int.from_bytes(name[16:], "little")
        found.add((sent[f"{recording.own.queue_manager}\\{number}"], one.message_class))
    assert found == {
        ("ack reach queue", 0x0002),
        ("nack transactional", 0x8009),
        ("nack express", 0x800A),
        ("nack receive time", 0xC002),
        ("nack reach time", 0x8002),
        ("ack receive", 0x4000),
    }


def test_nothing_that_the_application_does_with_its_own_queue_manager_is_on_the_wire(
    records: list[Record],
) -> None:
    calls = Counter(one.packet.interface for one in records if one.type == "rpc_call")
    assert set(calls) == {"RemoteRead"}
    methods = {one.packet.method for one in records if one.type == "rpc_call"}
    assert {
        "R_OpenQueue",
        "R_OpenQueueForMove",
        "R_CreateCursor",
        "R_StartReceive",
        "R_EndReceive",
        "R_QMEnlistRemoteTransaction",
        "R_StartTransactionalReceive",
        "R_EndTransactionalReceive",
        "R_MoveMessage",
        "R_PurgeQueue",
    } <= methods
    assert {"session_ack", "order_ack", "final_ack", "srmp_message"} <= {one.type for one in records}


@pytest.mark.slow
def test_the_capture_keeps_the_rules(folder: Path, records: list[Record]) -> None:
    assert deviations_of(folder / "capture.pcap") == []
    judge = Judge()
    findings = [one for record_ in records for one in judge.feed(record_)]
    findings += judge.finish()
    # Nobody is authenticated here; the rest is what the scenario does.
    assert {one.id for one in findings} == {
        "CNT-NACK",
        "MSG-REFUSED",
        "RPC-FAILED",
        "RPC-LEVEL",
        "RPC-READ",
        "RPC-PURGE",
    }


@pytest.mark.parametrize("name", ["recording", "scenario"])
def test_the_files_fit_their_schemas(folder: Path, name: str) -> None:
    data = default_scenario() if name == "scenario" else (folder / "recording.json").read_bytes()
    assert schema_of(name).faults(json.loads(data)) == []


def test_the_recording_names_its_scenario_its_hosts_and_its_capture(recording: Recording) -> None:
    assert recording.scenario_sha256 == sha256(default_scenario()).hexdigest()
    assert recording.other is not None
    assert (recording.own.name, recording.other.name) == ("own", "other")
    assert recording.capture == "capture.pcap"
    assert seconds(recording.begun) >= START
    steps = [one for one in recording.steps if one.begun is not None]
    times = [seconds(text) for one in steps for text in (one.begun, one.ended)]
    assert times == sorted(times)
    waits = sum(step.seconds for step in SCENARIO.steps)
    assert seconds(recording.ended) - seconds(recording.begun) > waits


def test_identifiers_are_those_of_the_seed(tmp_path: Path) -> None:
    step = Step(name="one", do="send", queue="theirs", label="one")
    names = [
        [one.message_id for one in recorded(tmp_path, step, seed=seed, force=True)[0].messages]
        for seed in (7, 7, 8)
    ]
    assert names[0] == names[1] != names[2]


def test_the_other_host_has_an_address_whose_ports_nobody_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    step = Step(name="one", do="send", queue="theirs", label="one")
    with socket.socket() as busy:
        # Where somebody else has it, it is as good.
        with contextlib.suppress(OSError):
            busy.bind(("127.0.0.2", 1801))
        recorded(tmp_path, step, force=True)
    made = read_recording((tmp_path / "recording.json").read_bytes())
    assert made.other is not None
    assert made.other.addresses != ("127.0.0.2",)
    (sent,) = [one for one in records_of(tmp_path / "capture.pcap") if one.type == "user_message"]
    assert sent.dst == f"{made.other.addresses[0]}:1801"
    # Not every system has more than one loopback address.
    monkeypatch.setattr(recorded_hosts, "_OTHER_ADDRESSES", ())
    (reported,) = recorded(tmp_path, step, force=True)
    (sent,) = [one for one in records_of(tmp_path / "capture.pcap") if one.type == "user_message"]
    assert (reported.messages[0].message_id, str(sent.dst)[:10]) == (identifier(sent), "127.0.0.1:")


def test_time_that_is_waited_for_is_in_the_recording_and_hardly_anywhere_else(tmp_path: Path) -> None:
    begun = time.monotonic()
    (reported,) = recorded(tmp_path, Step(name="wait", do="wait", seconds=120))
    assert seconds(reported.ended) - seconds(reported.begun) >= 120
    assert time.monotonic() - begun < 60


def test_an_application_uses_the_queues_of_its_own_host(tmp_path: Path) -> None:
    reported = recorded(
        tmp_path,
        Step(name="make", do="create", queue="new"),
        Step(name="make again", do="create", queue="new"),
        Step(name="send", do="send", queue="new", label="one", body="x", count=2),
        Step(name="peek", do="peek", queue="new"),
        Step(name="peek at a cursor", do="peek", queue="new", by="cursor"),
        Step(name="take at a cursor", do="receive", queue="new", by="cursor"),
        Step(name="journal", do="peek", queue="mine;journal"),
        Step(name="purge", do="purge", queue="new"),
        Step(name="take", do="receive", queue="new"),
        Step(name="unmake", do="delete", queue="new"),
        Step(name="unmake again", do="delete", queue="new"),
        Step(name="purge nothing", do="purge", queue="new"),
    )
    assert [(one.name, one.status, [message.label for message in one.messages]) for one in reported] == [
        ("make", 0, []),
        ("make again", 0xC00E0005, []),
        ("send", 0, ["one 1", "one 2"]),
        ("peek", 0, ["one 1"]),
        ("peek at a cursor", 0, ["one 1"]),
        ("take at a cursor", 0, ["one 1"]),
        ("journal", 0xC00E001B, []),
        ("purge", 0, []),
        ("take", 0xC00E001B, []),
        ("unmake", 0, []),
        ("unmake again", 0xC00E0003, []),
        ("purge nothing", 0xC00E0003, []),
    ]
    assert not any(one.remote for one in reported)


def test_what_is_not_there_is_refused_to_every_way_of_reading(tmp_path: Path) -> None:
    reported = recorded(
        tmp_path,
        Step(name="peek", do="peek", queue="theirs", label="none", by="lookup"),
        Step(name="receive", do="receive", queue="theirs", label="none", by="lookup"),
        Step(name="at a cursor", do="receive", queue="theirs", by="cursor", timeout=3),
        Step(name="move", do="move", queue="theirs", target="theirs;late"),
        Step(name="post", do="send", queue="theirs;journal", via="http"),
    )
    assert [one.outcome for one in reported] == ["refused"] * 5
    assert [one.status for one in reported[:4]] == [0xC00E001B] * 4
    assert seconds(reported[2].ended) - seconds(reported[2].begun) >= 3


@pytest.mark.rule("CMQSRM-3.1.7.2.2-1")
def test_a_message_that_is_posted_has_the_number_behind_that_of_the_one_before(tmp_path: Path) -> None:
    step = Step(name="post", do="send", queue="theirs", via="http", count=2)
    (reported,) = recorded(tmp_path, step)
    (source, first), (other, second) = (str(one.message_id).split("\\") for one in reported.messages)
    assert (other, int(second)) == (source, int(first) + 1)


def test_a_queue_that_is_not_there_is_refused_to_whatever_opens_it(tmp_path: Path) -> None:
    steps = [
        Step(name="receive", do="receive", queue="missing"),
        Step(name="purge", do="purge", queue="missing"),
        Step(name="move", do="move", queue="missing", target="missing;late"),
        Step(name="move there", do="move", queue="theirs", target="missing;late"),
        Step(name="receive here", do="receive", queue="new"),
    ]
    assert {one.status for one in recorded(tmp_path, *steps)} == {0xC00E0003}


def test_a_message_that_is_refused_leaves_those_before_it(tmp_path: Path) -> None:
    large = Step(name="large", do="send", queue="theirs", body="x", repeat=4 << 20)
    journal = Step(name="journal", do="send", queue="theirs;journal", delivery="transactional")
    reported = recorded(tmp_path, large, journal, Step(name="small", do="send", queue="theirs"))
    assert [one.outcome for one in reported] == ["refused", "refused", "done"]
    assert [len(one.messages) for one in reported] == [0, 0, 1]


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        (Step(name="", do="send", queue="theirs", authenticated=True), "the lab signs nothing"),
        (Step(name="", do="send", queue="theirs", encrypted=True), "the lab encrypts nothing"),
        (
            Step(name="", do="send", queue="theirs", via="http", time_to_reach_queue=1),
            "the lab does not send over HTTP with time_to_reach_queue",
        ),
        (
            Step(name="", do="send", queue="theirs", via="http", delivery="transactional"),
            "the lab does not send over HTTP with transactional",
        ),
        (Step(name="", do="purge", queue="theirs", timeout=1), "the lab does not purge with timeout"),
        (Step(name="", do="properties", queue="mine"), NEEDS_NOT_HERE["management"]),
        (Step(name="", do="create", queue="theirs"), "a private queue is made by its own computer"),
        (Step(name="", do="delete", queue="theirs"), "a private queue is deleted by its own computer"),
        (
            Step(name="", do="move", queue="mine", target="mine;late"),
            "an application of the lab moves nothing in queues of its own host",
        ),
        (
            Step(name="", do="receive", queue="mine", by="lookup"),
            "an application of the lab reads its own queues in their order, one by one",
        ),
    ],
)
def test_a_step_that_cannot_be_done_is_skipped_for_its_reason(
    tmp_path: Path, step: Step, reason: str
) -> None:
    (reported,) = recorded(tmp_path, step)
    assert (reported.outcome, reported.reason, reported.status, reported.messages) == (
        "skipped",
        reason,
        None,
        (),
    )


def test_what_an_application_must_not_ask_for_ends_the_run_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    step = Step(name="odd", do="send", queue="theirs")
    # No scenario can say it: there is no such bit.
    monkeypatch.setattr(step_actions, "acknowledge_of", lambda _: 0x10)
    with pytest.raises(MsmqWireError, match="step odd: properties that no server takes"):
        recorded(tmp_path, step)
    assert list(tmp_path.iterdir()) == []
