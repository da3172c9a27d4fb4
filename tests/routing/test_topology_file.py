"""`parse_topology`: three forms, two encodings; a mistake is one line that names the entry."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from msmq_wire.errors import TopologyError
from msmq_wire.routing.directory import QueueManager
from msmq_wire.routing.topology import Topology
from msmq_wire.routing.topology_file import TopologyForm, parse_topology
from msmq_wire.routing.topology_tables import TABLES
from msmq_wire.wire.types.guid import GUID

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "fixtures" / "routing"
EXAMPLES = {form: (FOLDER / f"example.{form}").read_bytes() for form in TopologyForm}
BAD = tomllib.loads((FOLDER / "bad.toml").read_text(encoding="utf-8"))
SITE = b'[[site]]\nname = "Berlin"\n'


def in_the_directory(topology: Topology) -> Topology:
    """What a directory has of a topology: no addresses; and without what only a directory has."""
    return msgspec.structs.replace(
        topology,
        queue_managers={
            identifier: msgspec.structs.replace(one, addresses=(), full_path="")
            for identifier, one in topology.queue_managers.items()
        },
        sites={
            identifier: msgspec.structs.replace(one, full_path="")
            for identifier, one in topology.sites.items()
        },
        routing_links={
            identifier: msgspec.structs.replace(one, full_path="")
            for identifier, one in topology.routing_links.items()
        },
        notes=(),
    )


def test_the_example_is_the_enterprise_of_section_4() -> None:
    """[MS-MQBR] 4"""
    topology = parse_topology(EXAMPLES[TopologyForm.TOML])
    names = {identifier: site.name for identifier, site in topology.sites.items()}
    assert sorted(names.values()) == ["A", "B", "C", "D"]
    links = {
        names[link.site1_identifier] + names[link.site2_identifier]: link.actual_cost
        for link in topology.routing_links.values()
    }
    assert links == {"AB": 3, "BC": 1, "BD": 1, "CD": 1}
    gates = {
        site.name: [topology.queue_managers[gate].computer_name for gate in site.site_gate_collection]
        for site in topology.sites.values()
    }
    assert gates == {name: [f"{name}-GATE"] for name in "ABCD"}
    assert topology.queue_managers[GUID.parse("3019f95c-3e61-4900-816c-0f13d3b6afae")] == QueueManager(
        identifier=GUID.parse("3019f95c-3e61-4900-816c-0f13d3b6afae"),
        computer_name="A-GATE",
        qualified_computer_name="a-gate.example.com",
        site_identifier_list=(GUID.parse("f7ae9466-2c20-48f7-9732-3b35156199d0"),),
        routing_server=True,
        addresses=("192.0.2.17", "2001:db8:1::1"),
    )
    assert topology.notes == ()


def test_the_other_costs_are_the_same_enterprise() -> None:
    """[MS-MQBR] 4"""
    one = parse_topology(EXAMPLES[TopologyForm.TOML])
    other = parse_topology((FOLDER / "example_other_costs.toml").read_bytes())
    assert (one.queue_managers, one.sites) == (other.queue_managers, other.sites)
    assert [link.actual_cost for link in other.routing_links.values()] == [3, 3, 1, 1]


def test_the_three_forms_of_the_example_are_one_topology() -> None:
    toml, json, ldif = (parse_topology(EXAMPLES[form]) for form in TopologyForm)
    assert json == toml
    assert list(json.queue_managers) == list(toml.queue_managers) == list(ldif.queue_managers)
    assert in_the_directory(ldif) == in_the_directory(toml)
    assert ldif.notes == (
        "classes of objects that are left out: 2 (1 sitesContainer, 1 mSMQEnterpriseSettings)",
    )


@pytest.mark.parametrize("form", TopologyForm)
def test_a_form_that_is_given_is_the_one_that_is_recognised(form: TopologyForm) -> None:
    assert parse_topology(EXAMPLES[form], form) == parse_topology(EXAMPLES[form])
    for other in set(TopologyForm) - {form}:
        with pytest.raises(TopologyError):
            parse_topology(EXAMPLES[form], other)


@pytest.mark.parametrize("form", TopologyForm)
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
@pytest.mark.parametrize(
    ("mark", "encoding"),
    [
        (b"", "utf-8"),
        (b"\xef\xbb\xbf", "utf-8"),
        (b"\xff\xfe", "utf-16-le"),
        (b"\xfe\xff", "utf-16-be"),
    ],
)
def test_encodings_and_line_ends_do_not_matter(
    form: TopologyForm, line_end: str, mark: bytes, encoding: str
) -> None:
    text = EXAMPLES[form].decode("utf-8").replace("\n", line_end)
    assert parse_topology(mark + text.encode(encoding)) == parse_topology(EXAMPLES[form])


@pytest.mark.parametrize(
    ("start", "form"),
    [
        (b"", TopologyForm.TOML),
        (b"# dn: is no record here\n", TopologyForm.TOML),
        (b"\n\n  {", TopologyForm.JSON),
        (b"# a comment\n  that goes on\n\nDN: cn=x\n", TopologyForm.LDIF),
        (b"version: 1\n", TopologyForm.LDIF),
    ],
)
def test_a_form_is_recognised_by_how_it_begins(start: bytes, form: TopologyForm) -> None:
    def problem(as_form: TopologyForm | None) -> str:
        with pytest.raises(TopologyError) as caught:
            parse_topology(start + b"\x00", as_form)
        return str(caught.value)

    assert problem(None) == problem(form)


def test_every_bad_file_is_listed_with_its_line() -> None:
    assert sorted(BAD) == sorted(path.name for path in FOLDER.glob("bad_*"))
    assert len(BAD) > 60


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_gives_exactly_its_line(name: str) -> None:
    with pytest.raises(TopologyError) as caught:
        parse_topology((FOLDER / name).read_bytes())
    assert str(caught.value) == BAD[name]


@pytest.mark.parametrize("opening", [b'{"site": ' + b"[" * 200_000, b'{"site":' * 100_000])
def test_json_that_is_nested_deeply_is_one_line(opening: bytes) -> None:
    with pytest.raises(TopologyError, match=r"^arrays or objects are nested too deeply for a topology$"):
        parse_topology(opening)


@pytest.mark.parametrize("data", [b"[]", b"1", b'"site"', b"null"])
def test_json_that_is_no_object_is_no_topology(data: bytes) -> None:
    with pytest.raises(TopologyError, match=r"^a topology in JSON is an object$"):
        parse_topology(data, TopologyForm.JSON)


def test_a_key_of_many_quoted_parts_is_refused_as_one_of_bare_parts() -> None:
    line = rb'"a\"" . ' * 100 + b"a = 1"
    with pytest.raises(TopologyError, match=r"^line 1: more than 64 dots outside of texts$"):
        parse_topology(line)


def test_dots_in_texts_and_comments_do_not_count() -> None:
    addresses = ", ".join(f'"192.0.2.{number}"' for number in range(1, 40)).encode()
    data = b'[[queue_manager]]\ncomputer_name = "A"\naddresses = [' + addresses + b"] # " + b"." * 100
    (one,) = parse_topology(data).queue_managers.values()
    assert len(one.addresses) == 39


def one_line(data: bytes, form: TopologyForm | None = None) -> None:
    """Read bytes: a topology, or an error that a terminal shows as one line."""
    try:
        assert isinstance(parse_topology(data, form), Topology)
    except TopologyError as error:
        message = str(error)
        assert message
        assert message.isprintable()
        assert len(message) < 700


@given(st.binary(max_size=300), st.sampled_from((None, *TopologyForm)))
def test_any_bytes_are_a_topology_or_one_line(data: bytes, form: TopologyForm | None) -> None:
    one_line(data, form)


PIECES = st.one_of(
    st.binary(max_size=6),
    st.sampled_from(
        (
            b"\n",
            b"\n\n",
            b" ",
            b'"',
            b"\\",
            b"[",
            b"]",
            b"{",
            b"}",
            b":",
            b"::",
            b":<",
            b"=",
            b",",
            b"-1",
            b"1e9",
        )
    ),
    st.sampled_from(
        (b"null", b"true", b'"\\ud800"', b"changetype: modify\n", b"dn: \n", b"\xff", b"9" * 5000)
    ),
)


@pytest.mark.parametrize("form", TopologyForm)
@given(data=st.data())
def test_a_damaged_example_is_a_topology_or_one_line(form: TopologyForm, data: st.DataObject) -> None:
    damaged = EXAMPLES[form]
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(damaged)))
        gone = data.draw(st.integers(0, 12))
        damaged = damaged[:at] + data.draw(PIECES) + damaged[at + gone :]
    one_line(damaged, form)


def test_the_documented_example_is_read_and_every_key_is_documented() -> None:
    text = (ROOT / "docs" / "topology.md").read_text(encoding="utf-8")
    block = re.search(r"```toml\n(.*?)```", text, re.DOTALL)
    assert block is not None
    topology = parse_topology(block[1].encode())
    assert topology.queue_managers
    assert topology.notes == ()
    for table, kind in TABLES.items():
        section = text.partition(f"### `{table}`")[2].partition("\n#")[0]
        documented = re.findall(r"^\| `(\w+)`", section, re.MULTILINE)
        assert sorted(documented) == sorted(field.name for field in msgspec.structs.fields(kind))
