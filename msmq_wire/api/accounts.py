"""What opens no call without a secret, and tells whom clients say they are."""

from __future__ import annotations

from importlib.util import find_spec

from msmq_wire.rpc.pdu_protection import Negotiation, Negotiator


def without_secrets(auth_type: int) -> Negotiation | None:
    """What opens nothing, but tells whom clients say they are."""
    # Loaded when a capture has something to negotiate: most have not.
    try:
        from msmq_wire.rpc.unseal.negotiation import negotiator
        from msmq_wire.rpc.unseal.secrets import Secrets
    except ImportError:
        return None
    return negotiator(Secrets())(auth_type)


def default_negotiator() -> Negotiator | None:
    """What is used where no secret was given; None without the extra ``unseal``."""
    return None if find_spec("cryptography") is None else without_secrets
