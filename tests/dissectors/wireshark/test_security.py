"""Signed and sealed messages: what tshark shows below the bytes of a session key and of a certificate."""

from __future__ import annotations

from pathlib import Path

import pytest

from fixtures.build_frames import pcap
from fixtures.build_scene import Scene
from msmq_wire import encode
from msmq_wire.sealing.making import BodySealer, MessageSigner
from msmq_wire.wire.types.enumerations import EncryptionAlgorithm
from tests.dissectors.wireshark.tshark_view import run
from tests.sealing.sealed_scene import certificate, key, message

pytestmark = pytest.mark.tshark

_ALGORITHM = "msmq.security_header.security_data.session_key_algorithm"


def _capture(path: Path, *packets: bytes) -> Path:
    scene = Scene()
    connection = scene.connect()
    for packet in packets:
        connection.send(0, packet)
    connection.close()
    path.write_bytes(pcap(scene.frames))
    return path


def signed_and_sealed(path: Path) -> Path:
    """A capture of a message that is signed and encrypted."""
    both = message(sign=MessageSigner(key(), certificate()), seal=BodySealer(key().public_key()))
    return _capture(path, encode(both))


def test_a_session_key_says_for_which_cipher_it_is(tmp_path: Path) -> None:
    sealer = BodySealer(key().public_key(), algorithm=EncryptionAlgorithm.RC4)
    sealed = encode(message(seal=sealer))
    other = sealed.replace(bytes.fromhex("0102000001680000"), bytes.fromhex("0102010001680000"))
    assert other != sealed
    path = _capture(tmp_path / "sealed.pcap", sealed, other)
    reported = run(path, "-Y", "msmq.type == user_message", "-T", "fields", "-e", _ALGORITHM)
    assert reported.splitlines() == [f"{0x6801:#010x}", ""]


def test_a_certificate_is_shown_by_wireshark_itself(tmp_path: Path) -> None:
    signed = encode(message(sign=MessageSigner(key(), certificate())))
    at = signed.index(certificate())
    # The first length inside says more than there is; then the first byte is that of no certificate.
    damaged = signed[: at + 6] + b"\xff\xff" + signed[at + 8 :]
    none = signed[:at] + b"\x31" + signed[at + 1 :]
    path = _capture(tmp_path / "signed.pcap", signed, damaged, none)
    reported = run(
        path, "-Y", "msmq.type == user_message", "-T", "fields",
        "-e", "x509sat.uTF8String", "-e", "msmq.security_header.security_data.sender_cert",
        "-e", "msmq.transaction_header", "-e", "msmq.message_properties_header.label",
    ).splitlines()  # fmt: skip
    names = [line.split("\t")[0] for line in reported]
    assert names[0] == "order service,order service"
    assert names[2] == ""
    # What is behind a damaged certificate is shown all the same.
    assert [line.split("\t")[-1] for line in reported] == ["order 4711"] * 3
