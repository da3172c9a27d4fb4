"""Transfer buffers as messages, [MS-MQMP] 3.1.1.11, 3.1.5.2 and 3.1.5.3."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from msmq_wire.rpc.ndr import (
    NDR,
    NDR64,
    NDR_BIG_ENDIAN,
    NULL_POINTEE,
    StubValue,
    Syntax,
    decode_stub,
    encode_stub,
    inspect_stub,
)
from msmq_wire.rpc.properties import PropertyKind, property_name
from msmq_wire.rpc.transfer_properties import (
    PRIVACY_LEVELS,
    TRANSLATIONS,
    MessageProperties,
    message_properties,
)
from msmq_wire.rpc.types.cac_transfer_buffer import (
    CAC_TRANSFER_BUFFER_V2,
    CACCreateRemoteCursor,
    CACTransferBufferV1,
    CACTransferBufferV2,
    TransferReceive,
    TransferSend,
)
from msmq_wire.rpc.types.queue_format import DlId, MulticastId, ObjectId, QueueFormat
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.wchar_text import WcharText

QM = GUID.parse("7b1f3c52-9a0e-4d61-8f27-c4e8d1a05b93")
DIRECT = QueueFormat(m_qft=3, arm=WcharText.of(r"OS:host\private$\q"))
GARBAGE = b"\xdb" * 600


def buffer(kind: int, arm: Any, **old: Any) -> CACTransferBufferV2:
    """A buffer of a kind; members of the second version are told by their names."""
    outer = {
        name: old.pop(name) for name in ("pb_first_in_xact", "pb_last_in_xact", "pp_xact_id") if name in old
    }
    return CACTransferBufferV2(old=CACTransferBufferV1(u_transfer_type=kind, arm=arm, **old), **outer)


def sent(
    *, admin: QueueFormat | None = None, response: QueueFormat | None = None, **old: Any
) -> CACTransferBufferV2:
    return buffer(0, TransferSend(p_admin_queue_format=admin, p_response_queue_format=response), **old)


def received(arm: TransferReceive | None = None, **old: Any) -> CACTransferBufferV2:
    return buffer(1, arm or TransferReceive(), **old)


def members(value: Any, names: str) -> dict[str, Any]:
    """Members that have one value."""
    return dict.fromkeys(names.split(), value)


def room_for_everything() -> CACTransferBufferV2:
    """The request of rpc_ACReceiveMessageEx that wants every property, with garbage in all of its room."""
    text = WcharText(b"\xdb\xdb" * 100)
    arm = TransferReceive(
        action=0x80000000,
        **members(
            100,
            "ul_response_format_name_len pul_response_format_name_len_prop ul_admin_format_name_len "
            "pul_admin_format_name_len_prop ul_dest_format_name_len pul_dest_format_name_len_prop "
            "ul_ordering_format_name_len pul_ordering_format_name_len_prop",
        ),
        **members(
            text,
            "pp_response_format_name pp_admin_format_name pp_dest_format_name pp_ordering_format_name",
        ),
    )
    return received(
        arm,
        p_class=0xDBDB,
        **members(ObjectId(lineage=GUID(GARBAGE[:16]), uniquifier=0xDBDBDBDB), "pp_message_id pp_xact_id"),
        pp_correlation_id=GARBAGE[:20],
        **members(
            0xDBDBDBDB,
            "p_sent_time p_arrived_time p_application_tag p_body_size pul_relative_time_to_queue "
            "pul_relative_time_to_live pul_sender_id_type pul_sender_id_len_prop pul_priv_level "
            "pul_hash_alg pul_encrypt_alg pul_sender_cert_len_prop pul_auth_prov_name_len_prop "
            "pul_prov_type pul_symm_keys_size_prop pul_signature_size_prop p_msg_extension_size "
            "pul_body_type pul_version",
        ),
        **members(
            0xDB,
            "p_priority p_delivery p_acknowledge p_auditing p_trace p_authenticated pb_first_in_xact "
            "pb_last_in_xact",
        ),
        **members(
            GARBAGE[:64],
            "pp_body pp_sender_id pp_sender_cert pp_symm_keys pp_signature pp_msg_extension",
        ),
        **members(
            64,
            "ul_body_buffer_size_in_bytes ul_alloc_body_buffer_in_bytes ul_sender_cert_len "
            "ul_symm_keys_size u_sender_id_len ul_signature_size ul_msg_extension_buffer_in_bytes",
        ),
        **members(text, "pp_title ppwcs_prov_name"),
        **members(100, "ul_title_buffer_size_in_wchars pul_title_buffer_size_in_wchars ul_prov_name_len"),
        **members(GUID(GARBAGE[:16]), "pp_src_qmid pp_connector_type"),
    )


def test_memory_of_the_client_is_never_message_data() -> None:
    assert message_properties(room_for_everything(), filled=False) == MessageProperties()


def test_a_message_that_is_sent_shows_its_properties() -> None:
    message = sent(
        admin=DIRECT,
        response=QueueFormat(m_qft=1, arm=QM),
        p_class=0x0000,
        pp_correlation_id=bytes(range(20)),
        p_priority=5,
        p_delivery=1,
        p_acknowledge=0x0E,
        p_auditing=2,
        p_application_tag=77,
        pp_body=b"hello",
        ul_body_buffer_size_in_bytes=5,
        ul_alloc_body_buffer_in_bytes=8,
        pp_title=WcharText.of("order"),
        ul_title_buffer_size_in_wchars=6,
        ul_absolute_time_to_queue=345600,
        ul_relative_time_to_live=0xFFFFFFFF,
        p_trace=1,
        pul_sender_id_type=1,
        pp_sender_id=b"\x01\x01\0\0\0\0\0\5\x12\0\0\0",
        u_sender_id_len=12,
        pul_priv_level=1,
        pul_hash_alg=0x8004,
        pul_encrypt_alg=0x6602,
        pp_msg_extension=b"\x01\x02\x03",
        ul_msg_extension_buffer_in_bytes=3,
        pp_connector_type=QM,
        pul_body_type=0x101F,
    )
    assert message_properties(message) == MessageProperties(
        message_class=0,
        correlation_identifier=bytes(range(20)),
        priority=5,
        delivery_guarantee=1,
        acknowledgements_requested=0x0E,
        positive_journaling_requested=True,
        negative_journaling_requested=False,
        application_tag=77,
        label=WcharText("order".encode("utf-16-le")),
        body_type=0x101F,
        body=b"hello",
        body_length=5,
        body_encrypted=False,
        extension=b"\x01\x02\x03",
        administration_queue_format_name=r"DIRECT=OS:host\private$\q",
        response_queue_format_name="PUBLIC=7b1f3c52-9a0e-4d61-8f27-c4e8d1a05b93",
        time_to_reach_queue=345600,
        time_to_be_received=0xFFFFFFFF,
        tracing_requested=True,
        connector_type_identifier=QM,
        sender_identifier_type=1,
        sender_identifier=b"\x01\x01\0\0\0\0\0\5\x12\0\0\0",
        hash_algorithm=0x8004,
        privacy_level=1,
        encryption_algorithm=0x6602,
    )


def test_members_that_the_server_ignores_say_nothing_of_a_sent_message() -> None:
    ignored = sent(
        **members(ObjectId(uniquifier=1), "pp_message_id pp_xact_id"),
        **members(
            1,
            "p_sent_time p_arrived_time p_body_size pul_title_buffer_size_in_wchars "
            "pul_relative_time_to_queue pul_relative_time_to_live pul_sender_id_len_prop ul_auth_level "
            "p_authenticated b_authenticated pul_sender_cert_len_prop pul_symm_keys_size_prop "
            "pul_signature_size_prop p_msg_extension_size pb_first_in_xact pb_last_in_xact",
        ),
        pp_src_qmid=QM,
        pul_version=0x10,
    )
    assert message_properties(ignored) == message_properties(sent())


def test_a_time_to_reach_queue_of_0_is_no_limit() -> None:
    assert message_properties(sent(ul_absolute_time_to_queue=0)).time_to_reach_queue == 0xFFFFFFFF


def test_an_encrypted_body_is_told() -> None:
    assert message_properties(sent(b_encrypted=1)).body_encrypted is True


def test_one_signature_is_the_signature() -> None:
    found = message_properties(sent(pp_signature=b"s" * 64, ul_signature_size=64))
    assert (found.signature, found.leading_signature) == (b"s" * 64, None)


def test_of_two_signatures_the_second_counts() -> None:
    # The name takes 44 characters, so 108 - 44 = 64 bytes of 128 are the second signature.
    found = message_properties(
        sent(
            pp_signature=b"1" * 64 + b"2" * 64,
            ul_signature_size=128,
            ul_prov_name_len=44,
            pul_auth_prov_name_len_prop=108,
        )
    )
    assert (found.signature, found.leading_signature) == (b"2" * 64, b"1" * 64)
    assert found.problems == ()


@pytest.mark.parametrize("in_use", [43, 44 + 129, 0xFFFFFFFF])
def test_a_second_signature_that_does_not_fit_is_a_problem(in_use: int) -> None:
    found = message_properties(
        sent(
            pp_signature=b"s" * 128,
            ul_signature_size=128,
            ul_prov_name_len=44,
            pul_auth_prov_name_len_prop=in_use,
        )
    )
    assert found.signature == b"s" * 128
    assert [problem.split(":")[0] for problem in found.problems] == ["signature"]


def test_a_buffer_that_was_filled_ends_where_its_length_says() -> None:
    title = WcharText("Done\0".encode("utf-16-le") + GARBAGE[:40])
    found = message_properties(
        received(
            TransferReceive(
                ul_dest_format_name_len=40,
                pp_dest_format_name=WcharText(WcharText.of(r"DIRECT=OS:a\q") + GARBAGE[:52]),
                pul_dest_format_name_len_prop=14,
                ul_admin_format_name_len=20,
                pp_admin_format_name=WcharText(GARBAGE[:40]),
                pul_admin_format_name_len_prop=0,
            ),
            p_class=0x4000,
            pp_message_id=ObjectId(lineage=QM, uniquifier=0x1001),
            p_sent_time=1_700_000_000,
            p_arrived_time=1_700_000_002,
            pp_body=b"payload" + GARBAGE[:57],
            ul_body_buffer_size_in_bytes=64,
            ul_alloc_body_buffer_in_bytes=64,
            p_body_size=7,
            pp_title=title,
            ul_title_buffer_size_in_wchars=25,
            pul_title_buffer_size_in_wchars=5,
            ul_absolute_time_to_queue=0xDBDBDBDB,
            pul_relative_time_to_queue=100,
            pul_relative_time_to_live=200,
            pp_sender_id=b"sid" + GARBAGE[:10],
            u_sender_id_len=13,
            pul_sender_id_len_prop=3,
            pul_priv_level=2,
            p_authenticated=3,
            pp_signature=GARBAGE[:64],
            ul_signature_size=64,
            pul_signature_size_prop=0,
            pp_src_qmid=QM,
            b_encrypted=0xDB,
        )
    )
    assert found == MessageProperties(
        message_class=0x4000,
        identifier=ObjectId(lineage=QM, uniquifier=0x1001),
        sent_time=1_700_000_000,
        arrival_time=1_700_000_002,
        label=WcharText("Done".encode("utf-16-le")),
        body=b"payload",
        body_length=7,
        destination_queue_format_name=r"DIRECT=OS:a\q",
        time_to_reach_queue=100,
        time_to_be_received=200,
        source_machine_identifier=QM,
        sender_identifier=b"sid",
        authentication_level=3,
        privacy_level=3,
    )


def test_a_body_larger_than_its_buffer_is_said_to_be_cut() -> None:
    found = message_properties(received(pp_body=b"x" * 16, ul_body_buffer_size_in_bytes=16, p_body_size=4096))
    assert (found.body, found.body_length, found.truncated) == (b"x" * 16, 4096, ("body",))


def test_a_label_larger_than_its_buffer_is_said_to_be_cut() -> None:
    found = message_properties(
        received(pp_title=WcharText("ab".encode("utf-16-le")), pul_title_buffer_size_in_wchars=9)
    )
    assert found.label == "ab".encode("utf-16-le")
    assert found.truncated == ("label",)


def test_a_provider_name_whose_length_counts_a_signature_too_is_not_cut() -> None:
    name = WcharText.of("Microsoft Base Cryptographic Provider, v1.0")
    found = message_properties(received(ppwcs_prov_name=name, pul_auth_prov_name_len_prop=44 + 64))
    assert found.authentication_provider_name is not None
    assert found.authentication_provider_name.text == "Microsoft Base Cryptographic Provider, v1.0"
    assert found.truncated == ()


def test_a_body_whose_length_was_not_asked_for_is_not_trusted_to_its_end() -> None:
    found = message_properties(received(pp_body=b"payload" + GARBAGE[:9], ul_body_buffer_size_in_bytes=16))
    assert found.body == b"payload" + GARBAGE[:9]
    assert [problem.split(":")[0] for problem in found.problems] == ["body"]


def test_an_empty_body_and_an_empty_label_are_there() -> None:
    found = message_properties(
        received(
            pp_body=GARBAGE[:8],
            p_body_size=0,
            pp_title=WcharText(GARBAGE[:8]),
            pul_title_buffer_size_in_wchars=0,
        )
    )
    assert (found.body, found.label) == (b"", WcharText())


@pytest.mark.parametrize(("level", "packet"), [(0, 0), (1, 1), (2, 3), (3, 3), (5, 5), (4, 4), (99, 99)])
def test_a_privacy_level_has_the_number_of_a_packet(level: int, packet: int) -> None:
    assert message_properties(sent(pul_priv_level=level)).privacy_level == packet
    assert PRIVACY_LEVELS.get(level, level) == packet


@pytest.mark.parametrize(
    ("auditing", "positive", "negative"),
    [(0, False, False), (1, False, True), (2, True, False), (3, True, True)],
)
def test_auditing_is_two_wishes(auditing: int, positive: bool, negative: bool) -> None:
    found = message_properties(sent(p_auditing=auditing))
    assert found.positive_journaling_requested is positive
    assert found.negative_journaling_requested is negative


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (QueueFormat(m_qft=0), None),
        (QueueFormat(m_qft=2, arm=ObjectId(lineage=QM, uniquifier=15)), f"PRIVATE={QM}\\0000000f"),
        (QueueFormat(m_qft=6, arm=DlId(m_dl_guid=QM)), f"DL={QM}"),
        (QueueFormat(m_qft=6, arm=DlId(m_dl_guid=QM, m_pwz_domain=WcharText.of("d.e"))), f"DL={QM}@d.e"),
        (
            QueueFormat(m_qft=7, arm=MulticastId(m_address=0x010000EA, m_port=8001)),
            "MULTICAST=234.0.0.1:8001",
        ),
        (QueueFormat(m_qft=4, m_suffix_and_flags=0x82, arm=QM), f"MACHINE={QM};DEADLETTER"),
    ],
)
def test_a_queue_format_shows_as_a_format_name(name: QueueFormat, text: str | None) -> None:
    found = message_properties(sent(admin=name))
    assert (found.administration_queue_format_name, found.problems) == (text, ())


@pytest.mark.parametrize(
    "name",
    [
        QueueFormat(m_qft=3),
        QueueFormat(m_qft=1, arm=b"short"),
        QueueFormat(m_qft=200),
        QueueFormat(m_qft=2, arm=QM),
    ],
)
def test_a_queue_format_that_names_nothing_is_not_conveyed(name: QueueFormat) -> None:
    assert message_properties(sent(admin=name)) == message_properties(sent())


def test_a_pointer_to_null_is_no_property() -> None:
    found = message_properties(
        received(
            pp_body=NULL_POINTEE,
            p_body_size=9,
            pp_title=NULL_POINTEE,
            pp_message_id=NULL_POINTEE,
            pp_correlation_id=NULL_POINTEE,
            pp_src_qmid=NULL_POINTEE,
        )
    )
    assert found == MessageProperties(body_length=9)


def test_a_cursor_to_create_is_no_message() -> None:
    assert message_properties(buffer(2, CACCreateRemoteCursor(), p_priority=3)) == MessageProperties()


def test_every_member_is_translated_or_belongs_to_the_protocol_only() -> None:
    arms = {"arm." + name for arm in (TransferSend, TransferReceive) for name in arm.__struct_fields__}
    members = {"old." + name for name in (*CACTransferBufferV1.__struct_fields__, *arms)}
    members |= set(CACTransferBufferV2.__struct_fields__)
    translated = {
        path
        for row in TRANSLATIONS
        for path in (row.member, row.room, row.sent_length, row.received_length)
        if path
    }
    assert translated <= members
    assert members - translated == {
        "old",
        "old.arm",
        "old.arm.action",
        "old.arm.asynchronous",
        "old.arm.cursor",
        "old.arm.request_timeout",
        "old.b_authenticated",
        "old.f_default_provider",
        "old.p_uow",
        "old.pul_version",
        "old.u_transfer_type",
        "old.ul_auth_level",
    }


def test_every_row_names_an_attribute_and_a_message_property() -> None:
    for row in TRANSLATIONS:
        assert row.attribute in MessageProperties.__struct_fields__
        assert row.sent or row.received
        if row.propid is not None:
            assert property_name(row.propid, PropertyKind.MESSAGE).startswith("PROPID_M_")


SYNTAXES = [NDR, NDR64, NDR_BIG_ENDIAN]


@pytest.mark.parametrize("syntax", SYNTAXES, ids=str)
def test_what_was_on_the_wire_is_the_same_message(syntax: Syntax) -> None:
    message = sent(
        admin=DIRECT,
        pp_body=b"hello",
        ul_body_buffer_size_in_bytes=5,
        ul_alloc_body_buffer_in_bytes=8,
        pp_title=WcharText.of("order"),
        ul_title_buffer_size_in_wchars=6,
        pp_connector_type=QM,
        pp_signature=b"1" * 8 + b"2" * 8,
        ul_signature_size=16,
        pul_auth_prov_name_len_prop=8,
    )
    stub = encode_stub(CAC_TRANSFER_BUFFER_V2, StubValue(message), syntax)
    found = message_properties(decode_stub(CAC_TRANSFER_BUFFER_V2, stub, syntax).value)
    assert found == message_properties(message)
    assert found.administration_queue_format_name == r"DIRECT=OS:host\private$\q"
    assert (found.body, found.signature, found.leading_signature) == (b"hello", b"2" * 8, b"1" * 8)


@pytest.mark.slow
@pytest.mark.parametrize("syntax", SYNTAXES, ids=str)
def test_a_cut_buffer_raises_nothing_and_conveys_no_more_than_the_whole(syntax: Syntax) -> None:
    whole = room_for_everything()
    stub = encode_stub(CAC_TRANSFER_BUFFER_V2, StubValue(whole), syntax)
    conveyed = {row.attribute for row in TRANSLATIONS if row.received}
    for size in range(0, len(stub), 7):
        partial = inspect_stub(CAC_TRANSFER_BUFFER_V2, stub[:size], syntax).value
        found = message_properties(partial)
        assert {
            row.attribute for row in TRANSLATIONS if getattr(found, row.attribute) is not None
        } <= conveyed


SIZES = st.one_of(st.none(), st.integers(0, 70), st.integers(0, 0xFFFFFFFF))


@given(
    kind=st.integers(0, 3),
    octets=st.binary(max_size=64),
    size=SIZES,
    name_size=st.integers(0, 0xFFFFFFFF),
    name=st.builds(
        QueueFormat,
        m_qft=st.one_of(st.integers(0, 8), st.integers(0, 255)),
        m_suffix_and_flags=st.one_of(st.just(0), st.integers(0, 255)),
        arm=st.one_of(
            st.none(),
            st.binary(min_size=16, max_size=16).map(GUID),
            st.binary(max_size=40).map(WcharText),
            st.sampled_from([ObjectId(lineage=QM, uniquifier=7), MulticastId(m_address=1), DlId()]),
            st.binary(max_size=20).map(lambda domain: DlId(m_pwz_domain=WcharText(domain))),
        ),
    ),
)
def test_no_buffer_raises_and_no_attribute_is_longer_than_its_buffer(
    kind: int, octets: bytes, size: int | None, name_size: int, name: QueueFormat
) -> None:
    arm = TransferSend(p_admin_queue_format=name) if kind == 0 else TransferReceive()
    text = WcharText(octets[: len(octets) & ~1])
    message = buffer(
        kind,
        arm,
        pp_title=text,
        ul_signature_size=len(octets),
        **members(octets, "pp_body pp_signature"),
        **members(name_size, "ul_body_buffer_size_in_bytes ul_title_buffer_size_in_wchars ul_prov_name_len"),
        **members(
            size,
            "p_body_size pul_title_buffer_size_in_wchars pul_signature_size_prop pul_auth_prov_name_len_prop",
        ),
    )
    found = message_properties(message)
    assert octets.startswith(found.body or b"")
    assert text.startswith(found.label or b"")
    assert (found.leading_signature or b"") + (found.signature or b"") in (b"", octets, octets[:size])
