"""RC4 against [RFC 6229] 2, by OpenSSL and without it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from cryptography.exceptions import UnsupportedAlgorithm

from msmq_wire.rpc.unseal import rc4 as module
from msmq_wire.rpc.unseal.rc4 import PlainRc4, Rc4Stream, rc4, rc4_stream

_KEY = bytes(range(1, 17))
# Key 0x0102...10: the stream at offsets 0, 16, 240 and 256.
_BEGINNING = bytes.fromhex("9ac7cc9a609d1ef7b2932899cde41b97 5248c4959014126a6e8a84f11d1a9e1c")
_LATER = bytes.fromhex("065902e4b620f6cc36c8589f66432f2b d39d566bc6bce3010768151549f3873f")


@pytest.mark.parametrize("make", [rc4_stream, lambda key: PlainRc4(key).update])
def test_the_stream_of_the_document_comes_out_in_pieces(make: Callable[[bytes], Rc4Stream]) -> None:
    stream = make(_KEY)
    assert b"".join(stream(bytes(size)) for size in (1, 0, 15, 16)) == _BEGINNING
    stream(bytes(240 - 32))
    assert stream(bytes(32)) == _LATER


def test_a_build_without_rc4_falls_back_to_the_plain_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise UnsupportedAlgorithm("no legacy provider")

    monkeypatch.setattr(module, "Cipher", refuse)
    assert rc4(_KEY, bytes(32)) == _BEGINNING
