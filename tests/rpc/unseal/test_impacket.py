"""What an impacket client sends opens, and every signature is right.

impacket signs header and body without having set the flag that announces it (NTLM), signs the body only
(Kerberos), and pads with bytes of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from msmq_wire.rpc.pdu_protection import ProtectedPdu, Unwrapped
from msmq_wire.rpc.unseal.keytab import KeytabEntry
from msmq_wire.rpc.unseal.negotiation import TokenNegotiation
from msmq_wire.rpc.unseal.secrets import Secrets, nt_hash

pytestmark = pytest.mark.needs("impacket")

Oracle = Callable[..., dict[str, Any]]
Cut = Callable[[bytes, bool], ProtectedPdu | bytes]

_MECHANISMS = ["ntlm", "anonymous", "aes128", "aes256", "rc4"]


def _secrets(reported: dict[str, Any]) -> Secrets:
    keys = tuple(
        KeytabEntry(name, kvno, etype, bytes.fromhex(key)) for name, kvno, etype, key in reported["keys"]
    )
    return Secrets((nt_hash(reported["password"]),), keys)


def _follow(reported: dict[str, Any], cut: Cut, secrets: Secrets) -> tuple[TokenNegotiation, list[Unwrapped]]:
    negotiation = TokenNegotiation(secrets)
    opened = []
    for pdu in reported["pdus"]:
        part = cut(bytes.fromhex(pdu["bytes"]), pdu["from_client"])
        if isinstance(part, bytes):
            negotiation.exchange(pdu["from_client"], part)
        else:
            opened.append(negotiation.unwrap(part))
    return negotiation, opened


@pytest.mark.slow
@pytest.mark.parametrize("level", [5, 6])
@pytest.mark.parametrize("mechanism", _MECHANISMS)
def test_every_request_opens_and_is_genuine(oracle: Oracle, cut: Cut, mechanism: str, level: int) -> None:
    reported = oracle("impacket", mechanism, level)
    negotiation, opened = _follow(reported, cut, _secrets(reported["secrets"]))
    assert (negotiation.account, negotiation.note) == (reported["account"], "")
    stubs = [bytes.fromhex(stub) for stub in reported["stubs"]]
    assert len(opened) == len(stubs)
    for found, stub in zip(opened, stubs, strict=True):
        assert (found.verified, found.note) == (True, "")
        assert found.stub is not None
        assert (found.stub[: len(stub)], len(found.stub) - len(stub) < 16) == (stub, True)


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", ["aes128", "aes256", "rc4"])
def test_without_the_right_key_the_note_names_the_service(oracle: Oracle, cut: Cut, mechanism: str) -> None:
    reported = oracle("impacket", mechanism, 6)
    negotiation, opened = _follow(reported, cut, Secrets())
    assert (
        negotiation.note
        == f"Kerberos: no key given for HOST/queue.corp.example@CORP.EXAMPLE ({mechanism}, kvno 3)"
    )
    assert {(found.stub, found.verified, found.note) for found in opened} == {(None, None, negotiation.note)}
    wrong = tuple(
        KeytabEntry(e.principal, e.kvno, e.etype, bytes(len(e.key)))
        for e in _secrets(reported["secrets"]).keys
    )
    other, _ = _follow(reported, cut, Secrets((), wrong))
    assert other.note == (
        f"Kerberos: 1 key tried and none right for HOST/queue.corp.example@CORP.EXAMPLE ({mechanism}, kvno 3)"
    )


@pytest.mark.slow
def test_an_nt_hash_opens_tickets_of_rc4(oracle: Oracle, cut: Cut) -> None:
    reported = oracle("impacket", "rc4", 6)
    key = bytes.fromhex(reported["secrets"]["keys"][0][3])
    _, opened = _follow(reported, cut, Secrets((bytes(16), key)))
    assert [found.verified for found in opened] == [True] * len(reported["stubs"])


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", _MECHANISMS)
def test_a_request_that_comes_again_is_not_genuine(oracle: Oracle, cut: Cut, mechanism: str) -> None:
    reported = dict(oracle("impacket", mechanism, 6))
    reported["pdus"] = [*reported["pdus"], reported["pdus"][-1]]
    _, opened = _follow(reported, cut, _secrets(reported["secrets"]))
    assert [found.verified for found in opened] == [True] * len(reported["stubs"]) + [False]


@pytest.mark.parametrize("mechanism", ["aes256", "rc4"])
def test_a_lost_request_is_noted_and_the_next_one_still_opens(
    oracle: Oracle, cut: Cut, mechanism: str
) -> None:
    reported = dict(oracle("impacket", mechanism, 6))
    reported["pdus"] = [*reported["pdus"][:-3], reported["pdus"][-1]]
    _, opened = _follow(reported, cut, _secrets(reported["secrets"]))
    assert (opened[-1].verified, opened[-1].note) == (
        True,
        "Kerberos: 2 protected PDUs before this one not in the capture",
    )


@pytest.mark.slow
def test_a_lost_request_of_ntlm_takes_its_part_of_the_cipher_stream_along(oracle: Oracle, cut: Cut) -> None:
    reported = dict(oracle("impacket", "ntlm", 6))
    reported["pdus"] = [*reported["pdus"][:-3], reported["pdus"][-1]]
    _, opened = _follow(reported, cut, _secrets(reported["secrets"]))
    assert opened[-1].verified is False
    assert opened[-1].note == (
        "NTLM: the signature is wrong; by its number 2 protected PDUs before this one not in the capture"
    )


@pytest.mark.slow
@pytest.mark.parametrize("level", [5, 6])
@pytest.mark.parametrize("mechanism", _MECHANISMS)
def test_a_changed_byte_anywhere_is_found(oracle: Oracle, cut: Cut, mechanism: str, level: int) -> None:
    reported = oracle("impacket", mechanism, level)
    _, honest = _follow(reported, cut, _secrets(reported["secrets"]))
    assert honest[1].verified is True
    size = len(bytes.fromhex(reported["pdus"][-4]["bytes"]))
    for at in range(size - 40, size):
        changed = dict(reported)
        pdu = reported["pdus"][-4]
        data = bytearray.fromhex(pdu["bytes"])
        part = cut(bytes(data), True)
        assert isinstance(part, ProtectedPdu)
        start = len(part.header) + len(part.stub)
        # Without header signing nothing protects the sec_trailer, and in RC4's frame nothing its length.
        if start <= at < start + len(part.trailer) or (
            mechanism == "rc4" and at == start + len(part.trailer) + 1
        ):
            continue
        data[at] ^= 0x20
        changed["pdus"] = [*reported["pdus"][:-4], {"from_client": True, "bytes": bytes(data).hex()}]
        _, opened = _follow(changed, cut, _secrets(reported["secrets"]))
        if (mechanism, level) == ("rc4", 5):
            # Nothing signs the sequence number of a MIC token of RC4: a small lie reads as a gap.
            assert opened[1].verified is False or "not in the capture" in opened[1].note, at
        else:
            assert opened[1].verified is False, at
