"""A conversation with a directory server about an enterprise: lookups of all that a topology has.

PDUs and stubs are those of the fixtures' own writer, which the package does not know.
"""

from __future__ import annotations

import ipaddress
import struct
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from fixtures.build_findings_calls_rpc import Rpc, answered, asked
from fixtures.build_frames import pcap
from fixtures.build_rpc_cases import Method, some
from fixtures.build_rpc_dscomm import DSCOMM
from fixtures.build_rpc_ndr import Writer, stub
from fixtures.build_rpc_types import GUID_C, HANDLE, NO_HANDLE
from fixtures.build_rpc_variants import variant, vector
from msmq_wire.routing.topology import Topology

_QUERY = {"attributes": 0, "uuid": "7a1d4c8e-0b52-4f6a-9d31-c2e8f0a96b14"}
_MOST = 128


def text(value: str) -> Any:
    return variant(31, pwsz_val=value)


def guid(value: Any) -> Any:
    return variant(72, puuid=str(value))


def guids(values: Iterable[Any]) -> Any:
    return vector(72, "cauuid", [str(one) for one in values])


def flag(value: bool) -> Any:
    return variant(17, b_val=int(value))


def number(value: int) -> Any:
    return variant(19, ul_val=value)


def addresses(values: Iterable[str]) -> Any:
    """TA_ADDRESS structures, one behind the other, of IPv4 addresses; and one of IPX."""
    data = b"".join(struct.pack("<HH", 4, 1) + ipaddress.IPv4Address(one).packed for one in values)
    data += struct.pack("<HH", 10, 3) + bytes(10)
    return variant(65, blob={"cb_size": len(data), "p_blob_data": data})


def _callback(name: str) -> Method:
    return next(one for one in DSCOMM.callbacks if one.name == name)


class Conversation:
    """A client of dscomm and its server, in the clear."""

    def __init__(self) -> None:
        self.rpc = Rpc(DSCOMM)

    def validate(self) -> None:
        """The server proves who it is, in one more step."""
        rpc, init = self.rpc, _callback("S_InitSecCtx")
        rpc.request(22, asked(DSCOMM, 22, "a token"))
        values = {name: case.value for case in init.cases for name in [case.name]}
        data = stub(Writer(), init.request, values["a token"], {})
        rpc._send(1, 0, struct.pack("<IHH", len(data), 0, 2), data, 3, None)
        sizes = {"dw_client_buff_max_size": 4096}
        data = stub(Writer(), init.response, values["nothing more"], sizes)
        rpc._send(0, 2, struct.pack("<IHBB", len(data), 0, 0, 0), data, 3, None)
        rpc.response(answered(DSCOMM, 22, "agreed"))
        rpc.call_id += 1

    def look_up(self, columns: Sequence[int], rows: Sequence[Sequence[Any]], status: int = 0) -> None:
        """A lookup with all its answers."""
        rpc = self.rpc
        wanted = {"c_col": len(columns), "a_col": list(columns)}
        begun = answered(DSCOMM, 6, "a query", p_handle=_QUERY, status=status)
        rpc.call(6, asked(DSCOMM, 6, "every site", p_columns=wanted), begun)
        room = _MOST // len(columns)
        next_ = next(one for one in DSCOMM.methods if one.opnum == 7)
        for start in (*range(0, len(rows), room), len(rows)):
            values = [value for row in rows[start : start + room] for value in row]
            answer = {
                "dw_out_size": len(values),
                "pb_buffer": values,
                "pb_server_signature": some(37),
                "pdw_server_signature_size": 37,
                "status": 0,
            }
            rpc.call(
                7,
                asked(DSCOMM, 7, "room for two sites", handle=_QUERY, dw_size=_MOST),
                stub(Writer(), next_.response, answer, {"dw_size": _MOST}),
            )
        rpc.call(8, asked(DSCOMM, 8, "a query", ph_context=_QUERY), answered(DSCOMM, 8, "done"))

    def get(self, kind: int, identifier: Any, properties: dict[int, Any]) -> None:
        """S_DSGetPropsGuid."""
        count = len(properties)
        request = asked(
            DSCOMM,
            11,
            "a site",
            dw_object_type=kind,
            p_guid=str(identifier),
            cp=count,
            a_prop=list(properties),
            ap_var=[variant(1)] * count,
        )
        self.rpc.call(11, request, answered(DSCOMM, 11, "not signed", ap_var=list(properties.values())))

    def get_named(self, kind: int, name: str, properties: dict[int, Any], status: int = 0) -> None:
        """S_DSGetProps."""
        count = len(properties)
        request = asked(
            DSCOMM,
            2,
            "a site",
            dw_object_type=kind,
            pwcs_path_name=name,
            cp=count,
            a_prop=list(properties),
            ap_var=[variant(1)] * count,
        )
        values = list(properties.values())
        self.rpc.call(2, request, answered(DSCOMM, 2, "not signed", ap_var=values, status=status))

    def create(self, kind: int, properties: dict[int, Any], identifier: Any) -> None:
        """S_DSCreateObject of what has no path name."""
        request = asked(
            DSCOMM,
            0,
            "without a name",
            dw_object_type=kind,
            cp=len(properties),
            a_prop=list(properties),
            ap_var=list(properties.values()),
        )
        self.rpc.call(0, request, answered(DSCOMM, 0, "its identifier", p_obj_guid=str(identifier)))

    def close(self) -> None:
        """The server's handle is closed, and the connection."""
        closed = answered(DSCOMM, 23, "done", pph_server_auth=NO_HANDLE)
        self.rpc.call(23, asked(DSCOMM, 23, "a handle", pph_server_auth=HANDLE), closed)
        self.rpc.close()

    def write(self, path: Path) -> Path:
        path.write_bytes(pcap(self.rpc.scene.frames))
        return path


def tell(topology: Topology, path: Path) -> Path:
    """Write the conversation in which a client asks for all of an enterprise."""
    talk = Conversation()
    talk.validate()
    talk.look_up(
        (301, 302, 303, 309, 311),
        [
            (
                text(one.name),
                guid(one.identifier),
                guids(one.site_gate_collection),
                text(one.full_path),
                flag(one.foreign_site),
            )
            for one in topology.sites.values()
        ],
    )
    talk.look_up(
        (502, 503), [(text(one.name), guid(one.identifier)) for one in topology.connected_networks.values()]
    )
    talk.look_up(
        (806, 801, 802, 812, 810, 811, 813),
        [
            (
                guid(one.identifier),
                guid(one.site1_identifier),
                guid(one.site2_identifier),
                number(one.actual_cost),
                text(one.description),
                text(one.full_path),
                guids(one.site_gate_identifier_list),
            )
            for one in topology.routing_links.values()
        ],
    )
    talk.look_up(
        (202, 203, 233, 206, 222, 207),
        [
            (
                guid(one.identifier),
                text(one.computer_name),
                text(one.qualified_computer_name),
                addresses(one.addresses),
                guids(one.site_identifier_list),
                guids(one.connected_network_identifier_list),
            )
            for one in topology.queue_managers.values()
        ],
    )
    # What the lookups did not bring is asked for, of one after the other.
    for one in topology.queue_managers.values():
        properties = {
            208: guids(one.out_routing_server_identifier_list),
            209: guids(one.in_routing_server_identifier_list),
            221: text(one.full_path),
            227: flag(one.routing_server),
            219: flag(one.foreign_system),
        }
        if one.routing_server:
            talk.get(2, one.identifier, properties)
        else:
            talk.get_named(2, one.computer_name, properties)
    talk.look_up((601, 609), [(text("enterprise"), guid(GUID_C))])
    talk.close()
    return talk.write(path)
