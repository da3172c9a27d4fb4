"""Which mechanism a token belongs to, what is said when none can be used, and bytes of an enemy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from msmq_wire.rpc.pdu_protection import Negotiation, ProtectedPdu
from msmq_wire.rpc.unseal.kerberos import KerberosNegotiation
from msmq_wire.rpc.unseal.keytab import KeytabEntry
from msmq_wire.rpc.unseal.negotiation import TokenNegotiation, negotiator
from msmq_wire.rpc.unseal.ntlm import NtlmNegotiation
from msmq_wire.rpc.unseal.protection import one_line
from msmq_wire.rpc.unseal.secrets import Secrets, nt_hash
from tests.effort import share

Oracle = Callable[..., dict[str, Any]]

_KERBEROS_FRAME = bytes.fromhex("600d06092a864886f712010202")
_KEYS = tuple(KeytabEntry("HOST/srv@C", 1, etype, bytes(32 if etype == 18 else 16)) for etype in (17, 18, 23))
_SECRETS = Secrets((bytes(16),), _KEYS)


def _pdu(auth_value: bytes = b"", level: int = 6, stub: bytes = b"stub") -> ProtectedPdu:
    return ProtectedPdu(True, level, b"header", stub, b"trailer!", auth_value, header_signing=False)


def _error(code: int) -> bytes:
    """KRB-ERROR, [RFC 4120] 5.9.1, with what it must have."""
    time = bytes.fromhex("a411180f") + b"20260101000000Z"
    name = bytes.fromhex("aa10300ea003020101a10730051b03737276")
    fields = (
        bytes.fromhex("a003020105a10302011e") + time + bytes.fromhex("a503020100a6030201") + bytes([code])
    )
    fields += bytes.fromhex("a9031b0143") + name
    return bytes([0x7E, len(fields) + 2, 0x30, len(fields)]) + fields


@pytest.mark.parametrize("auth_type", [9, 10, 16])
def test_three_providers_have_a_negotiation(auth_type: int) -> None:
    assert negotiator(Secrets())(auth_type) is not None


@pytest.mark.parametrize("auth_type", [0, 0x0E, 0x44, 0x64, 0xFF])
def test_other_providers_have_none(auth_type: int) -> None:
    assert negotiator(Secrets())(auth_type) is None


def test_without_a_token_a_sealed_stub_is_closed_and_a_signed_one_is_readable() -> None:
    negotiation = TokenNegotiation(Secrets())
    assert (negotiation.account, negotiation.note) == ("", "")
    sealed, signed = negotiation.unwrap(_pdu()), negotiation.unwrap(_pdu(level=5))
    assert (sealed.stub, sealed.verified, sealed.note) == (
        None,
        None,
        "no authentication token in the capture",
    )
    assert (signed.stub, signed.verified) == (b"stub", None)


@pytest.mark.parametrize("token", [b"", bytes(8)])
def test_a_token_of_nothing_says_nothing(token: bytes) -> None:
    negotiation = TokenNegotiation(Secrets())
    negotiation.exchange(True, token)
    assert negotiation.note == ""


def test_a_token_that_nobody_knows_is_noted() -> None:
    negotiation = TokenNegotiation(Secrets())
    negotiation.exchange(True, b"hello")
    assert negotiation.note == "SPNEGO: a token that cannot be read"


def test_negoex_is_named() -> None:
    inner = b"NEGOEXTS" + bytes(8)
    fields = bytes([0xA2, len(inner) + 2, 4, len(inner)]) + inner
    negotiation = TokenNegotiation(Secrets())
    negotiation.exchange(True, bytes([0xA0, len(fields) + 2, 0x30, len(fields)]) + fields)
    assert negotiation.note == "SPNEGO: the first mechanism is NegoEx, which is not opened"


def test_a_refusal_of_the_negotiation_is_noted() -> None:
    negotiation = TokenNegotiation(Secrets())
    negotiation.exchange(False, bytes.fromhex("a1073005a0030a0102"))
    assert negotiation.note == "SPNEGO: the negotiation was refused"


@pytest.mark.parametrize("frame", [b"", _KERBEROS_FRAME + b"\x03\0"])
@pytest.mark.parametrize(("code", "name"), [(37, "KRB_AP_ERR_SKEW"), (77, "77")])
def test_a_refusal_of_kerberos_is_noted_with_its_reason(frame: bytes, code: int, name: str) -> None:
    negotiation = TokenNegotiation(Secrets())
    negotiation.exchange(False, frame + _error(code))
    assert negotiation.note == f"Kerberos: refused with error {name}"


@pytest.mark.check
def test_the_mechanism_that_the_server_chose_replaces_the_first_one(oracle: Oracle) -> None:
    kerberos, ntlm = oracle("scapy", "aes128")["bare-6-header"], oracle("scapy", "ntlm")
    negotiation = TokenNegotiation(Secrets((nt_hash(ntlm["secrets"]["password"]),)))
    negotiation.exchange(True, bytes.fromhex(kerberos["tokens"][0]["bytes"]))
    assert negotiation.note.startswith("Kerberos: no key given for ")
    for token in ntlm["spnego-6-header"]["tokens"]:
        negotiation.exchange(token["from_client"], bytes.fromhex(token["bytes"]))
    assert negotiation.note == ""
    assert negotiation.account.endswith("\\alice")


@pytest.mark.slow
@pytest.mark.parametrize("provider", share(["aes256", "rc4"]))
def test_a_context_of_kerberos_without_its_ap_rep_asks_for_it(oracle: Oracle, provider: str) -> None:
    reported = oracle("scapy", provider)
    talk = reported["bare-6-header"]
    name, kvno, etype, key = reported["secrets"]["keys"][0]
    negotiation = TokenNegotiation(Secrets((), (KeytabEntry(name.lower(), kvno, etype, bytes.fromhex(key)),)))
    negotiation.exchange(True, bytes.fromhex(talk["tokens"][0]["bytes"]))
    pdu = talk["pdus"][1]
    parts = {part: bytes.fromhex(pdu[part]) for part in ("header", "stub", "trailer", "auth_value")}
    opened = negotiation.unwrap(
        ProtectedPdu(from_client=pdu["from_client"], level=6, header_signing=True, **parts)
    )
    if provider == "aes256":
        assert (opened.stub, opened.verified) == (None, None)
        assert opened.note == "Kerberos: no key for this token; the AP-REP brings one"
    else:
        assert (opened.verified, opened.note) == (False, "Kerberos: the signature is wrong")


def test_names_from_the_wire_cannot_break_a_line_or_flood_it() -> None:
    assert one_line("CORP\\a\nb\x1b[31m\ud800") == "CORP\\a\ufffdb\ufffd[31m\ufffd"
    assert len(one_line("x" * 100_000)) == 256


_TOKENS = st.one_of(
    st.binary(max_size=120),
    st.binary(max_size=120).map(lambda data: b"NTLMSSP\0" + data),
    st.binary(max_size=120).map(lambda data: b"NTLMSSP\0\x03\0\0\0" + data),
    st.binary(max_size=120).map(lambda data: bytes([0x6E, len(data)]) + data),
    st.binary(max_size=120).map(lambda data: bytes([0xA1, len(data)]) + data),
    st.binary(max_size=120).map(lambda data: _KERBEROS_FRAME + data),
)
_AUTH_VALUES = st.one_of(
    st.binary(max_size=100),
    st.binary(max_size=100).map(lambda data: b"\x05\x04" + data),
    st.binary(max_size=100).map(lambda data: _KERBEROS_FRAME + b"\x02\x01\x11\0\x10\0" + data),
)


@given(
    tokens=st.lists(st.tuples(st.booleans(), _TOKENS), max_size=5),
    pdus=st.lists(
        st.tuples(st.booleans(), st.integers(0, 255), st.binary(max_size=40), _AUTH_VALUES), max_size=4
    ),
    mechanism=st.sampled_from([TokenNegotiation, NtlmNegotiation, KerberosNegotiation]),
)
def test_no_token_and_no_pdu_raises(
    tokens: list[tuple[bool, bytes]],
    pdus: list[tuple[bool, int, bytes, bytes]],
    mechanism: Callable[[Secrets], Negotiation],
) -> None:
    negotiation = mechanism(_SECRETS)
    for from_client, token in tokens:
        negotiation.exchange(from_client, token)
        assert len(negotiation.note) < 1000
        assert "\n" not in negotiation.note + negotiation.account
    for from_client, level, stub, auth_value in pdus:
        opened = negotiation.unwrap(
            ProtectedPdu(from_client, level, b"h", stub, b"t", auth_value, header_signing=True)
        )
        assert opened.verified is not True
        assert opened.stub is None or len(opened.stub) == len(stub)


@pytest.mark.slow
@pytest.mark.parametrize("provider", share(["ntlm", "aes256", "rc4"], 2))
@given(data=st.data())
def test_a_conversation_with_changed_bytes_raises_nothing(
    oracle: Oracle, provider: str, data: st.DataObject
) -> None:
    reported = oracle("scapy", provider)
    name = data.draw(st.sampled_from(sorted(set(reported) - {"secrets"})))
    keys = tuple(
        KeytabEntry(n, kvno, etype, bytes.fromhex(key)) for n, kvno, etype, key in reported["secrets"]["keys"]
    )
    negotiation = TokenNegotiation(Secrets((nt_hash(reported["secrets"]["password"]),), keys))

    def changed(text: str) -> bytes:
        value = bytearray.fromhex(text)
        if value and data.draw(st.booleans()):
            value[data.draw(st.integers(0, len(value) - 1))] ^= data.draw(st.integers(1, 255))
        return (
            bytes(value[: data.draw(st.integers(0, len(value)))])
            if data.draw(st.booleans())
            else bytes(value)
        )

    for token in reported[name]["tokens"]:
        negotiation.exchange(token["from_client"], changed(token["bytes"]))
    for pdu in reported[name]["pdus"][:4]:
        parts = {part: changed(pdu[part]) for part in ("header", "stub", "trailer", "auth_value")}
        opened = negotiation.unwrap(
            ProtectedPdu(from_client=pdu["from_client"], level=6, header_signing=True, **parts)
        )
        assert opened.stub is None or len(opened.stub) == len(parts["stub"])
