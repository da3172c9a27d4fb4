"""What becomes of a POST, and the status that tells its sender. [MC-MQSRM] 3.1.5.1"""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from msmq_wire.lab.clock import LoopClock
from msmq_wire.lab.http_server import HttpServer
from msmq_wire.lab.model.data.elements import ModelMessage
from msmq_wire.lab.model.data.timers import Timers
from msmq_wire.lab.queue_manager import LabQueueManager, new_queue_manager
from msmq_wire.lab.srmp_outcome import SrmpOutcome
from msmq_wire.srmp.http.message import HttpMessage
from tests.lab.lab_scene import QUIET
from tests.lab.model.scene import QUEUE_MANAGER, START
from tests.lab.srmp_posts import ENVELOPE, MSMQ, SENDER, Change, changed, in_header, in_msmq, post, stream
from tests.rules import rule_table

_IN_2007 = 1_181_321_100
"""16:45:00 on the 8th of June."""
_HERE, _PEER = "198.51.100.1", "192.0.2.1"
_STREAM_ID = f"<streamId>uid:{SENDER}\\4839986701558349830</streamId>"
_START = "<start><sendReceiptsTo>http://h/msmq/private$/order_queue$</sendReceiptsTo></start>"
_STREAM = f"{_STREAM_ID}<current>1</current>{_START}"
_STREAM_RECEIPT = f"<streamReceipt>{_STREAM_ID}<lastOrdinal>2</lastOrdinal></streamReceipt>"
_ORDER_ACK = ("MSMQ:order", "MSMQ:QM Ordering Ack")
_OF_MESSAGE = f"<id>uuid:1@{SENDER}</id>"
_DELIVERY_RECEIPT = (
    f"<deliveryReceipt><receivedAt>20231114T000000</receivedAt>{_OF_MESSAGE}</deliveryReceipt>"
)
_TO_TRANSACTIONAL = ("private$/orders", "private$/orders_tx")


def _commitment_receipt(decision: str) -> str:
    return (
        f"<commitmentReceipt><decidedAt>20231114T000000</decidedAt><decision>{decision}</decision>"
        f"{_OF_MESSAGE}</commitmentReceipt>"
    )


def _class(number: int) -> Change:
    return "<Class>0", f"<Class>{number}"


class _StandingClock(LoopClock):
    """A clock without a loop: no time passes."""

    def start(self, zero: float | None = None) -> None:
        """Start nothing."""


class _Lab:
    """A server of HTTP with its queue manager, in memory."""

    def __init__(self, start: int = START) -> None:
        timers = Timers()
        clock = _StandingClock(timers)
        self.manager: LabQueueManager = new_queue_manager("host", QUEUE_MANAGER, timers, start, 64, QUIET)
        self.manager.add_queue("private$\\orders")
        self.manager.add_queue("private$\\other")
        self.manager.add_queue("private$\\orders_tx", transactional=True)
        self._server = HttpServer(
            self.manager,
            clock,
            names=("host", "203.0.113.9"),
            neighbours=("far", "127.0.0.2"),
            log=QUIET,
        )

    def answer(self, request: HttpMessage, *, refuse: bool = False) -> tuple[int, str]:
        """Status and text of the response."""
        data = self._server.answer(request, _PEER, _HERE, refuse=refuse)
        head, _, text = data.partition(b"\r\n\r\n")
        return int(head.split()[1]), text.decode()

    def status(self, *changes: Change) -> int:
        """The status for a changed envelope."""
        return self.answer(post(changed(*changes)))[0]

    @property
    def stored(self) -> list[ModelMessage]:
        """The messages in all queues."""
        queues = self.manager.all_queues
        return [one.message_reference for queue in queues for one in queue.message_position_list]


@pytest.fixture
def lab() -> _Lab:
    return _Lab()


def _without(tag: str) -> Change:
    """The change that removes an element which stands in the envelope with its content."""
    begin, end = ENVELOPE.index(f"<{tag}"), ENVELOPE.index(f"</{tag}>") + len(tag) + 3
    return ENVELOPE[begin:end], ""


@rule_table(
    "changes",
    ("MQSRM-3.1.5.1.2-1", [("</se:Envelope>", "")]),
    ("MQSRM-3.1.5.1.2-1", [("schemas.xmlsoap.org/soap/envelope/", "www.w3.org/2003/05/soap-envelope")]),
    ("MQSRM-3.1.5.1.2-2", [_without("se:Body")]),
    ("MQSRM-3.1.5.1.2-2", [_without("se:Header")]),
    (
        "MQSRM-3.1.5.1.2-2",
        [
            ("<se:Header>", "<se:Body></se:Body><se:Header>"),
            ("</se:Header><se:Body></se:Body>", "</se:Header>"),
        ],
    ),
    ("MQSRM-3.1.5.1.2-3", [_without("path")]),
    ("MQSRM-3.1.5.1.2-3", [_without("action")]),
    ("MQSRM-3.1.5.1.2-3", [_without("to")]),
    ("MQSRM-3.1.5.1.2-3", [_without("id")]),
    ("MQSRM-3.1.5.1.2-3", [("http://host/msmq/private$/orders", "DIRECT=OS:host\\private$\\orders")]),
    ("MQSRM-3.1.5.1.2-3", [("uuid:26626@", "26626@")]),
    ("MQSRM-3.1.5.1.2-4", [("</id>", "</id><rev></rev>")]),
    (
        "MQSRM-3.1.5.1.2-4",
        [("</id>", "</id><rev><via>http://h/msmq/a</via><via>http://h/msmq/b</via></rev>")],
    ),
    ("MQSRM-3.1.5.1.2-5", [_without("properties")]),
    ("MQSRM-3.1.5.1.2-5", [_without("expiresAt")]),
    (
        "MQSRM-3.1.5.1.2-6",
        [in_header('<services se:mustUnderstand="1"><deliveryReceiptRequest/></services>')],
    ),
    (
        "MQSRM-3.1.5.1.2-6",
        [in_header('<services se:mustUnderstand="1"><commitmentReceiptRequest/></services>')],
    ),
    (
        "MQSRM-3.1.5.1.2-6",
        [
            in_header(
                '<services se:mustUnderstand="1"><deliveryReceiptRequest><sendTo>MSMQ:DIRECT=OS:h\\q</sendTo>'
                "</deliveryReceiptRequest></services>"
            )
        ],
    ),
    ("MQSRM-3.1.5.1.2-7", [*stream(f"<current>1</current>{_START}"), _TO_TRANSACTIONAL]),
    ("MQSRM-3.1.5.1.2-7", [*stream(f"{_STREAM_ID}{_START}"), _TO_TRANSACTIONAL]),
    ("MQSRM-3.1.5.1.2-7", [*stream(f"{_STREAM_ID}<current>1</current>"), _TO_TRANSACTIONAL]),
    ("MQSRM-3.1.5.1.2-7", [*stream(f"{_STREAM_ID}<current>2</current>{_START}"), _TO_TRANSACTIONAL]),
    (
        "MQSRM-3.1.5.1.2-7",
        [in_header(f'<stream se:mustUnderstand="1">{_STREAM}</stream>'), _TO_TRANSACTIONAL],
    ),
    ("MQSRM-3.1.5.1.2-7", [(MSMQ, ""), *stream(_STREAM), _TO_TRANSACTIONAL]),
    ("MQSRM-3.1.5.1.2-8", [_class(2), in_header(_DELIVERY_RECEIPT.replace("receivedAt", "at"))]),
    ("MQSRM-3.1.5.1.2-8", [_class(0x4000), in_header(_commitment_receipt("maybe"))]),
    ("MQSRM-3.1.5.1.2-8", [_ORDER_ACK, _class(255), in_header(_STREAM_RECEIPT.replace("uid:", ""))]),
    ("MQSRM-3.1.5.1.2-9", [_without("Class")]),
    ("MQSRM-3.1.5.1.2-9", [_without("Priority")]),
    ("MQSRM-3.1.5.1.2-9", [_without("BodyType")]),
    ("MQSRM-3.1.5.1.2-9", [_without("SourceQmGuid")]),
    ("MQSRM-3.1.5.1.2-9", [_without("TTrq")]),
    ("MQSRM-3.1.5.1.2-9", [in_msmq("<Provider><Name>Name</Name></Provider>")]),
    ("MQSRM-3.1.5.1.2-10", [("<Priority>3", "<Priority>8")]),
    ("MQSRM-3.1.5.1.2-10", [_class(0x1234)]),
    ("MQSRM-3.1.5.1.2-10", [("<BodyType>8", "<BodyType>VT_BSTR")]),
    ("MQSRM-3.1.5.1.2-10", [(f"<SourceQmGuid>{SENDER}", "<SourceQmGuid>32221eda")]),
    ("MQSRM-3.1.5.1.2-10", [("<TTrq>20231115T000000", "<TTrq>2023-11-15T00:00:00")]),
    ("MQSRM-3.1.5.1.2-10", [("<sentAt>20231114T221320", "<sentAt>today")]),
    ("MQSRM-3.1.5.1.2-10", [in_msmq("<Correlation>%%%</Correlation>")]),
    ("MQSRM-3.1.5.1.2-11", [('rp/" se:mustUnderstand="1"', 'rp/"')]),
    ("MQSRM-3.1.5.1.2-11", [('<properties se:mustUnderstand="1"', "<properties")]),
    ("MQSRM-3.1.5.1.2-11", [in_header("<services><durable/></services>")]),
    ("MQSRM-3.1.5.1.2-13", [in_header('<Signature xmlns="http://www.w3.org/2000/02/xmldsig#"/>')]),
)
def test_what_does_not_conform_to_section_2_is_refused(lab: _Lab, changes: Sequence[Change]) -> None:
    assert lab.status(*changes) == 400
    assert lab.stored == []


@pytest.mark.rule("MQSRM-3.1.5.1.2-1")
@pytest.mark.parametrize("body", ["", "hello", "{}"])
def test_a_body_without_an_envelope_is_refused(lab: _Lab, body: str) -> None:
    assert lab.answer(post(body))[0] == 400
    assert lab.stored == []


@pytest.mark.rule("MQSRM-3.1.5.1.2-12")
def test_a_receipt_with_an_attachment_is_refused(lab: _Lab) -> None:
    receipt = changed(_class(2), in_header(_DELIVERY_RECEIPT))
    assert lab.answer(post(receipt, ("body", b"x")))[0] == 400
    assert lab.answer(post(receipt)) == (200, "")
    assert len(lab.stored) == 1


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param([("<se:Body></se:Body>", "<se:Body><a/></se:Body>")], id="content of the SOAP body"),
        pytest.param([("MSMQ:order", "order")], id="action without MSMQ"),
        pytest.param(
            [("</id>", "</id><fwd><via>a</via></fwd><from>b</from><relatesTo>c</relatesTo>")], id="others"
        ),
        pytest.param([("</properties>", "<inReplyTo>a</inReplyTo></properties>")], id="inReplyTo"),
        pytest.param([("<sentAt>20231114T221320</sentAt>", "")], id="no sentAt"),
        pytest.param([(MSMQ, "")], id="no Msmq"),
        pytest.param([in_header("<any xmlns='urn:a'><b/></any>")], id="element of an application"),
        pytest.param([(f"@{SENDER}</id>", "@fd74b8eb-2af7-4ac5-9405-074e315df392</id>")], id="two GUIDs"),
    ],
)
def test_what_is_ignored_or_may_be_left_out_is_no_reason(lab: _Lab, changes: list[Change]) -> None:
    assert lab.status(*changes) == 200
    assert len(lab.stored) == 1


@rule_table(
    "changes, text",
    (
        "MQSRM-3.1.5.1.3-1 MQSRM-3.1.5.1.3-9",
        [("http://host/msmq/private$/orders", "MSMQ:MULTICAST=234.1.1.1:8001")],
        "no such queue",
    ),
    (
        "MQSRM-3.1.5.1.3-2 MQSRM-3.1.5.1.3-9",
        [("http://host/", "http://elsewhere/")],
        "the queue is on another host",
    ),
    (
        "MQSRM-3.1.5.1.3-2 MQSRM-3.1.5.1.3-9",
        [("http://host/", "https://far:8080/")],
        "the queue is on another host",
    ),
    ("MQSRM-3.1.5.1.3-2", [("http://host/", "http://192.0.2.7/")], "the queue is on another host"),
    ("MQSRM-3.1.5.1.3-2", [("http://host/", "http://127.0.0.2/")], "the queue is on another host"),
    ("MQSRM-3.1.5.1.3-2", [("http://host/", "http:///")], "the queue is on another host"),
    ("MQSRM-3.1.5.1.3-6 MQSRM-3.1.5.1.3-9", [("private$/orders", "private$/none")], "no such queue"),
    ("MQSRM-3.1.5.1.3-6", [("/msmq/", "/other/")], "no such queue"),
    ("MQSRM-3.1.5.1.3-6", [("private$/orders", "private$/orders;journal")], "no such queue"),
    (
        "MQSRM-3.1.5.1.3-7 MQSRM-3.1.5.1.3-9",
        stream(_STREAM),
        "a stream message to a queue that is not transactional",
    ),
    (
        "MQSRM-3.1.5.1.3-8 MQSRM-3.1.5.1.3-9",
        [_TO_TRANSACTIONAL],
        "a message without a stream to a transactional queue",
    ),
)
def test_a_destination_that_cannot_have_the_message_is_refused(
    lab: _Lab, changes: Sequence[Change], text: str
) -> None:
    status, said = lab.answer(post(changed(*changes)))
    assert status == 400
    assert said.startswith(text)
    assert lab.stored == []


@pytest.mark.parametrize(
    "host", ["HOST", "host.", "localhost:80", "127.0.0.1", "[::1]:80", _HERE, "203.0.113.9"]
)
def test_a_queue_of_this_host_is_found_by_its_names_and_addresses(lab: _Lab, host: str) -> None:
    assert lab.status(("http://host/", f"http://{host}/")) == 200
    assert len(lab.stored) == 1


@pytest.mark.rule("MQSRM-3.1.5.1.4-2", "MQSRM-3.1.5.1.12-8")
def test_a_message_that_expired_is_discarded_where_it_is_enqueued(lab: _Lab) -> None:
    expired = ("<TTrq>20231115T000000", "<TTrq>20231114T221319")
    for sent_at in ("<sentAt>20231114T221300</sentAt>", ""):
        late = expired, ("<sentAt>20231114T221320</sentAt>", sent_at)
        assert lab.answer(post(changed(*late))) == (200, "discarded: the message has expired")
    assert lab.stored == []
    # Enqueue Message compares the quota first, so nothing before it looks at the time.
    queue = lab.manager.queue_collection["private$\\orders"]
    queue.quota = 1
    assert lab.answer(post(changed(*late))) == (200, "discarded: the queue is full")
    queue.quota = 1000
    assert lab.status(("<TTrq>20231115T000000", "<TTrq>20231114T221320")) == 200
    assert len(lab.stored) == 1


# The rules of a final stream receipt, and those of a commitment receipt.
_DECISIONS = (
    ("MQSRM-3.1.5.1.5-4 MQSRM-3.1.5.1.9.1-1", "MQSRM-3.1.5.1.5-9 MQSRM-3.1.5.1.10-2", 0x4000, "positive"),
    ("MQSRM-3.1.5.1.5-5 MQSRM-3.1.5.1.9.1-1", "MQSRM-3.1.5.1.5-10 MQSRM-3.1.5.1.10-2", 0x8001, "negative"),
    ("MQSRM-3.1.5.1.5-6 MQSRM-3.1.5.1.9.1-1", "MQSRM-3.1.5.1.5-11 MQSRM-3.1.5.1.10-2", 0xC000, "negative"),
    ("MQSRM-3.1.5.1.5-7 MQSRM-3.1.5.1.9.1-1", "MQSRM-3.1.5.1.5-12 MQSRM-3.1.5.1.10-2", 0xC001, "negative"),
    ("MQSRM-3.1.5.1.5-8 MQSRM-3.1.5.1.9.1-1", "MQSRM-3.1.5.1.5-13 MQSRM-3.1.5.1.10-2", 0xC002, "negative"),
)


@rule_table(
    "changes, count, text",
    ("MQSRM-3.1.5.1.5-1 MQSRM-3.1.5.1.6-1 MQSRM-3.1.5.1.12-5", [], 1, ""),
    ("MQSRM-3.1.5.1.5-1", [(MSMQ, "")], 1, ""),
    ("MQSRM-3.1.5.1.5-2 MQSRM-3.1.5.1.7-2", [_class(2), in_header(_DELIVERY_RECEIPT)], 1, ""),
    ("MQSRM-3.1.5.1.5-3 MQSRM-3.1.5.1.8-6", [_ORDER_ACK, _class(255), in_header(_STREAM_RECEIPT)], 1, ""),
    *(
        (
            final,
            [_ORDER_ACK, _class(number), in_header(_STREAM_RECEIPT + _commitment_receipt(decision))],
            0,
            "discarded: this queue manager sends no such stream",
        )
        for final, _, number, decision in _DECISIONS
    ),
    *(
        (alone, [_class(number), in_header(_commitment_receipt(decision))], 1, "")
        for _, alone, number, decision in _DECISIONS
    ),
    *(
        ("MQSRM-3.1.5.1.5-14", changes, 0, "ignored: no type of message has these receipts and this class")
        for changes in (
            [_class(1)],
            [_class(2)],
            [in_header(_DELIVERY_RECEIPT)],
            [(MSMQ, ""), in_header(_DELIVERY_RECEIPT)],
            [_class(2), in_header(_DELIVERY_RECEIPT + _commitment_receipt("positive"))],
            [_class(255), in_header(_STREAM_RECEIPT)],
            [_class(0x4000), in_header(_STREAM_RECEIPT + _commitment_receipt("positive"))],
            [_class(0x4000), in_header(_commitment_receipt("negative"))],
            [_class(0xC002), in_header(_commitment_receipt("positive"))],
            [_class(0xC004), in_header(_commitment_receipt("negative"))],
        )
    ),
)
def test_a_message_is_processed_by_its_type(
    lab: _Lab, changes: Sequence[Change], count: int, text: str
) -> None:
    assert lab.answer(post(changed(*changes))) == (200, text)
    assert len(lab.stored) == count


def test_a_stream_message_for_a_transactional_queue_can_come_again(lab: _Lab) -> None:
    assert lab.status(*stream(_STREAM), _TO_TRANSACTIONAL) == 500
    assert lab.stored == []


@rule_table(
    "changes",
    ("MQSRM-3.1.5.1.11-2 MQSRM-3.1.5.1.11-3", []),
    ("MQSRM-3.1.5.1.7-1", [_class(2), in_header(_DELIVERY_RECEIPT)]),
    ("MQSRM-3.1.5.1.8-5", [_ORDER_ACK, _class(255), in_header(_STREAM_RECEIPT)]),
    ("MQSRM-3.1.5.1.10-1", [_class(0x4000), in_header(_commitment_receipt("positive"))]),
)
def test_a_message_that_comes_again_is_answered_and_discarded(lab: _Lab, changes: list[Change]) -> None:
    request = post(changed(*changes))
    assert [lab.answer(request)[0] for _ in range(2)] == [200, 200]
    assert len(lab.stored) == 1
    # Its identifier alone makes it the same one.
    assert lab.status(*changes, ("private$/orders", "private$/other")) == 200
    assert len(lab.stored) == 1
    assert lab.status(*changes, ("uuid:26626@", "uuid:26627@")) == 200
    assert len(lab.stored) == 2


@pytest.mark.rule("MQSRM-3.1.5.1.11-1")
@pytest.mark.parametrize(
    "change", [(MSMQ, ""), (f"uuid:26626@{SENDER}", "uuid:1@00000000-0000-0000-0000-000000000000")]
)
def test_messages_without_an_identifier_are_no_duplicates(lab: _Lab, change: Change) -> None:
    assert [lab.status(change) for _ in range(2)] == [200, 200]
    assert len(lab.stored) == 2


@pytest.mark.rule("MQSRM-3.1.5.1.12-6")
def test_a_message_for_a_full_queue_is_discarded(lab: _Lab) -> None:
    queue = lab.manager.queue_collection["private$\\orders"]
    queue.quota = 1
    assert lab.answer(post(ENVELOPE)) == (200, "discarded: the queue is full")
    assert lab.stored == []
    queue.quota = 1000
    assert lab.answer(post(ENVELOPE)) == (200, "")
    assert len(lab.stored) == 1


@pytest.mark.rule("MQSRM-3.1.5.1.12-7")
def test_a_message_for_which_the_queue_manager_has_no_room_can_come_again(lab: _Lab) -> None:
    lab.manager.quota = 1
    assert lab.answer(post(ENVELOPE)) == (500, "there is no room")
    assert lab.stored == []
    lab.manager.quota = 1000
    assert lab.answer(post(ENVELOPE)) == (200, "")
    assert len(lab.stored) == 1


def test_what_is_refused_on_request_can_come_again(lab: _Lab) -> None:
    assert lab.answer(post(ENVELOPE), refuse=True) == (500, "refused on request")


@pytest.mark.parametrize(("start", "text"), [(_IN_2007, ""), (START, "discarded: the message has expired")])
def test_the_first_example_of_the_document_is_taken_until_it_expires(start: int, text: str) -> None:
    lab = _Lab(start)
    # [MC-MQSRM] 4.1
    example = changed(
        (MSMQ, ""),
        (f"26626@{SENDER}", "1@00000000-0000-0000-0000-000000000000"),
        ("20231116T000000", "20070609T164419"),
        ("20231114T221320", "20070608T164419"),
    )
    assert lab.answer(post(example, ("body", b"First Message"))) == (200, text)
    assert [one.properties.body for one in lab.stored] == ([] if text else [b"First Message"])


def test_a_status_is_one_of_the_three_that_the_document_has() -> None:
    assert {one.status for one in SrmpOutcome} == {200, 400, 500}
    assert all(one.section.startswith(("2.2.", "3.1.")) for one in SrmpOutcome)
