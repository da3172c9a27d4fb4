"""Helpers of all mechanisms for PDUs: signed parts, sequence numbers, notes."""

from __future__ import annotations

from enum import Enum

from msmq_wire.invisible import shown
from msmq_wire.rpc.pdu_protection import AuthenticationLevel, ProtectedPdu, Unwrapped

_LONGEST_TEXT = 256
_LONGEST_GAP = 1 << 20  # a number further ahead was not caused by loss


class SignedParts(Enum):
    """The segments of a PDU that a signature covers, [MS-RPCE] 3.3.1.5.2.2."""

    PDU = "header, body and sec_trailer"
    BODY = "body"
    NOTHING = "nothing"

    def message(self, pdu: ProtectedPdu, body: bytes) -> bytes:
        """Return the signed bytes; ``body`` is the decrypted stub with its padding."""
        if self is SignedParts.PDU:
            return b"".join((pdu.header, body, pdu.trailer))
        return body if self is SignedParts.BODY else b""


class Readings:
    """The parts that the peers of one connection sign.

    Bind and bind_ack negotiate it, but some peers sign the header without negotiation. The reading that was
    valid last is tried first.
    """

    def __init__(self) -> None:
        self._settled: SignedParts | None = None

    def candidates(self, pdu: ProtectedPdu) -> tuple[SignedParts, ...]:
        """Return the readings to try, the likeliest first."""
        order = [SignedParts.PDU, SignedParts.BODY]
        if not pdu.header_signing:
            order.reverse()
        if pdu.level < AuthenticationLevel.PKT_INTEGRITY:
            # By the letter, a packet-level signature covers no segment; peers sign as for integrity.
            order.append(SignedParts.NOTHING)
        if self._settled in order:
            order.remove(self._settled)
            order.insert(0, self._settled)
        return tuple(order)

    def settle(self, parts: SignedParts) -> None:
        """Remember the reading with a valid signature."""
        self._settled = parts


class SequenceNumbers:
    """The sequence numbers of one direction.

    ``expected`` is the next number, None while the first PDU may have any.
    """

    def __init__(self, expected: int | None, bits: int) -> None:
        self._expected = expected
        self._modulus = 1 << bits

    def missing(self, number: int) -> int:
        """Return the number of PDUs missing before this one; -1 for an impossible number."""
        if self._expected is None:
            return 0
        ahead = (number - self._expected) % self._modulus
        return ahead if ahead <= _LONGEST_GAP else -1

    def accept(self, number: int) -> None:
        """Continue after a valid PDU."""
        self._expected = (number + 1) % self._modulus

    def skip(self) -> None:
        """Continue after an invalid PDU, which used up one number."""
        if self._expected is not None:
            self._expected = (self._expected + 1) % self._modulus

    def judge(self, number: int, mechanism: str) -> tuple[bool, str]:
        """Take the number of a PDU with a valid signature; return whether the PDU is genuine, and a note.

        PDUs that are missing from the capture do not invalidate the next one. A repeated PDU is a replay.
        """
        missing = self.missing(number)
        if missing < 0:
            return False, f"{mechanism}: sequence number {number} comes again or out of order"
        self.accept(number)
        if missing:
            return True, f"{mechanism}: {plural(missing, 'protected PDU')} before this one not in the capture"
        return True, ""


def closed(pdu: ProtectedPdu, note: str) -> Unwrapped:
    """Return a PDU that could not be verified; a stub that is not sealed is readable."""
    sealed = pdu.level >= AuthenticationLevel.PKT_PRIVACY
    return Unwrapped(None if sealed else pdu.stub, None, note)


def one_line(text: str) -> str:
    """Make text from the wire safe for a note: printable, on one line, of bounded length."""
    short = text if len(text) <= _LONGEST_TEXT else text[: _LONGEST_TEXT - 3] + "..."
    return shown(short, lambda _: "\ufffd")


def number_text(value: int) -> str:
    """Return the digits of a 32-bit number; an integer on the wire may be far longer."""
    return str(value) if -(1 << 31) <= value < 1 << 32 else "out of range"


def plural(count: int, noun: str) -> str:
    """Return ``1 secret``, ``2 secrets``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
