"""Topologies from an LDIF export of Active Directory: [MS-MQDSSM] 2.2.1, 2.2.2, 2.4 and 3.1.6.11.

The rule kept here: what a queue manager would refuse in the directory is refused here, and named by line and
distinguished name; what it would skip is skipped, and counted in a note.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import TypeAlias

import msgspec

from msmq_wire.errors import TopologyError
from msmq_wire.routing.directory import DirectoryObject, QueueManager, RoutingLink, Site
from msmq_wire.routing.ldif import LdifRecord, distinguished_name, ldif_records
from msmq_wire.routing.topology import Topology, topology_of
from msmq_wire.routing.topology_names import listed, shown
from msmq_wire.wire.types.guid import GUID, NULL_GUID

_QUEUE_MANAGER, _COMPUTER, _SITE, _LINK = "msmqconfiguration", "computer", "site", "msmqsitelink"
_WANTED = frozenset(
    (
        "objectclass",
        "objectguid",
        "cn",
        "description",
        "dnshostname",
        "msmqcost",
        "msmqforeign",
        "msmqinroutingservers",
        "msmqoutroutingservers",
        "msmqroutingservices",
        "msmqsite1",
        "msmqsite2",
        "msmqsiteforeign",
        "msmqsitegates",
        "msmqsites",
    )
)
# Not set is FALSE, by the defaults of [MS-MQDSSM] 3.1.6.11.1 and 3.1.6.11.4.
_BOOLEANS = {"true": True, "1": True, "false": False, "0": False, "": False}
_INTEGER = re.compile(r"-?[0-9]{1,10}", re.ASCII)

Path: TypeAlias = tuple[tuple[str, str], ...]


class _Export:
    """The objects of an export by class and by distinguished name, and what was odd in it."""

    def __init__(self, text: str) -> None:
        self.objects: dict[str, dict[Path, LdifRecord]] = {
            kind: {} for kind in (_QUEUE_MANAGER, _COMPUTER, _SITE, _LINK)
        }
        self.others: Counter[str] = Counter()
        self.oddities: dict[str, list[str]] = {}
        # Exports that are put together keep their byte order marks.
        for record in ldif_records(text.replace("\n\ufeff", "\n"), _WANTED):
            classes = _texts(record, "objectClass")
            kind = next((one.lower() for one in classes if one.lower() in self.objects), None)
            if kind is None:
                self.others[classes[-1] if classes else "no objectClass"] += 1
                continue
            path = _path(record, record.dn)
            if path in self.objects[kind]:
                raise TopologyError(f"{record.label}: the export has this object twice")
            self.objects[kind][path] = record

    def note(self, oddity: str, name: str) -> None:
        self.oddities.setdefault(oddity, []).append(name)

    def notes(self) -> tuple[str, ...]:
        notes = [f"{oddity}: {listed(names)}" for oddity, names in self.oddities.items()]
        if self.others:
            kinds = [f"{count:,} {name}" for name, count in self.others.most_common()]
            notes.append(f"classes of objects that are left out: {listed(kinds)}")
        return tuple(notes)


def topology_of_ldif(text: str) -> Topology:
    """Make a topology of an export, whose lines end with a line feed. Raises TopologyError.

    Routing servers and sites that a queue manager names and the export does not have are skipped, with a
    note; sites and gates of routing links have to be there. [MS-MQDSSM] 3.1.6.11.1 to 3.1.6.11.5
    """
    export = _Export(text)
    sites = {path: _site(record) for path, record in export.objects[_SITE].items()}
    site_identifiers = {path: site.identifier for path, site in sites.items()}
    identifiers = {
        path: _guids(record, "objectGUID")[0] for path, record in export.objects[_QUEUE_MANAGER].items()
    }
    known = set(site_identifiers.values())
    managers = {path: _queue_manager(path, export, identifiers, known) for path in identifiers}
    links = {
        path: _routing_link(record, site_identifiers, identifiers)
        for path, record in export.objects[_LINK].items()
    }
    made: tuple[tuple[str, Mapping[Path, DirectoryObject]], ...] = (
        (_SITE, sites),
        (_QUEUE_MANAGER, managers),
        (_LINK, links),
    )
    labels = {
        (type(one), one.identifier): export.objects[kind][path].label
        for kind, those in made
        for path, one in those.items()
    }
    topology = topology_of(managers.values(), sites.values(), links.values(), entries=labels)
    return msgspec.structs.replace(topology, notes=(*export.notes(), *topology.notes))


def _site(record: LdifRecord) -> Site:
    """[MS-MQDSSM] 3.1.6.11.4"""
    return Site(
        identifier=_guids(record, "objectGUID")[0],
        name=_required(record, "cn"),
        full_path=record.dn,
        foreign_site=_boolean(record, "mSMQSiteForeign"),
    )


def _queue_manager(
    path: Path, export: _Export, identifiers: Mapping[Path, GUID], known_sites: set[GUID]
) -> QueueManager:
    """[MS-MQDSSM] 3.1.6.11.1"""
    record = export.objects[_QUEUE_MANAGER][path]
    above = distinguished_name(record.dn)[1:]
    if not above or not above[0][1]:
        raise TopologyError(f"{record.label}: there is no computer above this object")
    name = above[0][1]
    # The computer is what the distinguished name says without its first element.
    computer = export.objects[_COMPUTER].get(path[1:])
    if computer is None:
        export.note("queue managers without their computer, so that they have no dNSHostName", name)
    sites = _guids(record, "mSMQSites")
    if sites and not known_sites:
        raise TopologyError(f"{record.label}: mSMQSites names sites, and the export has none")
    servers: dict[str, tuple[GUID, ...]] = {}
    for attribute in ("mSMQOutRoutingServers", "mSMQInRoutingServers"):
        paths = _paths(record, attribute)
        servers[attribute] = tuple(identifiers[one] for one in paths if one in identifiers)
        if len(servers[attribute]) < len(paths):
            export.note(f"queue managers whose {attribute} names what is not in the export", name)
    if not known_sites.issuperset(sites):
        export.note("queue managers whose mSMQSites names what is not in the export", name)
    return QueueManager(
        identifier=identifiers[path],
        computer_name=name,
        qualified_computer_name="" if computer is None else _single(computer, "dNSHostName"),
        full_path=record.dn,
        site_identifier_list=tuple(one for one in sites if one in known_sites),
        out_routing_server_identifier_list=servers["mSMQOutRoutingServers"],
        in_routing_server_identifier_list=servers["mSMQInRoutingServers"],
        routing_server=_boolean(record, "mSMQRoutingServices"),
        foreign_system=_boolean(record, "mSMQForeign"),
    )


def _routing_link(
    record: LdifRecord, sites: Mapping[Path, GUID], managers: Mapping[Path, GUID]
) -> RoutingLink:
    """[MS-MQDSSM] 3.1.6.11.5"""
    return RoutingLink(
        identifier=_guids(record, "objectGUID")[0],
        description=_single(record, "description"),
        full_path=record.dn,
        actual_cost=_integer(record, "mSMQCost"),
        site1_identifier=_found(record, "mSMQSite1", _required(record, "mSMQSite1"), sites, "site"),
        site2_identifier=_found(record, "mSMQSite2", _required(record, "mSMQSite2"), sites, "site"),
        site_gate_identifier_list=tuple(
            _found(record, "mSMQSiteGates", one, managers, "queue manager")
            for one in _texts(record, "mSMQSiteGates")
        ),
    )


def _path(record: LdifRecord, text: str) -> Path:
    """A distinguished name to compare: the letter case of its values does not count."""
    try:
        return tuple((kind, value.casefold()) for kind, value in distinguished_name(text))
    except TopologyError as error:
        raise TopologyError(f"{record.label}: {error}") from None


def _paths(record: LdifRecord, attribute: str) -> list[Path]:
    return [_path(record, one) for one in _texts(record, attribute)]


def _found(record: LdifRecord, attribute: str, text: str, known: Mapping[Path, GUID], kind: str) -> GUID:
    found = known.get(_path(record, text))
    if found is None:
        raise TopologyError(
            f"{record.label}: {attribute} names {kind} {shown(text)}, which is not in the export"
        )
    return found


def _values(record: LdifRecord, attribute: str) -> list[bytes]:
    return record.attributes.get(attribute.lower(), [])


def _texts(record: LdifRecord, attribute: str) -> list[str]:
    try:
        return [value.decode() for value in _values(record, attribute)]
    except UnicodeDecodeError:
        raise TopologyError(f"{record.label}: {attribute} is no UTF-8 text") from None


def _single(record: LdifRecord, attribute: str) -> str:
    """The value of an attribute that has one, or none: then it is empty."""
    texts = _texts(record, attribute)
    if len(texts) > 1:
        raise TopologyError(f"{record.label}: {attribute} has {len(texts):,} values, not one")
    return texts[0] if texts else ""


def _required(record: LdifRecord, attribute: str) -> str:
    text = _single(record, attribute)
    if not text:
        raise TopologyError(f"{record.label}: {attribute} is missing")
    return text


def _integer(record: LdifRecord, attribute: str) -> int:
    text = _required(record, attribute)
    if not _INTEGER.fullmatch(text):
        raise TopologyError(f"{record.label}: {attribute} {shown(text)} is no whole number of 32 bits")
    return int(text)


def _boolean(record: LdifRecord, attribute: str) -> bool:
    text = _single(record, attribute)
    known = _BOOLEANS.get(text.lower())
    if known is None:
        raise TopologyError(f"{record.label}: {attribute} {shown(text)} is neither TRUE nor FALSE")
    return known


def _guids(record: LdifRecord, attribute: str) -> tuple[GUID, ...]:
    """Sixteen bytes for each value, in the order of the wire; ``objectGUID`` has to be there once."""
    values = _values(record, attribute)
    if attribute == "objectGUID" and len(values) != 1:
        problem = f"has {len(values):,} values, not one" if values else "is missing"
        raise TopologyError(f"{record.label}: {attribute} {problem}")
    for value in values:
        if len(value) != len(NULL_GUID):
            raise TopologyError(f"{record.label}: {attribute} has {len(value):,} bytes, not 16")
    return tuple(GUID(value) for value in values)
