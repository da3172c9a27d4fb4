"""LDIF exports: what RFC 2849 allows is read alike, and objects are mapped as [MS-MQDSSM] says."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from msmq_wire.errors import TopologyError
from msmq_wire.routing.ldif import distinguished_name, ldif_records
from msmq_wire.routing.topology import Topology
from msmq_wire.routing.topology_file import TopologyForm, parse_topology
from msmq_wire.wire.types.guid import GUID

EXAMPLE = (Path(__file__).resolve().parents[2] / "fixtures" / "routing" / "example.ldif").read_text(
    encoding="utf-8"
)
ROOT = "DC=example,DC=com"
BERLIN, PARIS = bytes(range(16)), bytes(range(16, 32))


def encoded(value: bytes) -> str:
    return base64.b64encode(value).decode("ascii")


def site(name: str, identifier: bytes, more: str = "") -> str:
    return (
        f"dn: CN={name},CN=Sites,CN=Configuration,{ROOT}\nobjectClass: top\nobjectClass: site\n"
        f"cn: {name}\nobjectGUID:: {encoded(identifier)}\n{more}\n"
    )


def queue_manager(name: str, number: int, more: str = "") -> str:
    return (
        f"dn: CN=msmq,CN={name},CN=Computers,{ROOT}\nobjectClass: mSMQConfiguration\n"
        f"objectGUID:: {encoded(bytes((number,)) * 16)}\n{more}\n"
    )


def parsed(*records: str) -> Topology:
    return parse_topology("\n".join(records).encode(), TopologyForm.LDIF)


def test_the_bytes_of_a_guid_are_those_of_the_wire() -> None:
    """[MS-DTYP] 2.3.4.2"""
    (one,) = parsed(site("Berlin", BERLIN)).sites
    assert str(one) == "03020100-0504-0706-0809-0a0b0c0d0e0f"


def test_a_site_has_its_name_and_path_and_is_not_foreign_unless_it_says_so() -> None:
    """[MS-MQDSSM] 3.1.6.11.4"""
    topology = parsed(site("Berlin", BERLIN), site("Paris", PARIS, "mSMQSiteForeign: TRUE\n"))
    berlin, paris = topology.sites.values()
    assert (berlin.name, berlin.foreign_site) == ("Berlin", False)
    assert (paris.name, paris.foreign_site) == ("Paris", True)
    assert paris.full_path == f"CN=Paris,CN=Sites,CN=Configuration,{ROOT}"


@pytest.mark.parametrize(
    ("written", "expected"),
    [("TRUE", True), ("true", True), ("1", True), ("FALSE", False), ("False", False), ("0", False)],
)
def test_booleans_are_read_as_directories_write_them(written: str, expected: bool) -> None:
    text = queue_manager("PC1", 1, f"mSMQRoutingServices: {written}\nmSMQForeign: {written}\n")
    (one,) = parsed(text).queue_managers.values()
    assert (one.routing_server, one.foreign_system) == (expected, expected)


def test_a_queue_manager_has_the_defaults_of_the_table_for_what_is_not_set() -> None:
    """[MS-MQDSSM] 3.1.6.11.1"""
    topology = parsed(queue_manager("PC1", 1))
    (one,) = topology.queue_managers.values()
    assert (one.routing_server, one.foreign_system, one.site_identifier_list) == (False, False, ())
    assert (one.out_routing_server_identifier_list, one.in_routing_server_identifier_list) == ((), ())
    assert topology.notes == (
        "queue managers without their computer, so that they have no dNSHostName: 1 (PC1)",
        "queue managers in no site: 1 (PC1)",
    )


def test_the_name_of_a_queue_manager_is_that_of_the_object_above_it() -> None:
    """[MS-MQDSSM] 3.1.6.11.1.1"""
    text = queue_manager("PC1", 1).replace("CN=PC1", r"CN=PC\, the \32nd")
    (one,) = parsed(text).queue_managers.values()
    assert one.computer_name == "PC, the 2nd"


def test_the_computer_gives_the_qualified_name() -> None:
    """[MS-MQDSSM] 3.1.6.11.1"""
    computer = (
        f"dn: cn=pc1, cn=COMPUTERS, {ROOT}\nobjectClass: top\nobjectClass: computer\n"
        "dNSHostName: pc1.example.com\n"
    )
    (one,) = parsed(computer, queue_manager("PC1", 1)).queue_managers.values()
    assert (one.computer_name, one.qualified_computer_name) == ("PC1", "pc1.example.com")


def test_routing_servers_that_the_export_does_not_have_are_skipped_with_a_note() -> None:
    """[MS-MQDSSM] 3.1.6.11.1.3, 3.1.6.11.1.4"""
    more = "".join(
        f"{attribute}: CN=msmq,CN={server},CN=Computers,{ROOT}\n"
        for attribute in ("mSMQOutRoutingServers", "mSMQInRoutingServers")
        for server in ("GONE", "RS")
    )
    topology = parsed(queue_manager("PC1", 1, more), queue_manager("RS", 2, "mSMQRoutingServices: TRUE\n"))
    one = topology.find("PC1")
    assert one.out_routing_server_identifier_list == (GUID(b"\2" * 16),)
    assert one.in_routing_server_identifier_list == (GUID(b"\2" * 16),)
    for attribute in ("mSMQOutRoutingServers", "mSMQInRoutingServers"):
        assert f"queue managers whose {attribute} names what is not in the export: 1 (PC1)" in topology.notes


def test_sites_that_the_export_does_not_have_are_skipped_with_a_note() -> None:
    more = f"mSMQSites:: {encoded(PARIS)}\nmSMQSites:: {encoded(BERLIN)}\n"
    topology = parsed(site("Berlin", BERLIN), queue_manager("PC1", 1, more))
    assert topology.find("PC1").site_identifier_list == (GUID(BERLIN),)
    assert "queue managers whose mSMQSites names what is not in the export: 1 (PC1)" in topology.notes


def test_a_routing_link_has_its_ends_gates_and_cost() -> None:
    """[MS-MQDSSM] 3.1.6.11.5"""
    link = (
        f"dn: CN=link,CN=MsmqServices,CN=Services,CN=Configuration,{ROOT}\nobjectClass: mSMQSiteLink\n"
        f"objectGUID:: {encoded(b'L' * 16)}\nmSMQCost: 12\n"
        f"mSMQSite1: cn = berlin , CN=Sites,CN=Configuration,{ROOT}\n"
        f"mSMQSite2: CN=P\\61ris,CN=Sites,CN=Configuration,{ROOT.lower()}\n"
        f"mSMQSiteGates: CN=msmq,CN=PC1,CN=Computers,{ROOT}\n"
    )
    topology = parsed(
        link,
        site("Berlin", BERLIN),
        site("Paris", PARIS),
        queue_manager("PC1", 1, f"mSMQSites:: {encoded(BERLIN)}\nmSMQRoutingServices: TRUE\n"),
    )
    (one,) = topology.routing_links.values()
    assert (one.identifier, one.description, one.actual_cost) == (GUID(b"L" * 16), "", 12)
    assert (one.site1_identifier, one.site2_identifier) == (GUID(BERLIN), GUID(PARIS))
    assert one.site_gate_identifier_list == (GUID(b"\1" * 16),)
    assert topology.sites[GUID(BERLIN)].site_gate_collection == (GUID(b"\1" * 16),)


def test_other_objects_are_counted_in_one_note() -> None:
    others = [f"dn: CN={number},{ROOT}\nobjectClass: top\nobjectClass: mSMQQueue\n" for number in range(300)]
    topology = parsed(*others, f"dn: {ROOT}\ncn: x\n", site("Berlin", BERLIN))
    assert topology.notes == ("classes of objects that are left out: 2 (300 mSMQQueue, 1 no objectClass)",)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_exports_that_are_put_together_with_their_byte_order_marks_are_one(encoding: str) -> None:
    one, other = site("Berlin", BERLIN), "version: 1\n" + site("Paris", PARIS)
    data = one.encode(encoding) + other.encode(encoding)
    assert [found.name for found in parse_topology(data).sites.values()] == ["Berlin", "Paris"]


@given(st.integers(1, 90))
def test_folding_at_any_column_gives_the_same_topology(column: int) -> None:
    lines = []
    for line in EXAMPLE.replace("\n ", "").split("\n"):
        lines += [line[:column], *(f" {line[at : at + column]}" for at in range(column, len(line), column))]
    assert parse_topology("\n".join(lines).encode(), TopologyForm.LDIF) == parse_topology(EXAMPLE.encode())


def test_base64_of_every_value_gives_the_same_topology() -> None:
    lines = []
    for line in EXAMPLE.replace("\n ", "").split("\n"):
        name, colon, value = line.partition(": ")
        plain = colon and not line.startswith("#") and not name.endswith(":")
        lines.append(f"{name}:: {encoded(value.encode())}" if plain else line)
    assert parse_topology("\n".join(lines).encode(), TopologyForm.LDIF) == parse_topology(EXAMPLE.encode())


def test_attribute_names_in_any_case_give_the_same_topology() -> None:
    lines = []
    for line in EXAMPLE.replace("\n ", "").split("\n"):
        name, colon, value = line.partition(":")
        lines.append(line if line.startswith("#") else name.swapcase() + colon + value)
    assert parse_topology("\n".join(lines).encode()) == parse_topology(EXAMPLE.encode())


def test_a_record_keeps_the_attributes_that_are_wanted_with_their_values_in_order() -> None:
    text = "dn: cn=x\nA;lang-de: one\nb: left out\na:: dHdv\na:\n# a: no\na: th\n ree\n"
    (record,) = ldif_records(text, {"a"})
    assert (record.dn, record.line, record.attributes) == ("cn=x", 1, {"a": [b"one", b"two", b"", b"three"]})


def test_blank_lines_between_records_may_be_many_or_none_at_the_end() -> None:
    records = list(ldif_records("\n\nversion: 1\n\n\ndn: cn=a\n\n\n\n# x\n\ndn: cn=b", ()))
    assert [(one.dn, one.line) for one in records] == [("cn=a", 6), ("cn=b", 12)]


@pytest.mark.parametrize("change", ["delete", "modify", "modrdn", "moddn"])
def test_a_change_is_refused_with_its_distinguished_name(change: str) -> None:
    with pytest.raises(TopologyError, match=rf"^line 1 \(cn=x\): changetype {change} makes this a change"):
        list(ldif_records(f"dn: cn=x\nchangetype: {change}\n", ()))


def test_a_control_is_refused_as_a_change() -> None:
    with pytest.raises(TopologyError, match=r"^line 1 \(cn=x\): control makes this a change"):
        list(ldif_records("dn: cn=x\ncontrol: 1.2.840.113556.1.4.805 true\n", ()))


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("CN=A,DC=x", (("cn", "A"), ("dc", "x"))),
        (" cn = A B , DC = x ", (("cn", "A B"), ("dc", "x"))),
        (r"CN=A\,B,DC=x", (("cn", "A,B"), ("dc", "x"))),
        (r"CN=A\2cB,DC=x", (("cn", "A,B"), ("dc", "x"))),
        (r"CN=A\\,DC=x", (("cn", "A\\"), ("dc", "x"))),
        (r"CN=\ A\ ,DC=x", (("cn", " A "), ("dc", "x"))),
        (r"CN=A\\ ,DC=x", (("cn", "A\\"), ("dc", "x"))),
        (r"CN=L\c3\bcbeck", (("cn", "Lübeck"),)),
        (r"CN=a\=b=c\+d", (("cn", "a=b=c+d"),)),
        (r"CN=A\0ACNF:1", (("cn", "A\nCNF:1"),)),
        ("CN=", (("cn", ""),)),
    ],
)
def test_a_distinguished_name_is_split_and_its_escapes_are_undone(
    text: str, parts: tuple[tuple[str, str], ...]
) -> None:
    """RFC 4514, 2.4 and 3"""
    assert distinguished_name(text) == parts


@pytest.mark.parametrize("text", ["", "A", "=A", "CN=A,", "CN=A,,DC=x", r"CN=\ff"])
def test_what_is_no_distinguished_name_is_refused(text: str) -> None:
    with pytest.raises(TopologyError, match=r"is no distinguished name$"):
        distinguished_name(text)


@pytest.mark.slow
@given(
    st.lists(
        st.tuples(st.sampled_from(("cn", "ou", "dc")), st.text(st.characters(codec="utf-8"))),
        min_size=1,
    )
)
def test_any_values_come_back_from_an_escaped_distinguished_name(parts: list[tuple[str, str]]) -> None:
    def escaped(value: str) -> str:
        return "".join(f"\\{byte:02X}" for byte in value.encode())

    assert distinguished_name(",".join(f"{kind}={escaped(value)}" for kind, value in parts)) == tuple(parts)
