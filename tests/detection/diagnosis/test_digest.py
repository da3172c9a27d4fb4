"""The digest: its first line names the cause, it tells nothing twice, and is quiet where nothing is wrong."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from fixtures.build_frames import pcap
from fixtures.build_sessions import Script, Step
from msmq_wire.capture.reader import read_capture
from msmq_wire.detection import RULES, Evidence, Finding, Judge
from msmq_wire.detection.diagnosis import Answer, Diagnosis, Digest, diagnosis_needs
from msmq_wire.detection.diagnosis.answer import AnswerBuilder
from msmq_wire.detection.diagnosis.delivery_failures import REMEDIES
from msmq_wire.detection.diagnosis.digest import MOST_LINES, digest_of
from msmq_wire.detection.diagnosis.failed_connections import add_failed_connections
from msmq_wire.detection.diagnosis.phrases import Phrases
from msmq_wire.detection.folding import Fold
from msmq_wire.records.record import Record
from msmq_wire.sessions import NACK_REASONS
from tests.effort import in_batches
from tests.sessions.tape import Tape

FIXTURES = Path(__file__).parents[3] / "fixtures"
CAPTURES = sorted(path for path in FIXTURES.rglob("*.pcap*") if path.suffix in (".pcap", ".pcapng"))
CLEAN = [path for path in CAPTURES if path.name.startswith("clean_")]

EXPECTED = tomllib.loads((FIXTURES / "digest" / "expected.toml").read_text(encoding="utf-8"))
"""What the first line has to say, written from the scenarios and apart from the code; its head says how it is
read."""
_REASONS = {
    "the rule lowers its severity in this capture, and says why": """
        diagnose/q06_cloned diagnose/q09_pending diagnose/q12_gap findings/FPR-SAMPLE/hit_request
        findings/FRM-SIG/hit_first_bytes findings/LEN-CMP/hit_stored_disagrees
        findings/RPC-ANON/hit_refused findings/RPC-OLD/hit_refused
        findings/SES-NAKED/hit_captured_in_another_order findings/SRM-ID/hit_no_guid
        findings/SRM-ID/hit_other_source findings/TXN-GAP/hit_capture_ends
        findings/TXN-GAP/hit_lost_frames""",
    "from another network the rule raises its severity": "findings/BOD-BINFMT/hit_outside",
    "what is info is no line; that nobody acknowledged the message is one": """
        findings/FLG-RC/hit_direct_name findings/FRM-PAD-DIRTY/hit_queue_name""",
    "a note of a capture that begins late: the messages may be from before it": "findings/TXN-ACK/hit_final",
    "another rule tells of the same bytes, and says more of them": """
        findings/FRM-OVERLAP/hit_transaction_header findings/FRM-WRAP32/miss_large""",
    "another rule, which the scenario does not name, is broken there": """
        diagnose/q09_remote_read findings/FLG-AH-WIRE/miss_remote_read findings/FPR-ZGRAB/miss_direct
        findings/RPC-SEC-SIZE/miss_no_padding
        findings/RPC-SEC-SIZE/miss_padding findings/SES-PARM/miss_limits
        findings/FLG-BASE-RSV/miss_defined_bits findings/FRM-SIZE-STREAM/miss_session_header
        findings/FRM-SIZE-STREAM/miss_wrong_signature findings/RPC-FAILED/miss_read
        findings/RPC-PENDING/hit_cut_short findings/SES-COUNT/hit_recoverable""",
    "a session that did not open, a message whose queue was purged, a receive that nothing ended, a purge "
    "that was tried: the scenario does not name them": """
        findings/PNG-GUID/miss_same findings/TXN-ACK/miss_acknowledged findings/RPL-TWICE/miss_closed
        findings/RPL-PURGE/miss_refused""",
    "to ask for a port is open to everybody, [MS-MQMP] 5.1": "findings/RPC-LEVEL/miss_port",
    "the line names the method that was called": "findings/RPL-END/miss_before",
    "the capture ends in the moment of the request": "findings/SES-REFUSED/miss_unanswered",
    "who may read or purge a queue no capture says: it is medium, and not high": """
        digest/payroll_purged findings/RPC-RARE/hit_stranger""",
    "what the capture lacks stands first, and what is known all the same behind it": """
        findings/FRM-TRUNC/hit_snap_length findings/LEN-BODY/miss_cut findings/LEN-ENV/miss_cut
        findings/LEN-LABEL/miss_cut findings/SES-NAKED/hit_lost_frames""",
    "the one message that nothing acknowledges stands first, and those that wait behind it": """
        diagnose/q14_kept findings/MSG-WAITS/hit_kept""",
    "that nobody acknowledged the messages stands first, and the clock behind it": """
        findings/TIM-EXPIRED/miss_slow_clock findings/TIM-SKEW/hit_slow_clock""",
    "no call that was captured names the queue, or the story does not follow it": """
        findings/CNT-LOOPBACK/hit_plain findings/RPC-ANON/hit_delete findings/RPC-FRAG/miss_late
        findings/RPL-END/hit_again findings/RPL-END/hit_no_start findings/RPL-STATUS/hit_forgotten
        findings/RPL-STRANGER/hit_order_ack""",
    "the line is about connections, and counts what waited in them": "findings/SES-ACKLATE/hit_closed",
    "twelve hosts in two seconds are a sweep, though all of them accept": "findings/PNG-SCAN/miss_connected",
    "the client falls silent, which the scenario does not name": "findings/SES-RESEND/miss_new_message",
    "how long the opening was waited for stands in its times": "sessions/parameters_unanswered",
    "a note since [MC-MQSRM] has such elements in its own examples": "findings/SRM-BODYELEM/hit_content",
    "what no header announces can only be guessed": "findings/FLG-SEC-SHAPE/hit_at_the_end",
    "the bytes of the example are there, whoever sent them": """
        findings/FPR-NUCLEI/hit_capture_ends findings/FPR-NUCLEI/miss_session""",
}
OTHERWISE = {name: reason for reason, names in _REASONS.items() for name in names.split()}
"""Expectations that do not hold, and why."""


def digest(
    path: Path, change: Callable[[Record], Record] = lambda record: record
) -> tuple[Digest, tuple[Answer, ...]]:
    diagnosis, judge = Diagnosis(), Judge(wanted=diagnosis_needs)
    for record in map(change, read_capture(path, streams=True)):
        diagnosis.feed(record, judge.feed(record))
    diagnosis.found(judge.finish())
    assert judge.story is not None
    answers = diagnosis.answers(judge.story)
    return diagnosis.digest(answers, judge.story), answers


def said(word: str, text: str) -> bool:
    """Whether a word, or one of its list, begins a word of a text."""
    words = EXPECTED["words"][word[1:]] if word.startswith("@") else [word]
    return any(re.search(rf"(?<![a-z0-9]){re.escape(one)}", text) for one in map(str.lower, words))


def alone(word: str, text: str) -> bool:
    """Whether a word stands in a text, and not in a longer word, number, time or address."""
    return re.search(rf"(?<![\w.:])(?<!\d,){re.escape(word.lower())}(?![\w:]|[.,]\d)", text) is not None


def faults(expected: dict[str, Any], found: Digest) -> Iterable[str]:
    """What an expectation misses in a digest."""
    if not found.lines:
        if "any_of" in expected and not expected.get("clean"):
            yield "nothing wrong seen"
        return
    line = found.lines[0]
    if not expected.keys() - {"capture", "scenario", "clean"}:
        yield "not clean"
    text = " ".join((line.text, *line.who)).lower()
    yield from (
        str(group) for group in expected.get("any_of", ()) if not any(said(word, text) for word in group)
    )
    yield from (f"not {word}" for word in expected.get("not_any_of", ()) if said(word, text))
    if "frames" in expected and not set(expected["frames"]) & set(line.frames):
        yield f"frames {line.frames}"
    text = re.sub(r"(\.\d)0 s\b", r"\1 s", " ".join((line.said, *line.who)).lower())
    if "when" in expected and not any(one in text for one in expected["when"]):
        yield f"when {line.where}"
    if "which" in expected and not any(said(one, text) for one in expected["which"]):
        yield "which"
    if "count" in expected and not any(alone(one, text) for one in expected["count"]):
        yield "count"
    if line.severity not in expected.get("severity", (line.severity,)):
        yield line.severity
    if line.layer not in expected.get("layer", (line.layer,)):
        yield line.layer
    # What is published is as sure as a rule that knows how it was published.
    sure = {line.confidence} if line.confidence != "published" else {"certain", "likely"}
    if not sure & {*expected.get("sure", sure)}:
        yield f"sure {line.confidence}"


def expectations(*folders: str) -> list[dict[str, Any]]:
    """Those of some folders; diagnose is asked without a topology."""
    of_folders = (one for one in EXPECTED["expect"] if one["capture"].startswith(folders))
    return [one for one in of_folders if "topology" not in one]


@pytest.mark.slow
@in_batches(expectations("digest/", "diagnose/"), name="expected", every=1)
def test_the_first_line_names_the_cause(expected: dict[str, Any]) -> None:
    found, _ = digest(FIXTURES / expected["capture"])
    missed = list(faults(expected, found))
    line = found.lines[0].text if found.lines else found.nothing
    assert (expected["capture"].removesuffix(".pcap") in OTHERWISE) == bool(missed), (missed, line)


@in_batches(expectations("captures/", "findings/", "sessions/"), name="expected")
def test_the_first_line_names_what_a_rule_is_about(expected: dict[str, Any]) -> None:
    found, _ = digest(FIXTURES / expected["capture"])
    missed = list(faults(expected, found))
    line = found.lines[0].text if found.lines else found.nothing
    assert (expected["capture"].removesuffix(".pcap") in OTHERWISE) == bool(missed), (missed, line)


@pytest.mark.slow
@in_batches(CLEAN, every=1)
def test_of_a_clean_capture_nothing_is_told_but_what_was_looked_at(path: Path) -> None:
    found, answers = digest(path)
    assert found.causes == ()
    assert bool(found.lines) == (path.name == "clean_one_direction.pcap")
    assert found.nothing.startswith(f"Nothing {'else ' if found.lines else ''}wrong seen in ")
    assert [answer.number for answer in answers if answer.flagged] == []


@in_batches(CAPTURES)
def test_what_calls_for_a_look_is_in_the_digest(path: Path) -> None:
    found, answers = digest(path)
    assert len(found.lines) <= MOST_LINES
    assert bool(found.lines) or not any(answer.flagged for answer in answers)
    assert len({line.text for line in found.lines}) == len(found.lines)
    for line in found.causes:
        assert line.rule is not None or line.question is not None
        assert line.action.endswith(".")
        assert line.frames or line.rule == "TIM-SKEW"


def over_ipv6(record: Record) -> Record:
    ends = (re.sub(r"^192\.0\.2\.(\d+):", r"[2001:db8::\1]:", end or "") for end in (record.src, record.dst))
    return msgspec.structs.replace(record, **dict(zip(("src", "dst"), ends, strict=True)))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["diagnose/q05_slow_clock", "diagnose/q17_slow", "digest/silent_server"])
def test_a_cause_is_told_once_over_ipv6_too(name: str) -> None:
    path = FIXTURES / f"{name}.pcap"
    (line,), (other,) = digest(path)[0].lines, digest(path, over_ipv6)[0].lines
    assert (other.rule, other.question, other.count) == (line.rule, line.question, line.count)
    assert other.who == tuple(one.replace("192.0.2.", "2001:db8::") for one in line.who)


@pytest.fixture
def reported(tmp_path: Path) -> Callable[..., Digest]:
    """The digest of a capture of these steps."""

    def tell(*steps: Step) -> Digest:
        path = tmp_path / "made.pcap"
        path.write_bytes(pcap(Script(list(steps)).scene.frames))
        return digest(path)[0]

    return tell


OPEN: Step = {"at": 0.0, "do": "open"}


def message(at: float, number: int = 1, **more: object) -> Step:
    return {"at": at, "do": "message", "id": number} | more


def test_a_message_whose_acknowledgment_may_come_yet_is_not_lost(reported: Callable[..., Digest]) -> None:
    assert reported(OPEN, message(0.1)).lines == ()
    (line,) = reported(OPEN, message(0.1), {"at": 0.2, "do": "reset", "from": "server"}).lines
    assert "192.0.2.10 reset the connection" in line.text
    assert (line.severity, line.confidence, line.question, line.who) == (
        "medium", "likely", 5, ("192.0.2.21", "192.0.2.10"),
    )  # fmt: skip


def test_a_server_that_answers_no_more_explains_what_it_did_not_acknowledge(
    reported: Callable[..., Digest],
) -> None:
    down = OPEN, message(0.1), {"at": 0.2, "do": "reset", "from": "server"}
    again: list[Step] = [{"at": 1.0, "do": "syn", "on": 1}, {"at": 1.1, "do": "refuse", "on": 1}]
    (line,) = reported(*down, *again).lines
    assert "did not become a session: a reset answered the SYN; also 1 message" in line.text
    assert line.question == 2
    assert line.count == 2


def test_one_failed_connection_before_a_session_is_nothing_wrong(reported: Callable[..., Digest]) -> None:
    found = reported(
        {"at": 0.0, "do": "syn"}, {"at": 0.1, "do": "refuse"}, {"at": 1.0, "do": "open", "on": 1}
    )
    assert found.lines == ()
    assert "1 connection to 192.0.2.10:1801 failed before one became a session" in found.looked_at


def finding(id_: str, frame: int, port: int, sender: str = "198.51.100.7", **more: Any) -> Finding:
    rule = RULES[id_]
    place = Evidence(
        capture="a.pcap",
        record=frame,
        frames=(frame,),
        time=frame,
        src=f"{sender}:{port}",
        dst="192.0.2.10:1801",
    )
    return Finding(
        id=id_, title=rule.title, evidence=(place,), cves=rule.cves,
        **({"message": "seen", "severity": rule.severity, "confidence": rule.confidence} | more),
    )  # fmt: skip


def folded(*findings: Finding) -> Digest:
    candidates = Fold()
    for one in findings:
        candidates.add(one)
    return digest_of((), candidates, Phrases([(1, "a.pcap")]), "")


def test_what_one_host_sends_beside_something_hostile_is_one_line() -> None:
    found = folded(
        finding("SES-NAKED", 4, 4000),
        finding("LEN-ENV", 4, 4000),
        finding("SES-ORDER", 5, 4000),
        finding("FRM-PAD-LEN", 9, 5000),
    )
    attack, other = found.lines
    assert attack.rule == "LEN-ENV"
    assert attack.text.startswith("SRMP envelope longer than its packet (198.51.100.7 to 192.0.2.10): seen")
    assert "CVE-2023-21554" in attack.text
    assert (
        "also a message without a session (SES-NAKED) and session packets out of order (SES-ORDER)"
        in attack.text
    )
    to_do = "Find out what 198.51.100.7 is; check that 192.0.2.10 has the fixes of April 2023."
    assert (attack.frames, attack.count, attack.action) == ((4, 5), 3, to_do)
    assert other.rule == "FRM-PAD-LEN"


def test_how_hosts_are_set_up_stands_behind_what_went_wrong() -> None:
    found = folded(finding("RPC-LEVEL", 4, 4000), finding("RPL-TIME", 8, 4000), finding("FRM-MUST", 12, 5000))
    assert [line.rule for line in found.lines] == ["RPL-TIME", "RPC-LEVEL", "FRM-MUST"]
    # Neither explains the other where both are seen in one frame.
    found = folded(finding("RPC-LEVEL", 4, 4000), finding("RPL-TIME", 4, 4000))
    assert [line.rule for line in found.lines] == ["RPL-TIME", "RPC-LEVEL"]


def test_a_rule_says_itself_that_it_tells_how_hosts_are_set_up(monkeypatch: pytest.MonkeyPatch) -> None:
    assert {id_ for id_, rule in RULES.items() if rule.standing} == {
        "BOD-BINFMT", "CNT-EXPIRED", "CNT-TRUST", "CNT-WEAK", "ID-MANY", "RPC-LEVEL",
    }  # fmt: skip

    def lines(standing: bool, **more: Any) -> list[str | None]:
        rule = msgspec.structs.replace(
            RULES["RPC-PURGE"], id="TST-RULE", severity="medium", standing=standing
        )
        monkeypatch.setattr("msmq_wire.detection.causes.RULES", {**RULES, rule.id: rule})
        one = msgspec.structs.replace(finding("RPC-LEVEL", 4, 4000, **more), id=rule.id)
        other = finding("RPL-TIME", 8, 4000, sender="198.51.100.8", severity="medium")
        return [line.rule for line in folded(one, other).lines]

    assert lines(standing=False) == ["TST-RULE", "RPL-TIME"]
    assert lines(standing=True) == ["RPL-TIME", "TST-RULE"]
    assert lines(standing=True, severity="high") == ["TST-RULE", "RPL-TIME"]


def test_of_many_causes_five_are_told_and_the_others_counted() -> None:
    rules = ("FRM-PAD-LEN", "FRM-SIZE-MAX", "FLG-DM", "FLG-MP", "LEN-LABEL", "LEN-SEC", "SES-ORDER", "SES-OS")
    found = folded(*(finding(id_, at, 4000 + at) for at, id_ in enumerate(rules, 1)))
    assert (len(found.lines), found.more) == (MOST_LINES, 3)


def test_a_forbidden_value_that_another_cause_explains_is_told_with_its_field() -> None:
    broken = "user_header.queue_manager_address.address_type: AddressType must be 1 (IPv4) or 6 (IPv6)"
    found = folded(finding("SES-NAKED", 4, 4000), finding("FRM-MUST", 4, 4000, message=broken))
    (line,) = found.lines
    assert line.text.endswith(
        "; also user_header.queue_manager_address.address_type has a value that the protocol forbids "
        "(FRM-MUST)."
    )


def test_what_many_hosts_send_alike_is_one_line() -> None:
    (line,) = folded(*(finding("FRM-PAD-LEN", at, 4000, f"192.0.2.{100 + at}") for at in range(1, 9))).lines
    assert line.text == (
        "Headers that are not padded to 4 bytes (192.0.2.101, 192.0.2.102, 192.0.2.103 and 5 more to "
        "192.0.2.10, 8 times): seen."
    )
    assert (line.count, line.frames) == (8, tuple(range(1, 9)))
    assert line.action == "Find out what the senders are."


def test_hosts_are_not_counted_where_not_all_of_them_are_kept() -> None:
    made = [finding("FRM-PAD-LEN", at, 4000) for at in range(1, 101)]
    to = (f"192.0.2.{at}:1801" for at in range(1, 101))
    places = (msgspec.structs.replace(one.evidence[0], dst=dst) for one, dst in zip(made, to, strict=True))
    (line,) = folded(
        *(msgspec.structs.replace(one, evidence=(place,)) for one, place in zip(made, places, strict=True))
    ).lines
    assert "(198.51.100.7 to 192.0.2.1, 192.0.2.2, 192.0.2.3 and many more, 100 times)" in line.text


def test_all_clients_are_counted_that_got_no_session() -> None:
    tape, builder = Tape(), AnswerBuilder()
    for on in range(40):
        tape.tcp("syn", on=on, src=f"198.51.100.{on}:1025")
    tape.wait(100)
    tape.message(1, on=99)
    add_failed_connections(tape.story(), Fold(), builder)
    (cause,) = builder.causes
    assert "198.51.100.9 and 30 more to 192.0.2.10:1801 did not become a session" in cause.text
    assert len(cause.who) == 33


def test_a_message_that_calls_only_move_has_a_cause_without_a_host() -> None:
    diagnosis, judge = Diagnosis(), Judge({})
    records = read_capture(FIXTURES / "digest" / "poison_message.pcap", streams=True)
    move = next(one for one in records if getattr(one.packet, "method", None) == "R_MoveMessage")
    for number in range(1, 8):
        diagnosis.feed(again := msgspec.structs.replace(move, id=number, frames=(number,)))
        judge.feed(again)
    judge.finish()
    assert judge.story is not None
    (line,) = diagnosis.digest(diagnosis.answers(judge.story), judge.story).causes
    assert line.text.startswith("A message comes back again and again: it was moved 7 times, last")
    assert line.who == ()


@pytest.mark.parametrize(
    ("opened", "said"),
    [
        pytest.param(True, "1 session", id="beside a session"),
        pytest.param(False, "2 connections", id="alone"),
    ],
)
def test_a_connection_that_tcp_never_accepted_is_no_session(opened: bool, said: str) -> None:
    tape, diagnosis = Tape(), Diagnosis()
    if opened:
        tape.open()
    for on in (1, 2):
        tape.tcp("syn", on=on)
    tape.tcp("rst", 1, on=2)
    for record in tape.records:
        diagnosis.feed(record)
    story = tape.story()
    assert diagnosis.digest(diagnosis.answers(story), story).looked_at == said


def test_a_capture_without_msmq_has_nothing_to_judge() -> None:
    found, _ = digest(FIXTURES / "captures" / "path_no_msmq.pcap")
    assert found.nothing == "Nothing of MSMQ."


def test_every_negative_acknowledgment_has_its_remedy() -> None:
    assert set(REMEDIES) == set(NACK_REASONS)
