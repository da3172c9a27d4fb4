"""Presentation contexts: one syntax an interface, results in the order offered, features beside them."""

from __future__ import annotations

import pytest

from msmq_wire.lab.rpc_negotiation import accept, accepted, features_element, keeps_connection, offer
from msmq_wire.rpc.events import SyntaxId
from msmq_wire.rpc.interfaces import qmcomm, remote_read
from msmq_wire.rpc.ndr import NDR, NDR64, Syntax
from msmq_wire.rpc.pdu.values import ContextElement, ContextResult
from msmq_wire.wire.types.guid import GUID, NULL_GUID

NOTHING = SyntaxId(NULL_GUID, 0, 0)
NDR_ID = SyntaxId(GUID.parse("8a885d04-1ceb-11c9-9fe8-08002b104860"), 2, 0)
NDR64_ID = SyntaxId(GUID.parse("71710533-beba-4937-8319-b5dbef9ccc36"), 1, 0)
REMOTE_READ = SyntaxId(remote_read.INTERFACE.uuid, 1, 0)
KNOWN = {remote_read.INTERFACE.uuid: 1, qmcomm.INTERFACE.uuid: 1}


@pytest.mark.parametrize(
    ("syntaxes", "preferred", "wanted"),
    [
        ((NDR, NDR64), NDR64, (2, 0)),
        ((NDR, NDR64), NDR, (0, 2)),
        ((NDR64, NDR), NDR64, (0, 2)),
        ((NDR,), NDR64, (0,)),
    ],
)
def test_one_syntax_of_an_interface_is_accepted_the_preferred_one_if_it_is_there(
    syntaxes: tuple[Syntax, ...], preferred: Syntax, wanted: tuple[int, ...]
) -> None:
    elements = offer((remote_read.INTERFACE, qmcomm.INTERFACE), syntaxes, first=7)
    results, contexts = accept(elements, KNOWN, preferred)
    assert tuple(one.result for one in results) == wanted * 2
    assert [one.context_id for one in contexts] == [7 + number for number in range(2 * len(syntaxes))]
    assert {one.reason for one in results if one.result == 2} <= {2}
    assert [one.interface for one in accepted(elements, results)] == [
        remote_read.INTERFACE.uuid,
        qmcomm.INTERFACE.uuid,
    ]


def test_an_element_with_several_syntaxes_gets_the_preferred_one() -> None:
    element = ContextElement(0, REMOTE_READ, (NDR_ID, NDR64_ID))
    assert accept([element], KNOWN, NDR64)[0] == (ContextResult(0, 0, NDR64_ID),)
    assert accept([element], KNOWN, NDR)[0] == (ContextResult(0, 0, NDR_ID),)


@pytest.mark.parametrize(
    ("abstract", "transfer", "reason"),
    [
        (SyntaxId(GUID(b"x" * 16), 1, 0), NDR_ID, 1),
        (SyntaxId(REMOTE_READ.uuid, 2, 0), NDR_ID, 1),
        (SyntaxId(REMOTE_READ.uuid, 1, 1), NDR_ID, 1),
        (REMOTE_READ, SyntaxId(GUID(b"y" * 16), 2, 0), 2),
        (REMOTE_READ, SyntaxId(NDR_ID.uuid, 1, 0), 2),
    ],
    ids=["interface", "major-version", "minor-version", "syntax", "version-of-syntax"],
)
def test_what_is_not_there_is_rejected_with_its_reason(
    abstract: SyntaxId, transfer: SyntaxId, reason: int
) -> None:
    wrong, right = ContextElement(0, abstract, (transfer,)), ContextElement(1, REMOTE_READ, (NDR_ID,))
    results, contexts = accept([wrong, right], KNOWN, NDR64)
    assert results == (ContextResult(2, reason, NOTHING), ContextResult(0, 0, NDR_ID))
    assert [one.syntax for one in contexts] == [None, NDR]


def test_features_are_answered_with_what_both_sides_can() -> None:
    (element,) = offer((remote_read.INTERFACE,), (NDR,))
    features = features_element(element)
    # The prefix, then the bit KeepConnectionOnOrphanSupported.
    assert features.transfer_syntaxes[0].uuid.hex() == "2c1cb76c129840450200000000000000"
    results, contexts = accept([element, features], KNOWN, NDR64)
    assert results == (ContextResult(0, 0, NDR_ID), ContextResult(3, 2, NOTHING))
    assert [one.context_id for one in contexts] == [0]
    assert keeps_connection(results)
    multiplexing = SyntaxId(GUID.parse("6cb71c2c-9812-4540-0100-000000000000"), 1, 0)
    results, _ = accept([element, ContextElement(1, REMOTE_READ, (multiplexing,))], KNOWN, NDR64)
    assert results[1] == ContextResult(3, 0, NOTHING)
    assert not keeps_connection(results)


def test_answers_with_fewer_results_than_elements_accept_what_they_name() -> None:
    elements = offer((remote_read.INTERFACE, qmcomm.INTERFACE), (NDR,))
    (context,) = accepted(elements, [ContextResult(0, 0, NDR_ID)])
    assert context.interface == remote_read.INTERFACE.uuid
    assert accepted(elements, []) == []
