"""NTLM against the bytes of [MS-NLMP] 4.2.4: NTLMv2, extended session security, 128 bit, key exchange."""

from __future__ import annotations

import hashlib
import hmac
import struct

import pytest
from cryptography.hazmat.decrepit.ciphers.algorithms import ARC4
from cryptography.hazmat.primitives.ciphers import Cipher

from msmq_wire.rpc.pdu_protection import ProtectedPdu
from msmq_wire.rpc.unseal.negotiation import TokenNegotiation
from msmq_wire.rpc.unseal.ntlm import ntowf_v2, seal_key, sign_key
from msmq_wire.rpc.unseal.secrets import Secrets, nt_hash
from tests.effort import in_batches

# [MS-NLMP] 4.2.4.3: the user "User" of "Domain" with the password "Password" at the workstation "COMPUTER".
_CHALLENGE = bytes.fromhex(
    "4e544c4d53535000 02000000 0c000c0038000000 33828ae2 0123456789abcdef 0000000000000000 2400240044000000"
    "060070170000000f 530065007200760065007200"
    "02000c0044006f006d00610069006e00 01000c00530065007200760065007200 00000000"
)
_AUTHENTICATE = bytes.fromhex(
    "4e544c4d53535000 03000000 180018006c000000 5400540084000000 0c000c0048000000 0800080054000000"
    "100010005c000000 10001000d8000000 358288e2 0501280a0000000f"
    "44006f006d00610069006e00 5500730065007200 43004f004d0050005500540045005200"
    "86c35097ac9cec102554764a57cccc19aaaaaaaaaaaaaaaa"
    "68cd0ab851e51c96aabc927bebef6a1c 0101000000000000 0000000000000000 aaaaaaaaaaaaaaaa 00000000"
    "02000c0044006f006d00610069006e00 01000c00530065007200760065007200 00000000 00000000"
    "c5dad2544fc9799094ce1ce90bc9d03e"
)
_PLAINTEXT = "Plaintext".encode("utf-16-le")
# [MS-NLMP] 4.2.4.4: what GSS_WrapEx makes of the plain text.
_SEALED = bytes.fromhex("54e50165bf1936dc996020c1811b0f06fb5f")
_SIGNATURE = bytes.fromhex("01000000 7fb38ec5c55d4976 00000000")
_KEY_128, _KEY_56 = 0x20000000, 0x80000000


def _sealed(stub: bytes = _SEALED, signature: bytes = _SIGNATURE, level: int = 6) -> ProtectedPdu:
    return ProtectedPdu(True, level, b"header", stub, b"trailer!", signature, header_signing=False)


def _negotiation(
    *passwords: str, messages: tuple[bytes, bytes] = (_CHALLENGE, _AUTHENTICATE)
) -> TokenNegotiation:
    negotiation = TokenNegotiation(Secrets.of(passwords))
    negotiation.exchange(False, messages[0])
    negotiation.exchange(True, messages[1])
    return negotiation


def test_the_hashes_of_the_document_come_out() -> None:
    assert nt_hash("Password").hex() == "a4f49c406510bdcab6824ee7c30fd852"
    assert ntowf_v2(nt_hash("Password"), "User", "Domain").hex() == "0c868a403bfd7a93a3001ef22ef02e3f"


def test_the_keys_of_the_document_come_out() -> None:
    exported = b"\x55" * 16
    assert seal_key(exported, _KEY_128, from_client=True).hex() == "59f600973cc4960a25480a7c196e4c58"
    assert sign_key(exported, from_client=True).hex() == "4788dc861b4782f35d43fd98fe1a2d39"


def test_the_message_the_document_seals_opens_and_is_genuine() -> None:
    negotiation = _negotiation("Password")
    assert (negotiation.account, negotiation.note) == ("Domain\\User", "")
    opened = negotiation.unwrap(_sealed())
    assert (opened.stub, opened.verified, opened.note) == (_PLAINTEXT, True, "")


def test_the_right_secret_is_found_among_wrong_ones() -> None:
    assert _negotiation("password", "Password", "Passw0rd").unwrap(_sealed()).verified is True


def test_a_wrong_secret_is_told_from_a_right_one_before_it_is_used() -> None:
    negotiation = _negotiation("password")
    assert negotiation.note == "NTLM: the secret is not right for Domain\\User"
    opened = negotiation.unwrap(_sealed())
    assert (opened.stub, opened.verified, opened.note) == (None, None, negotiation.note)


def test_several_wrong_secrets_are_counted_and_not_shown() -> None:
    assert _negotiation("one", "two").note == "NTLM: none of the 2 secrets is right for Domain\\User"


def test_without_secrets_the_note_asks_for_one() -> None:
    assert _negotiation().note == "NTLM: no password or NT hash given for Domain\\User"


def test_a_signed_stub_stays_readable_without_a_key() -> None:
    opened = _negotiation("wrong").unwrap(_sealed(b"in the clear", level=5))
    assert (opened.stub, opened.verified) == (b"in the clear", None)


def test_a_wrong_signature_is_said_and_the_opened_bytes_are_given() -> None:
    opened = _negotiation("Password").unwrap(_sealed(signature=_SIGNATURE[:4] + bytes(8) + bytes(4)))
    assert (opened.stub, opened.verified) == (_PLAINTEXT, False)
    assert opened.note == "NTLM: the signature is wrong"


def test_a_signature_with_another_version_is_wrong() -> None:
    assert _negotiation("Password").unwrap(_sealed(signature=b"\x02" + _SIGNATURE[1:])).verified is False


def test_a_changed_byte_of_the_message_makes_the_signature_wrong() -> None:
    changed = bytes([_SEALED[0] ^ 1]) + _SEALED[1:]
    assert _negotiation("Password").unwrap(_sealed(changed)).verified is False


def test_a_cut_signature_is_wrong_and_said() -> None:
    opened = _negotiation("Password").unwrap(_sealed(signature=_SIGNATURE[:15]))
    assert (opened.verified, opened.note) == (False, "NTLM: a signature of 15 bytes, 16 are needed")


def test_nothing_is_judged_at_connect_level() -> None:
    opened = _negotiation("Password").unwrap(_sealed(b"clear", level=2))
    assert (opened.stub, opened.verified, opened.note) == (b"clear", None, "")


def test_without_the_challenge_the_note_says_so() -> None:
    negotiation = TokenNegotiation(Secrets.of(["Password"]))
    negotiation.exchange(True, _AUTHENTICATE)
    assert negotiation.note == "NTLM: the challenge that Domain\\User answered is not in the capture"


def test_a_handshake_that_stops_is_said_when_a_pdu_comes() -> None:
    negotiation = TokenNegotiation(Secrets.of(["Password"]))
    negotiation.exchange(False, _CHALLENGE)
    assert negotiation.note == ""
    assert negotiation.unwrap(_sealed()).note == "NTLM: the handshake is not whole in the capture"


def test_a_challenge_from_the_client_is_no_challenge() -> None:
    negotiation = TokenNegotiation(Secrets.of(["Password"]))
    negotiation.exchange(True, _CHALLENGE)
    negotiation.exchange(True, _AUTHENTICATE)
    assert "challenge" in negotiation.note


def test_a_handshake_that_begins_again_forgets_the_one_before() -> None:
    negotiation = _negotiation("Password")
    negotiation.exchange(True, b"NTLMSSP\0" + struct.pack("<II", 1, 0xE2088297) + bytes(16))
    assert negotiation.account == ""
    negotiation.exchange(False, _CHALLENGE)
    negotiation.exchange(True, _AUTHENTICATE)
    assert negotiation.unwrap(_sealed()).verified is True


@in_batches(range(len(_AUTHENTICATE)), name="size", every=1)
def test_a_cut_authenticate_message_is_a_note(size: int) -> None:
    negotiation = _negotiation("Password", messages=(_CHALLENGE, _AUTHENTICATE[:size]))
    assert negotiation.unwrap(_sealed()).stub is None
    assert "\n" not in negotiation.note


def test_an_offset_beyond_the_message_is_a_note() -> None:
    lying = bytearray(_AUTHENTICATE)
    struct.pack_into("<I", lying, 40, 0xFFFFFFFF)
    note = _negotiation("Password", messages=(_CHALLENGE, bytes(lying))).note
    assert note.startswith("NTLM: the message is cut at user_name, offset 4294967295")


def test_the_user_name_is_folded_unit_by_unit_as_windows_does() -> None:
    assert ntowf_v2(bytes(16), "stra\u00dfe", "D") != ntowf_v2(bytes(16), "strasse", "D")
    assert ntowf_v2(bytes(16), "\u00fcser", "D") == ntowf_v2(bytes(16), "\u00dcSER", "D")
    assert ntowf_v2(bytes(16), "\U00010428", "D") != ntowf_v2(bytes(16), "\U00010400", "D")


def test_a_weak_key_is_cut_to_its_length_before_it_is_hashed() -> None:
    one, other = b"1234567" + bytes(9), b"1234567" + b"\xff" * 9
    assert seal_key(one, _KEY_56, from_client=True) == seal_key(other, _KEY_56, from_client=True)
    assert seal_key(b"12345" + bytes(11), 0, from_client=False) == seal_key(
        b"12345ab" + bytes(9), 0, from_client=False
    )
    assert seal_key(one, _KEY_128, from_client=True) != seal_key(other, _KEY_128, from_client=True)


def test_ntlm_of_the_first_version_is_named_and_not_opened() -> None:
    first = bytearray(_AUTHENTICATE)
    struct.pack_into("<HH", first, 20, 24, 24)
    note = _negotiation("Password", messages=(_CHALLENGE, bytes(first))).note
    assert note == "NTLM: Domain\\User answered with NTLMv1, which is not opened"


class _Client:
    """Seals and signs with the keys of [MS-NLMP] 4.2.4, as 3.4.4.2 says."""

    def __init__(self, number: int = 0) -> None:
        self._stream = Cipher(ARC4(bytes.fromhex("59f600973cc4960a25480a7c196e4c58")), mode=None).encryptor()
        self._number = number

    def send(self, stub: bytes, level: int = 6, signed: bytes | None = None) -> ProtectedPdu:
        sealed = self._stream.update(stub) if level == 6 else stub
        number = struct.pack("<I", self._number)
        key = bytes.fromhex("4788dc861b4782f35d43fd98fe1a2d39")
        digest = hmac.new(key, number + (stub if signed is None else signed), hashlib.md5).digest()[:8]
        signature = b"\x01\0\0\0" + self._stream.update(digest) + number
        self._number += 1
        return _sealed(sealed, signature, level)


@pytest.mark.parametrize("level", [3, 4, 5])
def test_signed_stubs_move_the_cipher_stream_by_their_signatures(level: int) -> None:
    client, negotiation = _Client(), _negotiation("Password")
    for stub in (b"one", b"", b"three"):
        opened = negotiation.unwrap(client.send(stub, level))
        assert (opened.stub, opened.verified, opened.note) == (stub, True, "")


@pytest.mark.parametrize(("level", "verified"), [(4, True), (5, False), (6, False)])
def test_a_signature_over_nothing_is_right_at_packet_level_only(level: int, verified: bool) -> None:
    opened = _negotiation("Password").unwrap(_Client().send(b"stub", level, signed=b""))
    assert (opened.stub, opened.verified) == (b"stub", verified)


def test_header_signing_is_found_without_being_announced_and_stays() -> None:
    client, negotiation = _Client(), _negotiation("Password")
    for stub in (b"one", b"", b"three"):
        pdu = client.send(stub, signed=b"header" + stub + b"trailer!")
        assert negotiation.unwrap(pdu).verified is True


def test_empty_sealed_stubs_keep_the_cipher_stream_in_step() -> None:
    client, negotiation = _Client(), _negotiation("Password")
    for stub in (b"", b"", b"text", b"", b"more"):
        opened = negotiation.unwrap(client.send(stub))
        assert (opened.stub, opened.verified) == (stub, True)


def test_the_first_number_may_be_one_after_a_mech_list_mic() -> None:
    client, negotiation = _Client(number=1), _negotiation("Password")
    for stub in (b"one", b"two"):
        opened = negotiation.unwrap(client.send(stub))
        assert (opened.verified, opened.note) == (True, "")


def test_a_wrong_signature_does_not_spoil_the_pdus_behind_it() -> None:
    client, negotiation = _Client(), _negotiation("Password")
    assert negotiation.unwrap(client.send(b"one", signed=b"something else")).verified is False
    assert negotiation.unwrap(client.send(b"two")).verified is True


def test_a_megabyte_of_fragments_opens() -> None:
    client, negotiation = _Client(), _negotiation("Password")
    for number in range(256):
        fragment = bytes([number]) * 4096
        opened = negotiation.unwrap(client.send(fragment))
        assert (opened.stub, opened.verified) == (fragment, True)


def test_a_first_number_that_cannot_be_is_wrong_even_with_a_right_signature() -> None:
    assert _negotiation("Password").unwrap(_Client(number=0x7FFFFFFF).send(b"stub")).verified is False


def test_an_anonymous_session_needs_no_secret() -> None:
    # Without names and responses the session key is RC4 under sixteen zeros, [MS-NLMP] 3.3.2.
    encrypted = Cipher(ARC4(bytes(16)), mode=None).encryptor().update(b"\x55" * 16)
    nothing = struct.pack("<HHI", 0, 0, 64)
    message = b"NTLMSSP\0" + struct.pack("<I", 3) + nothing * 5 + struct.pack("<HHI", 16, 16, 64)
    message += struct.pack("<I", 0xE2888235) + encrypted
    negotiation = _negotiation(messages=(_CHALLENGE, message))
    assert (negotiation.account, negotiation.note) == ("ANONYMOUS LOGON", "")
    assert negotiation.unwrap(_sealed()).stub == _PLAINTEXT
