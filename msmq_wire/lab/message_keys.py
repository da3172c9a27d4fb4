"""The keys of a lab: they check signatures and open bodies. [MS-MQQB] 3.1.5.8.3

The rule kept here: every failure to open gives the same answer, and so does every signature that fails.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from msgspec.structs import replace

from msmq_wire.engines.fit import fit
from msmq_wire.sealing.ciphers import LEVELS
from msmq_wire.sealing.opening import BodyOpener
from msmq_wire.sealing.verifying import Verifier
from msmq_wire.wire.packets.user_message import UserMessage
from msmq_wire.wire.types.enumerations import MessageClass, PrivacyLevel

_AUTHENTICATED: Final[Mapping[str | None, int]] = {"1.0": 0x1, "2.0": 0x3, "3.0": 0x5}
"""AS of SecurityHeader by the version that fitted."""


class LabSecurity:
    """Checks what comes; ``keys`` are those of `BodyOpener`, without any no body opens.

    A sender that gives its SID proves it with a certificate in the directory; there is no directory here, so
    its signature does not count as right.
    """

    def __init__(self, keys: Iterable[Any] = ()) -> None:
        self._opener = BodyOpener(keys)
        self._verifier = Verifier()

    def check(self, packet: UserMessage) -> UserMessage | int:
        """As `MessageSecurity.check`."""
        header, properties = packet.security_header, packet.message_properties_header
        if header is None or properties is None:
            return packet
        opening = self._opener.open(packet)
        signature = self._verifier.check(packet, opened=opening)
        level = properties.privacy_level
        # [MS-MQMQ] 2.2.19.3 has other levels fail the authentication.
        wrong = header.bit("st") or level not in (PrivacyLevel.NONE, *LEVELS)
        if signature is not None and (signature.verdict != "verified" or wrong):
            return MessageClass.MQMSG_CLASS_NACK_BAD_SIGNATURE
        version = None if signature is None else signature.version
        header = header.with_bits(**{"as": _AUTHENTICATED.get(version, 0)})
        if opening is not None:
            if opening.body is None or properties.encryption_algorithm not in LEVELS.get(level, ()):
                return MessageClass.MQMSG_CLASS_NACK_BAD_ENCRYPTION
            # What is kept is open, and says so: readers would take PrivacyLevel for that of its bytes.
            size = len(opening.body)
            properties = replace(
                properties,
                message_body=opening.body,
                message_size=size,
                allocation_body_size=size,
                privacy_level=PrivacyLevel.NONE,
            )
            data = replace(header.security_data, encryption_key=b"")
            header = replace(header, security_data=data).with_bits(eb=0)
        return fit(replace(packet, security_header=header, message_properties_header=properties))
