"""What is demanded of values, as a whole: which MUSTs no expression can say, and where all of them point."""

from __future__ import annotations

import re
from typing import Any, get_args

import pytest

from msmq_wire.engines.codec import inspect
from msmq_wire.rpc.interfaces import INTERFACES
from msmq_wire.rpc.ndr import NdrStruct, inspect_stub
from msmq_wire.rpc.types.queue_format import QUEUE_FORMAT
from msmq_wire.wire import registry
from msmq_wire.wire.fields import WireStruct, fields
from msmq_wire.wire.musts import CodedMust, Must
from tests.contracts.structures import structures

_MUSTS = [
    pytest.param(cls, must, id=f"{cls.stem()}.{must.code}") for cls in structures() for must in cls.MUSTS
]

# Engines that compile expressions skip these: functions over the values, by structure.
_CODED = {
    "dead_letter_header.padding",
    "direct_queue_format_name.direct-format-name",
    "direct_queue_format_name.terminated",
    "final_ack.label",
    "final_ack.order-queue",
    "message_packet.remaining-headers-size",
    "message_packet.trailers-outside",
    "message_properties_header.body-type",
    "message_properties_header.label",
    "mqf_direct_queue_format_name.direct-format-name",
    "order_ack.label",
    "order_ack.order-queue",
    "provider_info.provider-name-terminated",
    "queue_format.format-name",
    "queue_format.suffix-and-flags",
    "security_header.sender-sid",
    "soap_header.body-terminated",
    "soap_header.header-terminated",
    "srmp_envelope_header.data-terminated",
    "subqueue_header.subqueue-name-filled",
    "subqueue_header.target-subqueue-name-filled",
    "topology_server_reply.directory-service-servers",
}


def test_the_musts_that_no_expression_can_say_are_these() -> None:
    found = {
        f"{cls.stem()}.{must.code}"
        for cls in structures()
        for must in cls.MUSTS
        if isinstance(must, CodedMust)
    }
    assert found == _CODED


@pytest.mark.parametrize(("cls", "must"), _MUSTS)
def test_a_must_points_at_a_field(cls: type[WireStruct], must: Must | CodedMust) -> None:
    *parents, name = must.at.split(".")
    for parent in parents:
        (hint,) = (field.value_type for field in fields(cls) if field.name == parent)
        (cls,) = (part for part in get_args(hint) or (hint,) if part is not type(None))
    assert name in cls.__struct_fields__


@pytest.mark.parametrize(("cls", "must"), _MUSTS)
def test_a_must_has_a_code_a_message_and_a_section(cls: type[WireStruct], must: Must | CodedMust) -> None:
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", must.code)
    assert must.message
    assert re.fullmatch(r"\[M[CS]-[A-Z]+\] \d+(\.\d+)+", str(must.spec or cls.SPEC))
    assert repr(must).startswith(f"{type(must).__name__}({must.code!r}, ")


def test_the_codes_of_a_structure_are_distinct() -> None:
    for cls in structures():
        codes = [must.code for must in cls.MUSTS]
        assert len(codes) == len(set(codes)), cls


def test_a_bare_structure_breaks_no_must_of_its_own() -> None:
    built: dict[str, Any] = {stem: cls() for stem, cls in registry.HEADERS.items()}
    for stem, value in built.items():
        result = inspect(bytes(value.schema().build(value)), stem)
        assert result.anomalies == (), stem


def test_the_musts_of_calls_are_those_of_structures_that_calls_have() -> None:
    assert INTERFACES
    judged = {cls.stem() for cls in structures() if issubclass(cls, NdrStruct) and cls.MUSTS}
    assert judged == {"orpc_this", "queue_format"}


@pytest.mark.parametrize(
    ("data", "codes"),
    [
        pytest.param("01 00 0000 01 000000" + "11" * 16, [], id="a public queue"),
        pytest.param(
            "01 0f 0000 01 000000" + "11" * 16,
            ["queue_format.suffix-and-flags", "queue_format.format-name"],
            id="a suffix that is not defined",
        ),
        pytest.param("03 00 0000 03 000000 00000000", ["queue_format.format-name"], id="a NULL direct name"),
        pytest.param("00 00 0000 00", [], id="no queue"),
    ],
)
def test_a_queue_format_in_a_call_is_judged(data: str, codes: list[str]) -> None:
    result = inspect_stub(QUEUE_FORMAT, bytes.fromhex(data))
    assert result.error is None
    assert [anomaly.code for anomaly in result.anomalies] == codes
    assert result.value.m_qft == int(data[:2], 16)


# Honest traffic looks like this, and none of it is an anomaly.
@pytest.mark.parametrize(
    ("stem", "data"),
    [
        pytest.param(
            "base_header", f"10 {reserved} 0300 4c494f52 78000000 ffffffff", id=f"Reserved {reserved}"
        )
        for reserved in ("00", "5a", "c0", "cd")
    ]
    + [
        pytest.param("base_header", "10 00 0300 4c494f52 78000000 00460500", id="the default of four days"),
        pytest.param("ping", "017d 4855 04000000" + "00" * 16, id="garbage in the flags of a ping"),
        pytest.param("session_header", "00" * 12 + "0100 ffff", id="WindowSize 1 and a dirty Reserved"),
        pytest.param("order_ack_body", "00" * 8 + "01000000 00000000" + "a5" * 20, id="a dirty Reserved"),
        pytest.param(
            "security_header",
            "0100 0c00 0000 0000 00000000 00000000 0101000000000005 12000000",
            id="a SID without AI and without a signature",
        ),
        pytest.param("message_properties_header", "00" * 44 + "04800000 01680000 00000000", id="ids unused"),
        pytest.param(
            "establish_connection_header",
            "00" * 36 + "1003 0000" + "c3" * 512,
            id="padding that nobody initialised",
        ),
        pytest.param("user_header", "11" * 16 + "00" * 28 + "020c2000 04000000", id="a NULL address, hops"),
    ],
)
def test_harmless_habits_are_no_anomaly(stem: str, data: str) -> None:
    result = inspect(bytes.fromhex(data), stem)
    assert (result.error, result.anomalies, result.remainder) == (None, (), b"")
