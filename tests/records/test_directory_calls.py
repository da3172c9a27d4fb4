"""Calls of the directory as records: lookups and their columns, callbacks, what is told of them."""

from __future__ import annotations

from typing import Any, cast

import pytest

from fixtures.build_rpc_types import GUID_A, GUID_B
from msmq_wire.capture.reader import read_capture
from msmq_wire.records.call_story import call_story
from msmq_wire.records.record import Record
from msmq_wire.records.rpc_packets import RpcCall
from msmq_wire.records.tree.call_nodes import call_nodes
from msmq_wire.records.tree.tree_node import NodeOptions, TreeNode
from tests.routing.directory_calls import Conversation, guid, text


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> list[Record]:
    talk = Conversation()
    talk.validate()
    talk.look_up((301, 302), [(text("Berlin"), guid(GUID_A)), (text("Paris"), guid(GUID_B))])
    talk.get_named(1, "msg01\\orders", {108: text("orders of the day")})
    talk.get(
        3,
        GUID_A,
        {301: text("Berlin")},
    )
    talk.close()
    path = talk.write(tmp_path_factory.mktemp("directory") / "calls.pcap")
    return [one for one in read_capture(path) if isinstance(one, Record) and one.type == "rpc_call"]


def _calls(records: list[Record]) -> dict[str, list[RpcCall]]:
    found: dict[str, list[RpcCall]] = {}
    for record in records:
        assert isinstance(record.packet, RpcCall)
        found.setdefault(record.packet.method or "", []).append(record.packet)
    return found


def _texts(nodes: list[TreeNode]) -> list[str]:
    return [part for node in nodes for part in (f"{node.name} {node.value}", *_texts(node.children))]


def test_what_the_server_asks_is_a_call_of_its_own_the_other_way(records: list[Record]) -> None:
    inner, outer = records[0], records[1]
    assert (inner.packet.method, outer.packet.method) == ("S_InitSecCtx", "S_DSValidateServer")
    assert (inner.packet.callback, outer.packet.callback) == (True, False)
    assert (inner.src, inner.dst) == (outer.dst, outer.src)
    assert inner.packet.request.p_serverbuff
    assert not inner.anomalies


def test_values_of_a_lookup_have_the_properties_that_it_began_with(records: list[Record]) -> None:
    calls = _calls(records)
    (begun,), (first, last) = calls["S_DSLookupBegin"], calls["S_DSLookupNext"]
    assert begun.columns == ()
    assert first.columns == last.columns == (301, 302)
    assert first.opened_frame is not None
    assert len(cast(Any, first.response).pb_buffer) == 4
    assert cast(Any, last.response).pb_buffer == ()


def test_handles_of_servers_outlive_a_lookup(records: list[Record]) -> None:
    calls = _calls(records)
    (closed,) = calls["S_DSCloseServerHandle"]
    assert closed.opened_frame is not None


def test_a_tree_has_values_under_their_names(records: list[Record]) -> None:
    calls = _calls(records)

    def reported(call: RpcCall) -> list[str]:
        return _texts(list(call_nodes(call, NodeOptions(), set())))

    first = reported(calls["S_DSLookupNext"][0])
    assert [one for one in first if one.startswith("PROPID_S_PATHNAME")] == [
        'PROPID_S_PATHNAME "Berlin"',
        'PROPID_S_PATHNAME "Paris"',
    ]
    assert any(one.startswith('PROPID_Q_LABEL "orders') for one in reported(calls["S_DSGetProps"][0]))


def test_a_call_says_what_it_does_with_which_object(records: list[Record]) -> None:
    stories: dict[str, Any] = {name: call_story(those[0]) for name, those in _calls(records).items()}
    assert stories == {
        "S_InitSecCtx": "the server goes on proving who it is",
        "S_DSValidateServer": "has the server prove who it is",
        "S_DSLookupBegin": "looks up 2 properties of sites",
        "S_DSLookupNext": "reads on in what was looked up: 4 values",
        "S_DSLookupEnd": "ends the lookup",
        "S_DSGetProps": "reads 1 property of queue msg01\\orders",
        "S_DSGetPropsGuid": f"reads 1 property of site {GUID_A[:25]}...",
        "S_DSCloseServerHandle": "ends what the server signs with",
    }
    assert call_story(_calls(records)["S_DSLookupNext"][1]).endswith(": no more")


def test_a_queue_of_the_directory_is_the_queue_of_its_call(records: list[Record]) -> None:
    calls = _calls(records)
    assert [one.queue for one in calls["S_DSGetProps"]] == ["msg01\\orders"]
    assert [one.queue for one in calls["S_DSGetPropsGuid"]] == [None]
