"""What a queue manager may have to check signatures with, and to open bodies. [MS-MQQB] 3.1.5.8.3

The rule kept here: a message is let through or refused, with one class for each of the two failures: nobody
is told what was wrong with it.
"""

from __future__ import annotations

from typing import Protocol

from msmq_wire.wire.packets.user_message import UserMessage


class MessageSecurity(Protocol):
    """Checks the signature of a message and opens its body."""

    def check(self, packet: UserMessage) -> UserMessage | int:
        """The message as it is kept: AS says which signature fitted (0: none), and its body is open.

        Or the class with which it is refused: BAD_SIGNATURE for a signature that does not fit, whatever its
        body is, and else BAD_ENCRYPTION for a body that does not open.
        """
