"""Captures: tshark with the dissector finds the packets that `read_capture` finds, in the same frames."""

from __future__ import annotations

from pathlib import Path

import pytest

import msmq_wire
from tests.dissectors.wireshark.tshark_view import Node, run, show
from tests.effort import in_batches

pytestmark = pytest.mark.tshark

_CAPTURES = Path(__file__).parents[3] / "fixtures" / "captures"
# tshark refuses the damaged files. Behind a PacketSize that no packet can have, `read_capture` skips 4 MiB,
# the dissector looks at the next segment.
_OTHERWISE = {"path_cut_file", "path_damaged_record", "path_packet_size_over_4_mib"}
_IN_ORDER = ("-o", "tcp.reassemble_out_of_order:TRUE")
_ARGUMENTS = {
    # Waiting for what was lost would show nothing behind it, so this is not Wireshark's default.
    "path_overlap_differing_bytes": _IN_ORDER,
    "path_reordering": _IN_ORDER,
    "path_retransmission_partial_overlap": _IN_ORDER,
    "path_other_port": ("-o", "msmq.tcp_ports:1801,18010"),
}
_PACKETS = (
    "user_message",
    "order_ack",
    "final_ack",
    "session_ack",
    "establish_connection",
    "connection_parameters",
    "ping",
)


def _captures() -> list[Path]:
    found = sorted(path for path in _CAPTURES.iterdir() if path.suffix in (".pcap", ".pcapng"))
    return [path for path in found if path.stem not in _OTHERWISE and "srmp" not in path.stem]


def _label(node: Node) -> str | None:
    properties = node.children.get("message_properties_header")
    return properties[0].text("label") if properties else None


@pytest.mark.slow
@in_batches(_captures(), every=18)
def test_the_packets_of_a_capture_are_found_in_the_same_frames(path: Path) -> None:
    expected = []
    for record in msmq_wire.read_capture(path):
        # What a call carries stands below the call.
        if record.type in _PACKETS and record.parent is None and record.error is None:
            properties = getattr(record.packet, "message_properties_header", None)
            label = None if properties is None else properties.label.text
            expected.append((max(record.frames), record.type, (label or "").replace("\0", "␀")))
    found = []
    for number, shown in enumerate(show(path, *_ARGUMENTS.get(path.stem, ())), 1):
        for _, node, _ in shown.trees:
            if node.text("type") and "error" not in node.children:
                found.append((number, node.text("type"), _label(node) or ""))
    assert sorted(found, key=str) == sorted(expected, key=str)


def test_labels_are_found_by_a_filter_on_the_destination_type() -> None:
    reported = run(
        _CAPTURES / "demo.pcap", "-Y", "msmq.user_header.flags.dq == 7", "-T", "fields",
        "-e", "msmq.message_properties_header.label",
    )  # fmt: skip
    assert reported.split("\n")[:3] == ["order 4711", "payment 93", "catalogue 2026-11-20"]


@pytest.mark.slow
def test_the_info_column_tells_the_story() -> None:
    reported = run(_CAPTURES / "demo.pcap", "-T", "fields", "-e", "_ws.col.Info", "-Y", "msmq").splitlines()
    assert reported[1].startswith("Ping answer from c277e190-")
    assert reported[4] == "ConnectionParameters window 64"
    # Newer tsharks write each backslash of a field twice.
    story = 'UserMessage #4162 to DIRECT=OS:msg01\\private$\\orders "order 4711" priority 3'
    assert reported[6].replace("\\\\", "\\") == story
    assert reported[8] == "OrderAck sequence 1787166047:1 number 1"


def test_requests_and_acknowledgments_lead_to_what_they_belong_to() -> None:
    links = (
        "msmq.request_in", "msmq.response_in", "msmq.acknowledges", "msmq.acknowledged_in",
    )  # fmt: skip
    arguments = [word for link in links for word in ("-e", link)]
    reported = run(
        _CAPTURES / "demo.pcap", "-2", "-T", "fields", "-e", "frame.number", *arguments, "-Y", "msmq"
    )
    rows = {row.split("\t")[0]: row.split("\t")[1:] for row in reported.splitlines()}
    assert rows["1"][1] == "2"
    assert rows["2"][0] == "1"
    assert (rows["6"][1], rows["7"][0]) == ("7", "6")
    assert (rows["8"][1], rows["9"][0]) == ("9", "8")
    assert rows["19"][2] == "11,13,17"
    assert [rows[number][3] for number in ("11", "13", "17")] == ["19", "19", "19"]
    assert (rows["17"][2], rows["21"][2]) == ("14", "20")
