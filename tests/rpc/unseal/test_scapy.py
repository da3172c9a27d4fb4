"""What scapy's providers exchange opens, in both directions and in both readings of what is signed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from msmq_wire.rpc.pdu_protection import AuthenticationType, ProtectedPdu
from msmq_wire.rpc.unseal.keytab import KeytabEntry
from msmq_wire.rpc.unseal.negotiation import negotiator
from msmq_wire.rpc.unseal.secrets import Secrets, nt_hash
from tests.effort import share

Oracle = Callable[..., dict[str, Any]]

_AUTH_TYPES = {
    ("ntlm", "bare"): AuthenticationType.WINNT,
    ("aes128", "bare"): AuthenticationType.GSS_KERBEROS,
    ("aes256", "bare"): AuthenticationType.GSS_KERBEROS,
    ("rc4", "bare"): AuthenticationType.GSS_KERBEROS,
}
_CASES = [
    (provider, frame, level, signed)
    for provider in ("ntlm", "aes128", "aes256", "rc4")
    for frame in ("bare", "spnego")
    for level in ((6,) if provider == "rc4" else (5, 6))
    for signed in ("header", "body")
]


@pytest.mark.check
@pytest.mark.parametrize("announced", [True, False])
@pytest.mark.parametrize(("provider", "frame", "level", "signed"), share(_CASES, 7))
def test_every_pdu_of_both_sides_opens_and_is_genuine(
    oracle: Oracle, provider: str, frame: str, level: int, signed: str, announced: bool
) -> None:
    reported = oracle("scapy", provider)
    talk = reported[f"{frame}-{level}-{signed}"]
    keys = reported["secrets"]["keys"]
    secrets = Secrets(
        (nt_hash(reported["secrets"]["password"]),),
        tuple(KeytabEntry(name, kvno, etype, bytes.fromhex(key)) for name, kvno, etype, key in keys),
    )
    negotiation = negotiator(secrets)(_AUTH_TYPES.get((provider, frame), AuthenticationType.GSS_NEGOTIATE))
    assert negotiation is not None
    for token in talk["tokens"]:
        negotiation.exchange(token["from_client"], bytes.fromhex(token["bytes"]))
    assert negotiation.note == ""
    assert negotiation.account.lower().startswith(("alice@corp.example", "corp.example\\alice"))
    for pdu in talk["pdus"]:
        parts = {name: bytes.fromhex(pdu[name]) for name in ("header", "stub", "trailer", "auth_value")}
        cut = ProtectedPdu(from_client=pdu["from_client"], level=level, header_signing=announced, **parts)
        opened = negotiation.unwrap(cut)
        assert (opened.stub, opened.verified, opened.note) == (bytes.fromhex(pdu["plain"]), True, "")
        if signed == "header" and provider != "ntlm":
            changed = msgspec.structs.replace(cut, header=b"\x05\x01" + cut.header[2:])
            assert negotiation.unwrap(changed).verified is False
