"""What the named bits mean, in a few words, by structure and bit."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["BIT_MEANINGS", "SHOWN_AT_ZERO", "is_reserved"]

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


def is_reserved(bit: str) -> bool:
    """Whether a bit has no meaning: the specifications call such bits X, X0, X1..."""
    return bit == "reserved" or (bit[0] == "x" and (len(bit) == 1 or bit[1:].isdigit()))
