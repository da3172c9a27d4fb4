"""Property identifiers, against numbers copied by hand from [MS-MQMQ] 2.3 and [MS-MQMR] 2.2.3."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from msmq_wire.rpc.properties import (
    PROPERTIES,
    QUEUE_ATTRIBUTES,
    PropertyKind,
    find_property,
    property_name,
)


@pytest.mark.parametrize(
    ("propid", "name", "vt"),
    [
        (101, "PROPID_Q_INSTANCE", 0x48),
        (103, "PROPID_Q_PATHNAME", 0x1F),
        (106, "PROPID_Q_BASEPRIORITY", 0x02),
        (113, "PROPID_Q_TRANSACTION", 0x11),
        (121, "PROPID_Q_FULL_PATH", 0x1F),
        (126, "PROPID_Q_ADS_PATH", 0x1F),
        (1103, "PROPID_Q_SECURITY_INFORMATION", 0x13),
        (205, "PROPID_QM_ENCRYPTION_PK", 0x1011),
        (214, "PROPID_QM_QUOTA", 0x13),
        (223, "PROPID_QM_OUTFRS_DN", 0x101F),
        (1205, "PROPID_QM_UPGRADE_DACL", 0x41),
        (303, "PROPID_S_GATES", 0x1048),
        (501, "PROPID_CN_PROTOCOLID", 0x11),
        (615, "PROPID_E_CIPHER_MODE", 0x13),
        (702, "PROPID_U_SIGN_CERT", 0x41),
        (813, "PROPID_L_GATES", 0x1048),
        (5112, "PROPID_SET_OLDSERVICE", 0x13),
        (5407, "PROPID_MQU_SECURITY", 0x41),
        (5209, "PROPID_COM_ID", 0x48),
        (1404, "PROPID_D_OBJTYPE", 0x11),
    ],
)
def test_a_number_above_100_has_one_name_and_one_type(propid: int, name: str, vt: int) -> None:
    found = find_property(propid)
    assert found is not None
    assert (found.propid, found.name, found.vt) == (propid, name, vt)
    assert property_name(propid) == name


@pytest.mark.parametrize(
    ("kind", "propid", "name", "vt"),
    [
        (PropertyKind.MANAGEMENT_MACHINE, 1, "PROPID_MGMT_MSMQ_ACTIVEQUEUES", 0x101F),
        (PropertyKind.MANAGEMENT_MACHINE, 6, "PROPID_MGMT_MSMQ_BYTES_IN_ALL_QUEUES", 0x14),
        (PropertyKind.MANAGEMENT_QUEUE, 1, "PROPID_MGMT_QUEUE_PATHNAME", 0x1F),
        (PropertyKind.MANAGEMENT_QUEUE, 25, "PROPID_MGMT_QUEUE_CONNECTION_HISTORY", 0x100C),
        (PropertyKind.MANAGEMENT_QUEUE, 27, "PROPID_MGMT_QUEUE_SUBQUEUE_NAMES", 0x101F),
        (PropertyKind.MESSAGE, 1, "PROPID_M_CLASS", None),
        (PropertyKind.MESSAGE, 60, "PROPID_M_LOOKUPID", None),
    ],
)
def test_a_small_number_is_told_by_its_kind(
    kind: PropertyKind, propid: int, name: str, vt: int | None
) -> None:
    found = find_property(propid, kind)
    assert found is not None
    assert (found.name, found.vt) == (name, vt)


def test_a_small_number_without_a_kind_stays_a_number() -> None:
    assert property_name(1) == "1"
    assert find_property(1) is None


def test_a_number_of_another_kind_has_no_name() -> None:
    assert property_name(101, PropertyKind.MACHINE) == "101"


def test_every_identifier_of_the_specification_is_there() -> None:
    # Entries of [MS-MQMQ] 2.3.1 to 2.3.13, counted in its contents.
    assert [len(PROPERTIES[kind]) for kind in PropertyKind][:13] == [
        27,
        39,
        15,
        6,
        18,
        6,
        13,
        11,
        5,
        8,
        6,
        27,
        5,
    ]


def test_no_number_above_100_is_used_twice() -> None:
    numbers = [propid for rows in PROPERTIES.values() for propid in rows if propid > 100]
    assert len(numbers) == len(set(numbers))


def test_names_are_used_once_and_start_with_their_kind() -> None:
    found = [entry for rows in PROPERTIES.values() for entry in rows.values()]
    assert len({entry.name for entry in found}) == len(found)
    assert all(entry.name.startswith(entry.kind.value) for entry in found)


def test_attributes_are_those_of_queue_properties() -> None:
    assert set(QUEUE_ATTRIBUTES) <= set(PROPERTIES[PropertyKind.QUEUE])
    assert all(entry.get for entry in QUEUE_ATTRIBUTES.values())
    created = [propid for propid, entry in QUEUE_ATTRIBUTES.items() if entry.create]
    changed = [propid for propid, entry in QUEUE_ATTRIBUTES.items() if entry.set]
    assert created == [102, 103, 104, 105, 106, 107, 108, 111, 112, 113, 125]
    assert changed == [102, 104, 105, 106, 107, 108, 111, 112, 125]


@given(st.integers(), st.sampled_from([None, *PropertyKind]))
def test_any_number_has_a_text(propid: int, kind: PropertyKind | None) -> None:
    assert property_name(propid, kind) == str(propid) or find_property(propid, kind) is not None
