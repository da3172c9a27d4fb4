"""Message bodies: what they hold, how sure that is, and how they are shown."""

from __future__ import annotations

from msmq_wire.records.bodies.body import Body
from msmq_wire.records.bodies.body_decoder import open_body
from msmq_wire.records.bodies.encrypted import EncryptedBody, encrypted_body, encrypted_transfer
from msmq_wire.records.bodies.showing import caption, layout, preview

__all__ = [
    "Body",
    "EncryptedBody",
    "caption",
    "encrypted_body",
    "encrypted_transfer",
    "layout",
    "open_body",
    "preview",
]
