"""What the named bits mean, in a few words, by structure and bit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msmq_wire.wire.fields import WireStruct
from msmq_wire.wire.musts import Bit

__all__ = ["BIT_MEANINGS", "SHOWN_AT_ZERO", "bit_rows", "is_reserved", "selected"]

BIT_MEANINGS: Mapping[str, Mapping[str, str]] = {
    "base_header": {
        "pr": "priority",
        "in": "internal packet",
        "sh": "SessionHeader follows",
        "dh": "DebugHeader follows",
        "tr": "message is traced",
    },
    "user_header": {
        "rc": "hops",
        "dm": "delivery",
        "jn": "journal in the dead-letter queue if it fails",
        "jp": "journal at the source when sent",
        "dq": "destination queue",
        "aq": "administration queue",
        "rq": "response queue",
        "sh": "SecurityHeader follows",
        "th": "TransactionHeader follows",
        "mp": "MessagePropertiesHeader follows",
        "cq": "ConnectorType follows",
        "mq": "MultiQueueFormatHeader follows",
        "ah": "arrived over HTTP",
        "hh": "SoapHeader follows",
    },
    "transaction_header": {
        "cg": "ConnectorQMGuid follows",
        "fa": "final acknowledgment wanted",
        "fm": "first message of the transaction",
        "lm": "last message of the transaction",
        "id": "transaction",
    },
    "security_header": {
        "st": "sender identifier",
        "au": "signature was verified",
        "eb": "body is encrypted",
        "de": "default cryptographic provider",
        "ai": "SecurityData follows",
        "as": "how the signature was verified",
    },
    "message_properties_header": {
        "pa": "acknowledge arrival",
        "pr": "acknowledge receipt",
        "na": "report failed delivery",
        "nr": "report failed receipt",
    },
    "debug_header": {"qt": "trace queue"},
    "internal_header": {"pt": "packet type", "cs": "connection refused"},
    "establish_connection_header": {
        "re": "reserved, 0x10",
        "se": "no ping was sent before",
        "os": "server-class system",
        "qs": "quality of service",
    },
    "extension_header": {
        "dl": "DeadLetterHeader follows",
        "sq": "SubqueueHeader follows",
        "di": "dead-letter queue is invalid",
        "ea": "ExtendedAddressHeader follows",
    },
    "subqueue_header": {
        "tm": "move in a transaction",
        "acknowledgement_class": "acknowledgment class",
        "reserved": "reserved",
    },
    "ping": {"rc": "initiator is a client-class system", "rf": "connection would be refused"},
}

SHOWN_AT_ZERO = frozenset((("base_header", "pr"), ("user_header", "dm")))
"""Groups of bits that say something when they are 0."""


def bit_rows(cls: type[WireStruct], word: int) -> Iterator[tuple[str, str, str]]:
    """Name, value and meaning of the bits that are set in the word of a structure."""
    assert cls.BITS is not None
    stem = cls.stem()
    meanings = BIT_MEANINGS.get(stem, {})
    for bit in cls.BITS.bits.values():
        number = (word & bit.mask) >> bit.shift
        if not number and (stem, bit.name) not in SHOWN_AT_ZERO:
            continue
        named = selected(bit, number)
        meaning = "reserved" if is_reserved(bit.name) else meanings.get(bit.name, "")
        text = f"{number:#x}" if number > 9 else str(number)
        yield bit.name, text, f"{meaning}: {named}" if named else meaning


def selected(bit: Bit, number: int) -> str:
    """The name of what a group of bits selects, empty where its values have no names."""
    if bit.names is None:
        return ""
    try:
        return str(bit.names(number).name)
    except ValueError:
        return "unknown value"


def is_reserved(bit: str) -> bool:
    """Whether a bit has no meaning: the specifications call such bits X, X0, X1..."""
    return bit == "reserved" or (bit[0] == "x" and (len(bit) == 1 or bit[1:].isdigit()))
