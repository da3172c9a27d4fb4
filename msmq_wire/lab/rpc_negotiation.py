"""Presentation contexts: what a client offers, what a server takes. [MS-RPCE] 3.3.1.5.3, 3.3.1.5.6"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from msmq_wire.rpc.decoding import NDR64_SYNTAX, NDR_SYNTAX
from msmq_wire.rpc.events import SyntaxId
from msmq_wire.rpc.interfaces import Interface
from msmq_wire.rpc.ndr import NDR, NDR64, NDR_BIG_ENDIAN, Syntax
from msmq_wire.rpc.pdu.values import ContextElement, ContextResult
from msmq_wire.wire.types.guid import GUID, NULL_GUID

KEEP_CONNECTION_ON_ORPHAN = 0x02
"""The connection stays open when the client gives a call up. [MS-RPCE] 2.2.2.14"""

_ACCEPTANCE, _PROVIDER_REJECTION, _NEGOTIATE_ACK = 0, 2, 3
_UNKNOWN_INTERFACE, _UNKNOWN_SYNTAXES = 1, 2
_FEATURES = GUID.parse("6cb71c2c-9812-4540-0000-000000000000")[:8]
_NO_SYNTAX = SyntaxId(NULL_GUID, 0, 0)
_SYNTAX_IDS = {NDR.name: SyntaxId(NDR_SYNTAX, 2, 0), NDR64.name: SyntaxId(NDR64_SYNTAX, 1, 0)}
_BY_SYNTAX_ID = {_SYNTAX_IDS[NDR.name]: NDR, _SYNTAX_IDS[NDR64.name]: NDR64}


class Reject:
    """Why a bind is refused: provider_reject_reason. [MS-RPCE] 2.2.2.5"""

    REASON_NOT_SPECIFIED = 0
    LOCAL_LIMIT_EXCEEDED = 2
    AUTHENTICATION_TYPE_NOT_RECOGNIZED = 8


class AcceptedContext(msgspec.Struct, frozen=True):
    """What an answer says about one context: its interface, and NDR or NDR64, None where it is refused."""

    context_id: int
    interface: GUID
    syntax: Syntax | None


def stub_syntax(agreed: Syntax, big_endian: bool) -> Syntax:
    """The syntax of a stub from a sender with this byte order; NDR64 has but one."""
    return NDR_BIG_ENDIAN if big_endian and not agreed.wide else agreed


def _is_features(element: ContextElement) -> bool:
    syntaxes = element.transfer_syntaxes
    return len(syntaxes) == 1 and syntaxes[0].uuid[:8] == _FEATURES and syntaxes[0].major == 1


def accept(
    elements: Sequence[ContextElement], known: Mapping[GUID, int], preferred: Syntax
) -> tuple[tuple[ContextResult, ...], list[AcceptedContext]]:
    """Answer a bind or alter_context: the results in the order offered, and the contexts they make.

    ``known`` are the interfaces that are served in NDR and NDR64, with their major versions. Of the contexts
    for one interface a single one is accepted: the first with the ``preferred`` syntax, else the first with
    another one that is known. Features are answered with `KEEP_CONNECTION_ON_ORPHAN`, if the client has it.
    """
    chosen: dict[SyntaxId, tuple[int, SyntaxId]] = {}
    wanted = _SYNTAX_IDS[preferred.name]
    for number, element in enumerate(elements):
        interface = element.abstract_syntax
        for syntax in element.transfer_syntaxes:
            better = interface not in chosen or (syntax == wanted and chosen[interface][1] != wanted)
            if syntax in _BY_SYNTAX_ID and better:
                chosen[interface] = number, syntax
    results: list[ContextResult] = []
    contexts: list[AcceptedContext] = []
    for number, element in enumerate(elements):
        abstract = element.abstract_syntax
        if _is_features(element):
            bits = element.transfer_syntaxes[0].uuid[8] & KEEP_CONNECTION_ON_ORPHAN
            results.append(ContextResult(_NEGOTIATE_ACK, bits, _NO_SYNTAX))
            continue
        taken: Syntax | None = None
        if (abstract.major, abstract.minor) != (known.get(abstract.uuid), 0):
            results.append(ContextResult(_PROVIDER_REJECTION, _UNKNOWN_INTERFACE, _NO_SYNTAX))
        elif abstract not in chosen or chosen[abstract][0] != number:
            results.append(ContextResult(_PROVIDER_REJECTION, _UNKNOWN_SYNTAXES, _NO_SYNTAX))
        else:
            syntax = chosen[abstract][1]
            taken = _BY_SYNTAX_ID[syntax]
            results.append(ContextResult(_ACCEPTANCE, 0, syntax))
        contexts.append(AcceptedContext(element.context_id, abstract.uuid, taken))
    return tuple(results), contexts


def offer(
    interfaces: Iterable[Interface], syntaxes: Iterable[Syntax], first: int = 0
) -> tuple[ContextElement, ...]:
    """A context for each interface and syntax, numbered from ``first`` on."""
    ids = [_SYNTAX_IDS[syntax.name] for syntax in syntaxes]
    pairs = [(interface, syntax) for interface in interfaces for syntax in ids]
    return tuple(
        ContextElement(first + number, SyntaxId(interface.uuid, 1, 0), (syntax,))
        for number, (interface, syntax) in enumerate(pairs)
    )


def features_element(before: ContextElement) -> ContextElement:
    """The context that asks for features of the connection, behind ``before``."""
    features = GUID(_FEATURES + bytes((KEEP_CONNECTION_ON_ORPHAN,)) + bytes(7))
    syntaxes = (SyntaxId(features, 1, 0),)
    return ContextElement(before.context_id + 1, before.abstract_syntax, syntaxes)


def accepted(elements: Sequence[ContextElement], results: Sequence[ContextResult]) -> list[AcceptedContext]:
    """The contexts that a server accepted; there may be fewer results than elements."""
    return [
        AcceptedContext(one.context_id, one.abstract_syntax.uuid, _BY_SYNTAX_ID[answer.transfer_syntax])
        for one, answer in zip(elements, results, strict=False)
        if answer.result == _ACCEPTANCE and answer.transfer_syntax in _BY_SYNTAX_ID
    ]


def keeps_connection(results: Sequence[ContextResult]) -> bool:
    """Whether the server keeps the connection when a call is given up."""
    return any(
        result.result == _NEGOTIATE_ACK and result.reason & KEEP_CONNECTION_ON_ORPHAN for result in results
    )
