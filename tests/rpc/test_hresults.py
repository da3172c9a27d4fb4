"""Codes and their names, against numbers copied by hand from the documents."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from msmq_wire.rpc.hresults import StatusText, describe, name
from msmq_wire.rpc.rpc_statuses import NCA_STATUSES, WIN32_ERRORS
from msmq_wire.rpc.statuses import MQ_HRESULTS, SYSTEM_STATUSES

TABLES = (MQ_HRESULTS, NCA_STATUSES, SYSTEM_STATUSES, WIN32_ERRORS)


@pytest.mark.parametrize(
    ("code", "symbol"),
    [
        (0x00000000, "MQ_OK"),
        (0x400E03E8, "MQ_INFORMATION_REMOTE_OPERATION"),
        (0x400E03E9, "MQ_INFORMATION_REMOTE_CANCELED_BY_CLIENT"),
        (0xC00E0001, "MQ_ERROR"),
        (0xC00E0003, "MQ_ERROR_QUEUE_NOT_FOUND"),
        (0xC00E0007, "MQ_ERROR_INVALID_HANDLE"),
        (0xC00E0008, "MQ_ERROR_OPERATION_CANCELLED"),
        (0xC00E001B, "MQ_ERROR_IO_TIMEOUT"),
        (0xC00E0064, "MQ_ERROR_ILLEGAL_OPERATION"),
        (0xC00E0088, "MQ_ERROR_MESSAGE_NOT_FOUND"),
        (0xC00E009C, "MQ_ERROR_MESSAGE_LOCKED_UNDER_TRANSACTION"),
        (0xC0000008, "STATUS_INVALID_HANDLE"),
        (0xC000000D, "STATUS_INVALID_PARAMETER"),
        (0xC0000022, "STATUS_ACCESS_DENIED"),
        (0xC0000043, "STATUS_SHARING_VIOLATION"),
        (0xC0000225, "STATUS_NOT_FOUND"),
        (0xC000022D, "STATUS_RETRY"),
        (0x8007200E, "LDAP_BUSY"),
        (0x00000005, "RPC_S_ACCESS_DENIED"),
        (0x000006D1, "RPC_S_PROCNUM_OUT_OF_RANGE"),
        (0x000006F7, "RPC_X_BAD_STUB_DATA"),
        (0x1C010002, "nca_op_rng_error"),
        (0x1C010003, "nca_unk_if"),
        (0x1C01000B, "nca_proto_error"),
        (0x1C00001A, "nca_s_fault_context_mismatch"),
    ],
)
def test_a_code_has_the_symbol_of_the_documents(code: int, symbol: str) -> None:
    assert name(code) == symbol
    assert describe(code).known


def test_a_status_read_as_a_signed_number_is_the_same_status() -> None:
    # 0xC00E001B - 2**32
    assert describe(-1072824293) == describe(0xC00E001B)
    assert describe(-1072824293).code == 0xC00E001B


def test_the_symbol_of_an_unknown_code_is_its_number() -> None:
    assert describe(0xC00E0BAD) == StatusText(0xC00E0BAD, "0xC00E0BAD", "")
    assert not describe(0xC00E0BAD).known


def test_a_wrapped_win32_error_is_unwrapped() -> None:
    assert name(0x800706BA) == "HRESULT_FROM_WIN32(RPC_S_SERVER_UNAVAILABLE)"
    assert describe(0x800706BA).meaning == describe(0x6BA).meaning


def test_a_wrapped_nt_status_is_unwrapped() -> None:
    assert name(0xD0000022) == "HRESULT_FROM_NT(STATUS_ACCESS_DENIED)"


def test_a_wrapped_code_with_a_name_of_its_own_keeps_it() -> None:
    assert name(0x80070005) == "E_ACCESSDENIED"


def test_a_queue_manager_code_is_never_taken_for_a_wrapped_one() -> None:
    assert name(0xD00E0003) == "0xD00E0003"


def test_no_number_is_in_two_tables() -> None:
    assert sum(map(len, TABLES)) == len(frozenset().union(*TABLES))


def test_no_symbol_stands_for_two_codes() -> None:
    symbols = [symbol for table in TABLES for symbol, _ in table.values()]
    assert len(symbols) == len(set(symbols))


def test_the_whole_list_of_the_specification_is_there() -> None:
    # [MS-MQMQ] 2.4 has nine MQ_INFORMATION codes and 136 others; two come from elsewhere, one is success.
    informations = [code for code in MQ_HRESULTS if code >> 16 == 0x400E]
    errors = [code for code in MQ_HRESULTS if code >> 16 == 0xC00E]
    assert len(informations) == 9 + 2
    assert len(errors) == 136
    assert len(MQ_HRESULTS) == len(informations) + len(errors) + 1


@pytest.mark.parametrize("table", TABLES)
def test_every_meaning_is_one_short_line(table: dict[int, tuple[str, str]]) -> None:
    assert all(0 < len(meaning) <= 70 and "\n" not in meaning for _, meaning in table.values())


@given(st.integers())
def test_any_number_has_a_description(code: int) -> None:
    status = describe(code)
    assert status.code == code & 0xFFFFFFFF
    assert status.symbol == name(status.code)
    assert status.known or status.symbol == f"0x{status.code:08X}"
