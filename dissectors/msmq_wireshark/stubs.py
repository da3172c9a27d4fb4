# SPDX-License-Identifier: GPL-2.0-or-later
"""Stubs that Wireshark decrypted, for the calls that msmq_wire finds.

The rule kept here: a decrypted stub belongs to the sealed bytes beside it. Where it is not certain which
those are, or that they were decrypted rightly, the call stays sealed.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from msmq_wire.rpc.pdu_protection import (
    AuthenticationLevel,
    Negotiation,
    Negotiator,
    ProtectedPdu,
    Unwrapped,
)

__all__ = ["DecryptedStubs", "bytes_of", "layers_of"]

_ENCRYPTED = "dcerpc_dcerpc_encrypted_stub_data"
_DECRYPTED = "dcerpc_dcerpc_decrypted_stub_data"
_PADDING = "dcerpc_dcerpc_auth_padding"
_PADDING_SIZE = "dcerpc_dcerpc_auth_pad_len"
_NTLM = b"NTLMSSP\0"
_NOTE = "opened by Wireshark: the signature is not checked"
_MAX_HELD = 1 << 26
"""Bytes of stubs that wait for their call; those of connections that are not followed wait in vain."""


def layers_of(layers: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    """The layers of a protocol in a frame, outermost first."""
    found = layers.get(name)
    return [layer for layer in (found if isinstance(found, list) else [found]) if isinstance(layer, dict)]


def bytes_of(value: object) -> bytes:
    """The bytes that tshark prints as ``05:00:0b``; none for what is no such text."""
    if not isinstance(value, str):
        return b""
    try:
        return bytes.fromhex(value.replace(":", ""))
    except ValueError:
        return b""


def _opened(layers: Mapping[str, Any]) -> tuple[bytes, bytes] | None:
    """The sealed stub of a frame that tshark decrypted: sealed bytes, and what is in them with its padding.

    Of several sealed PDUs in a frame tshark 4.0 decrypts the first and shows its bytes for all of them. The
    decrypted stub stands in the layer of its PDU, or behind all layers if the call goes on. On the last PDU
    of a call it is the stub of the whole call, which ends with that of the PDU.
    """
    for layer in layers_of(layers, "dcerpc"):
        sealed = bytes_of(layer.get(_ENCRYPTED))
        if not sealed:
            continue
        size = layer.get(_PADDING_SIZE)
        padding = int(size) if isinstance(size, str) and size.isdecimal() else 0
        clear = bytes_of(layer.get(_DECRYPTED)) or bytes_of(layers.get(_DECRYPTED))
        length = len(sealed) - padding
        if length <= 0 or len(clear) < length:
            return None
        shown = bytes_of(layer.get(_PADDING))
        return sealed, clear[-length:] + (shown if len(shown) == padding else bytes(padding))
    return None


class DecryptedStubs:
    """What tshark decrypted and no call has asked for so far.

    ``negotiator`` opens sealed calls by itself, and comes first: it checks signatures, which tshark does not
    tell about. `negotiation` is the negotiator to give to msmq_wire.
    """

    def __init__(self, negotiator: Negotiator | None = None) -> None:
        self._negotiator = negotiator
        self._stubs: OrderedDict[bytes, list[bytes]] = OrderedDict()
        self._held = 0

    def take(self, layers: Mapping[str, Any]) -> None:
        """Keep the stubs of a frame, before its bytes are read: EK layers by name."""
        if "dcerpc" not in layers:
            return
        opened = _opened(layers)
        if opened is None:
            return
        sealed, clear = opened
        self._stubs.setdefault(sealed, []).append(clear)
        self._held += len(sealed) + len(clear)
        while self._held > _MAX_HELD:
            sealed, waiting = self._stubs.popitem(last=False)
            self._held -= sum(len(sealed) + len(clear) for clear in waiting)

    def pop(self, sealed: bytes) -> bytes | None:
        """What tshark says is in ``sealed``, with padding; every answer is given once, in order."""
        waiting = self._stubs.get(sealed)
        if not waiting:
            return None
        clear = waiting.pop(0)
        if not waiting:
            del self._stubs[sealed]
        self._held -= len(sealed) + len(clear)
        return clear

    def negotiation(self, auth_type: int) -> Negotiation:
        """Open the calls of one security context: a `msmq_wire.rpc.pdu_protection.Negotiator`."""
        return _ByTshark(self, None if self._negotiator is None else self._negotiator(auth_type))


class _ByTshark:
    """A security context whose stubs the own keys open, or else what tshark decrypted.

    NTLM seals all PDUs of a direction as one stream. Where tshark lost its place in it, by a PDU that it did
    not decrypt or not rightly, all that follows is junk to it.
    """

    def __init__(self, stubs: DecryptedStubs, own: Negotiation | None) -> None:
        self._stubs = stubs
        self._own = own
        self._is_stream = False
        self._lost = [False, False]

    def exchange(self, from_client: bool, token: bytes) -> None:
        self._is_stream = self._is_stream or _NTLM in token
        if self._own is not None:
            self._own.exchange(from_client, token)

    def unwrap(self, pdu: ProtectedPdu) -> Unwrapped:
        own = Unwrapped(None, None) if self._own is None else self._own.unwrap(pdu)
        if pdu.level != AuthenticationLevel.PKT_PRIVACY or not pdu.stub:
            return own
        # Asked for even if it is not needed, so that it does not wait for the next PDU with the same bytes.
        clear = self._stubs.pop(pdu.stub)
        padding = b"" if clear is None else clear[len(clear) - min(pdu.trailer[2], len(clear)) :]
        # Senders pad with zeros, or with one other byte.
        credible = clear is not None and len(set(padding)) <= 1
        if not credible and self._is_stream:
            self._lost[pdu.from_client] = True
        if own.stub is not None or not credible or self._lost[pdu.from_client]:
            return own
        return Unwrapped(clear, None, _NOTE)

    @property
    def account(self) -> str:
        return "" if self._own is None else self._own.account

    @property
    def note(self) -> str:
        return "" if self._own is None else self._own.note
