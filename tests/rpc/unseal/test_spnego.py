"""SPNEGO tokens written by hand, after [RFC 4178] 4.2 and [MS-SPNG] 2.2.1."""

from __future__ import annotations

import pytest

from msmq_wire.rpc.unseal.gss import FramedToken, first_element, unframe
from msmq_wire.rpc.unseal.spnego import NegotiationToken, parse_spnego

_SPNEGO = bytes.fromhex("06062b0601050502")
_NTLM, _KERBEROS = bytes.fromhex("060a2b06010401823702020a"), bytes.fromhex("06092a864886f712010202")
_NTLM_NAME, _KERBEROS_NAME = "1.3.6.1.4.1.311.2.2.10", "1.2.840.113554.1.2.2"


def _der(tag: int, *parts: bytes) -> bytes:
    content = b"".join(parts)
    size = len(content)
    length = [size] if size < 128 else [0x81, size] if size < 256 else [0x82, size >> 8, size & 255]
    return bytes([tag, *length]) + content


def _init(*fields: bytes) -> bytes:
    return _der(0x60, _SPNEGO, _der(0xA0, _der(0x30, *fields)))


def _response(*fields: bytes) -> bytes:
    return _der(0xA1, _der(0x30, *fields))


_MECHANISMS = _der(0xA0, _der(0x30, _KERBEROS, _NTLM))
_TOKEN = _der(0xA2, _der(0x04, b"token"))


def test_an_init_gives_its_mechanisms_and_its_token() -> None:
    flags = _der(0xA1, bytes.fromhex("03020640"))
    mic = _der(0xA3, _der(0x04, b"mic"))
    for token in (_init(_MECHANISMS, _TOKEN), _init(_MECHANISMS, flags, _TOKEN, mic)):
        assert parse_spnego(token) == NegotiationToken((_KERBEROS_NAME, _NTLM_NAME), b"token")


def test_an_init_without_its_frame_is_read_too() -> None:
    assert parse_spnego(_der(0xA0, _der(0x30, _MECHANISMS, _TOKEN))) == parse_spnego(
        _init(_MECHANISMS, _TOKEN)
    )


def test_the_hints_of_windows_are_passed_over() -> None:
    hints = _der(0xA3, _der(0x30, _der(0xA0, _der(0x1B, b"not_defined_in_RFC4178@please_ignore"))))
    assert parse_spnego(_init(_MECHANISMS, hints)) == NegotiationToken((_KERBEROS_NAME, _NTLM_NAME))


def test_a_long_token_is_read() -> None:
    token = parse_spnego(_init(_MECHANISMS, _der(0xA2, _der(0x04, bytes(5000)))))
    assert token is not None
    assert token.token == bytes(5000)


def test_a_response_gives_its_token_and_its_mechanism() -> None:
    state = _der(0xA0, bytes.fromhex("0a0101"))
    mic = _der(0xA3, _der(0x04, b"mic"))
    token = parse_spnego(_response(state, _der(0xA1, _NTLM), _TOKEN, mic))
    assert token == NegotiationToken((_NTLM_NAME,), b"token")


def test_a_response_with_a_mic_only_has_no_token() -> None:
    assert parse_spnego(_response(_der(0xA0, bytes.fromhex("0a0100")), _der(0xA3, _der(0x04, b"mic")))) == (
        NegotiationToken()
    )


def test_a_refusal_is_seen() -> None:
    token = parse_spnego(_response(_der(0xA0, bytes.fromhex("0a0102"))))
    assert token == NegotiationToken(rejected=True)


def test_zeros_behind_a_token_are_ignored() -> None:
    assert parse_spnego(_response(_TOKEN) + bytes(9)) == NegotiationToken((), b"token")
    assert parse_spnego(_init(_MECHANISMS, _TOKEN) + bytes(9)) == parse_spnego(_init(_MECHANISMS, _TOKEN))


@pytest.mark.parametrize("token", [_init(_MECHANISMS, _TOKEN), _response(_TOKEN)])
def test_a_cut_token_is_no_token(token: bytes) -> None:
    for size in range(len(token)):
        assert parse_spnego(token[:size]) is None, size


@pytest.mark.parametrize(
    "token", [_der(0x60, _KERBEROS, b"x"), _der(0xA2, b""), _der(0xA1, b"\x30\x05"), b"\xa0\x80\0\0"]
)
def test_other_bytes_are_no_token(token: bytes) -> None:
    assert parse_spnego(token) is None


def test_a_frame_comes_off_whatever_length_it_states() -> None:
    assert unframe(_der(0x60, _KERBEROS, b"inner")) == FramedToken(_KERBEROS, b"inner")
    assert unframe(b"\x60\x0b" + _KERBEROS + b"beyond") == FramedToken(_KERBEROS, b"beyond")
    assert unframe(_der(0x60, _KERBEROS, bytes(300))) == FramedToken(_KERBEROS, bytes(300))
    assert unframe(b"\x60\x85" + bytes(5) + _KERBEROS) is None
    assert unframe(b"\x60\x05" + _KERBEROS[:8]) is None


def test_the_first_element_is_cut_from_what_follows() -> None:
    assert first_element(_der(0x30, b"abc") + b"zzz") == _der(0x30, b"abc")
    assert first_element(_der(0x30, bytes(300)) + b"zzz") == _der(0x30, bytes(300))
    assert first_element(b"\x30\x7fab") == b"\x30\x7fab"
    assert first_element(b"\x30") == b"\x30"
