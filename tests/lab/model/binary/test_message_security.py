"""What a queue manager with keys lets through, and what it tells of the rest. [MS-MQQB] 3.1.5.8.3"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from msmq_wire.engines.codec import decode, encode
from msmq_wire.engines.fit import fit
from msmq_wire.lab.message_keys import LabSecurity
from msmq_wire.lab.model.binary.settings import BinarySettings
from msmq_wire.sealing.making import BodySealer, MessageSigner
from msmq_wire.sealing.opening import BodyOpener
from msmq_wire.wire.headers.security_header import SecurityHeader
from msmq_wire.wire.packets.user_message import UserMessage
from msmq_wire.wire.types.enumerations import EncryptionAlgorithm, MessageClass, PrivacyLevel
from tests.lab.model.binary.world import ADMIN, World, bodies, classes, message
from tests.sealing.sealed_scene import certificate, key, queue_lists, sealer_for

INSECURE = BinarySettings(send_insecure_nacks=True)
ALL: dict[str, Any] = {"acknowledge": ["pa", "na"], "admin_queue": ADMIN}
REACHED = MessageClass.MQMSG_CLASS_ACK_REACH_QUEUE
BAD_SIGNATURE = MessageClass.MQMSG_CLASS_NACK_BAD_SIGNATURE
BAD_ENCRYPTION = MessageClass.MQMSG_CLASS_NACK_BAD_ENCRYPTION
AS = {"1.0": 1, "2.0": 3, "3.0": 5}


@pytest.fixture
def world() -> World:
    made = World(settings=INSECURE)
    made.orders.queue_manager.message_security = LabSecurity([key()])
    return made


def signed(**more: Any) -> UserMessage:
    return message(sign=MessageSigner(key(), certificate()), **ALL, **more)


def sealed(**more: Any) -> UserMessage:
    return message(seal=BodySealer(key().public_key()), **ALL, **more)


def changed(packet: UserMessage, stem: str, **fields: Any) -> UserMessage:
    return replace(packet, **{stem: replace(getattr(packet, stem), **fields)})


def secret(packet: UserMessage, **fields: Any) -> UserMessage:
    """A packet with other SecurityData."""
    assert packet.security_header is not None
    data = replace(packet.security_header.security_data, **fields)
    return fit(changed(packet, "security_header", security_data=data))


def reported(world: World, packet: UserMessage) -> list[int]:
    world.outgoing.send(packet)
    world.run(30_000)
    return classes(world.admin)


def stored(world: World) -> UserMessage:
    (position,) = world.orders.message_position_list
    packet = decode(position.message_reference.packet)
    assert isinstance(packet, UserMessage)
    return packet


@pytest.mark.rule("MQQB-3.1.5.8.3-2", "MQQB-3.1.5.8.3-3", "MQQB-3.1.7.1.4-2")
@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_a_signature_that_fits_is_put_down(world: World, version: Any) -> None:
    world.orders.authentication = True
    sign = MessageSigner(key(), certificate(), version=version)
    assert reported(world, message(sign=sign, **ALL)) == [REACHED]
    header = stored(world).security_header
    assert header is not None
    assert header.bit("as") == AS[version]


@pytest.mark.rule("MQQB-3.1.5.8.3-4", "MQQB-3.1.7.1.4-1")
def test_a_signature_for_several_queues_is_put_down(world: World) -> None:
    sign = MessageSigner(key(), certificate())
    packet = message(multi_queue_format_header=queue_lists(), sign=sign, **ALL)
    assert packet.multi_queue_format_header is not None
    assert packet.multi_queue_format_header.signature is not None
    assert reported(world, packet) == [REACHED]
    header = stored(world).security_header
    assert header is not None
    assert header.bit("as") == AS["3.0"]


@pytest.mark.rule(
    "MQQB-3.1.5.8.3-16",
    "MQQB-3.1.5.8.3-20",
    "MQQB-3.1.7.1.5-1",
    "MQQB-3.1.7.1.5-6",
    "MQQB-3.1.7.1.5-7",
    "MQQB-3.1.7.1.5-8",
)
def test_a_body_is_kept_open(world: World) -> None:
    assert reported(world, sealed(sign=MessageSigner(key(), certificate()))) == [REACHED]
    packet = stored(world)
    assert bodies(world.orders) == [b"body"]
    header, properties = packet.security_header, packet.message_properties_header
    assert header is not None
    assert properties is not None
    assert (header.bit("eb"), header.bit("as"), header.security_data.encryption_key) == (0, 3, b"")
    assert (properties.privacy_level, properties.message_size) == (PrivacyLevel.NONE, 4)


@pytest.mark.rule("MQQB-3.1.5.8.3-5")
def test_what_says_of_itself_that_it_is_authenticated_is_not_believed(world: World) -> None:
    world.orders.authentication = True
    packet = message(security_header=SecurityHeader(), **ALL)
    assert packet.security_header is not None
    packet = replace(packet, security_header=packet.security_header.with_bits(**{"as": 3}))
    assert reported(world, packet) == [BAD_SIGNATURE]
    world.orders.authentication = False
    assert reported(world, packet) == [BAD_SIGNATURE, REACHED]
    kept = stored(world).security_header
    assert kept is not None
    assert kept.bit("as") == 0


def _bad_signatures() -> list[Any]:
    good = signed()
    assert good.security_header is not None
    value = bytes(good.security_header.security_data.signature)
    return [
        pytest.param(changed(good, "message_properties_header", message_body=b"bodY"), id="body"),
        pytest.param(secret(good, signature=value[::-1][:-1] + b"\0"), id="signature"),
        pytest.param(secret(good, signature=b"short"), id="no RSA value"),
        pytest.param(secret(good, sender_cert=b""), id="no certificate"),
        pytest.param(secret(good, sender_cert=b"no certificate"), id="not a certificate"),
        pytest.param(secret(good, sender_cert=certificate(1024)), id="of another key"),
        pytest.param(changed(good, "message_properties_header", hash_algorithm=0x8000), id="no hash"),
        # The signature does not cover it, and fits.
        pytest.param(changed(good, "message_properties_header", privacy_level=2), id="no privacy level"),
        pytest.param(
            replace(good, security_header=good.security_header.with_bits(st=1)),
            id="sender not in a directory",
        ),
    ]


@pytest.mark.rule("MQQB-3.1.5.8.3-5", "MQQB-3.1.5.8.3-6", "MQQB-3.1.5.8.3-11")
@pytest.mark.parametrize("packet", _bad_signatures())
def test_every_signature_that_fails_gets_the_same_answer(world: World, packet: UserMessage) -> None:
    assert reported(world, packet) == [BAD_SIGNATURE]
    assert bodies(world.orders) == []


def _not_opened() -> list[Any]:
    good = sealed()
    assert good.security_header is not None
    assert good.message_properties_header is not None
    blob = bytes(good.security_header.security_data.encryption_key)
    body = bytes(good.message_properties_header.message_body)
    turned = next(one for one in _changed_ends(body) if _opened(good, one) is None)
    other = message(seal=sealer_for(1), **ALL)
    properties = "message_properties_header"
    return [
        pytest.param(other, id="for another key"),
        pytest.param(secret(good, encryption_key=b""), id="no key"),
        pytest.param(secret(good, encryption_key=blob[:20]), id="half a key"),
        pytest.param(secret(good, encryption_key=blob[:-1] + b"\xff"), id="no RSA value"),
        pytest.param(changed(good, properties, message_body=turned), id="padding"),
        pytest.param(fit(changed(good, properties, message_body=body[:-1])), id="no whole block"),
        pytest.param(changed(good, properties, encryption_algorithm=0x6603), id="no algorithm"),
        pytest.param(
            changed(good, properties, encryption_algorithm=int(EncryptionAlgorithm.RC2)), id="other algorithm"
        ),
        pytest.param(changed(good, properties, privacy_level=2), id="no privacy level"),
        pytest.param(changed(good, properties, privacy_level=3), id="the level of other algorithms"),
    ]


def _changed_ends(body: bytes) -> Iterator[bytes]:
    return (body[:-1] + bytes((body[-1] ^ turn,)) for turn in range(1, 256))


def _opened(packet: UserMessage, body: bytes) -> bytes | None:
    """What the key makes of another cipher text: by chance a padding fits, where the key is read turned."""
    opening = BodyOpener([key()]).open(changed(packet, "message_properties_header", message_body=body))
    assert opening is not None
    return opening.body


@pytest.mark.rule("MQQB-3.1.5.8.3-12", "MQQB-3.1.5.8.3-13", "MQQB-3.1.5.8.3-21")
@pytest.mark.parametrize("packet", _not_opened())
def test_every_body_that_does_not_open_gets_the_same_answer(world: World, packet: UserMessage) -> None:
    assert reported(world, packet) == [BAD_ENCRYPTION]
    assert bodies(world.orders) == []


@pytest.mark.rule("MQQB-3.1.5.8.3-7", "MQQB-3.1.5.8.3-14")
def test_of_a_transactional_message_the_final_ack_says_the_same(world: World) -> None:
    for packet, expected in (
        (
            changed(signed(kind="transactional"), "message_properties_header", message_body=b"bodY"),
            BAD_SIGNATURE,
        ),
        (message("transactional", seal=sealer_for(1), **ALL), BAD_ENCRYPTION),
    ):
        world.outgoing.send(packet)
        world.run(30_000)
        finals = [record.packet for record in world.records if record.type == "final_ack"]
        assert finals[-1].message_properties_header.message_class == expected


SEALED = sealed()
SIGNED = sealed(sign=MessageSigner(key(), certificate()))


@given(
    data=st.binary(max_size=64), blob=st.binary(max_size=300), signature=st.none() | st.binary(max_size=300)
)
def test_no_bytes_get_another_answer(data: bytes, blob: bytes, signature: bytes | None) -> None:
    before = SEALED if signature is None else SIGNED
    packet = fit(changed(before, "message_properties_header", message_body=data))
    packet = secret(packet, encryption_key=blob)
    if signature is not None:
        packet = secret(packet, signature=signature)
    # An empty signature is none.
    expected = BAD_SIGNATURE if signature else BAD_ENCRYPTION
    assert LabSecurity([key()]).check(decode(encode(packet))) == expected


@pytest.mark.rule("MQQB-3.1.5.8.3-1")
def test_without_security_header_nothing_is_changed() -> None:
    packet = message()
    assert LabSecurity().check(packet) is packet
