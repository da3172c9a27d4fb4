"""Names of parameters, against the tables of the documents."""

from __future__ import annotations

from enum import Enum

import pytest
from hypothesis import given
from hypothesis import strategies as st

from msmq_wire.rpc import constants
from msmq_wire.rpc.constants import (
    AccessMode,
    Acknowledgment,
    AuthenticatedBy,
    ManagementAction,
    PortProtocol,
    ReceiveAction,
    RemoteReadAck,
    SecurityInformation,
    ShareMode,
    TransferType,
    constant_name,
)
from msmq_wire.wire.headers.message_properties_header import MessagePropertiesHeader

ENUMERATIONS = [
    value
    for value in vars(constants).values()
    if isinstance(value, type) and issubclass(value, Enum) and value.__module__ == constants.__name__
]


@pytest.mark.parametrize(
    ("enumeration", "value", "text"),
    [
        (AccessMode, 0x01, "MQ_RECEIVE_ACCESS"),
        (AccessMode, 0x02, "MQ_SEND_ACCESS"),
        (AccessMode, 0x04, "MQ_MOVE_ACCESS"),
        (AccessMode, 0x20, "MQ_PEEK_ACCESS"),
        (AccessMode, 0x81, "MQ_RECEIVE_ACCESS|MQ_ADMIN_ACCESS"),
        (AccessMode, 0xA0, "MQ_PEEK_ACCESS|MQ_ADMIN_ACCESS"),
        (AccessMode, 0, "0x0"),
        (AccessMode, 0x41, "MQ_RECEIVE_ACCESS|0x40"),
        (ShareMode, 0, "MQ_DENY_NONE"),
        (ShareMode, 1, "MQ_DENY_RECEIVE_SHARE"),
        (ShareMode, 2, "0x2"),
        (ReceiveAction, 0x80000001, "MQ_ACTION_PEEK_NEXT"),
        (ReceiveAction, 0x40000012, "MQ_LOOKUP_PEEK_PREV"),
        (ReceiveAction, 0x40000020, "MQ_LOOKUP_RECEIVE_CURRENT"),
        (RemoteReadAck, 2, "RR_ACK"),
        (TransferType, 1, "CACTB_RECEIVE"),
        (PortProtocol, 1, "IP_READ"),
        (AuthenticatedBy, 9, "MQMSG_AUTHENTICATED_SIGXML"),
        (SecurityInformation, 5, "OWNER_SECURITY_INFORMATION|DACL_SECURITY_INFORMATION"),
        (ManagementAction, "EOD_RESEND", "EOD_RESEND"),
        (ManagementAction, "FORMAT C:", "FORMAT C:"),
    ],
)
def test_a_value_shows_its_name_or_its_number(enumeration: type[Enum], value: int | str, text: str) -> None:
    assert constant_name(enumeration, value) == text


def test_receive_actions_remove_a_message_and_peeks_do_not() -> None:
    assert [action.name for action in ReceiveAction if action.removes] == [
        "MQ_ACTION_RECEIVE",
        "MQ_LOOKUP_RECEIVE_CURRENT",
        "MQ_LOOKUP_RECEIVE_NEXT",
        "MQ_LOOKUP_RECEIVE_PREV",
    ]


def test_lookup_actions_are_those_of_the_lookup_identifier() -> None:
    assert all(action.lookup == action.name.startswith("MQ_LOOKUP") for action in ReceiveAction)


def test_acknowledgment_bits_are_those_of_a_packet() -> None:
    assert MessagePropertiesHeader.BITS is not None
    bits = MessagePropertiesHeader.BITS.bits
    assert [member.value for member in Acknowledgment] == [
        bits[name].mask for name in ("pa", "pr", "na", "nr")
    ]


@given(st.integers(0, 0xFFFFFFFF))
def test_the_name_of_an_access_mode_loses_no_bit(value: int) -> None:
    total = 0
    for part in constant_name(AccessMode, value).split("|"):
        total |= AccessMode[part] if part in AccessMode.__members__ else int(part, 16)
    assert total == value


@pytest.mark.parametrize("enumeration", ENUMERATIONS)
def test_every_number_is_named_once_and_documented(enumeration: type[Enum]) -> None:
    assert len(enumeration.__members__) == len(list(enumeration))
    assert enumeration.__doc__
    assert "[MS-" in enumeration.__doc__
