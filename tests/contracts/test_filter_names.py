"""Every column is a name of filters, and so is what Wireshark, scapy and the tables of Spark call a field."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msmq_wire.detection.columns import FINDING_COLUMNS
from msmq_wire.detection.filtering import findings_vocabulary
from msmq_wire.records.call import CALL_COLUMNS
from msmq_wire.records.column import RECORD_COLUMNS
from msmq_wire.records.filter.record_names import records
from msmq_wire.records.message import COLUMNS
from msmq_wire.records.outcome import OUTCOME
from msmq_wire.wire.registry import PACKETS

_LUA = Path(__file__).resolve().parents[2] / "dissectors" / "msmq_wireshark"
_OF_WIRESHARK = {
    # Links between frames, and what only a dissector has to show.
    "msmq.request_in",
    "msmq.response_in",
    "msmq.acknowledges",
    "msmq.acknowledged_in",
    "msmq.skipped",
    "msmq.security_header.security_data.session_key_algorithm",
    "msmq_rpc.request_in",
    "msmq_rpc.response_in",
    "msmq_rpc.null",
    "msmq_rpc.null_pointee",
    "msmq_rpc.kind",
}
_OF_SPARK = {
    # The rows that a call carried, and bytes that JSON has in the place of the text.
    "messages",
    "security_header.security_data.security_id_raw",
    # What keys made of a body; `body` is that for filters.
    "opened_body",
}


def _unknown(names: list[str]) -> list[str]:
    return [name for name in names if records().known(name) is None]


def test_every_column_is_a_name() -> None:
    names = [one.name for columns in (RECORD_COLUMNS, CALL_COLUMNS) for one in columns]
    names += [one.name for one in COLUMNS]
    assert len(names) > 50
    assert _unknown(names) == []
    assert _unknown([one.display.head for one in COLUMNS if one.display is not None]) == []
    assert records(outcomes=True).known(OUTCOME.name) is not None
    vocabulary = findings_vocabulary()
    assert [one.name for one in FINDING_COLUMNS if vocabulary.known(one.name) is None] == []


def test_filter_names_of_wireshark_are_names() -> None:
    tables = (_LUA / "msmq_tables.lua").read_text(encoding="utf-8")
    # A structure that is dissected alone stands below its own name; in a packet it is below its header.
    stems = "|".join(PACKETS)
    packets = re.findall(
        rf'T\["msmq(?:\.\w+)* (?:{stems})"\] = {{\n(.*?)^}}', tables, re.MULTILINE | re.DOTALL
    )
    abbrs = re.findall(r'"abbr"\] = "([^"]+)"', tables)
    roots = {one.split(".")[1] for text in packets for one in re.findall(r'"abbr"\] = "([^"]+)"', text)}
    shown = [one for one in abbrs if one.split(".")[1] in roots and not one.startswith("msmq.expert")]
    calls = (_LUA / "msmq_rpc_tables.lua").read_text(encoding="utf-8")
    fields = re.findall(r'^\["((?:request|response)\.[^"]+)"\]', calls, re.MULTILINE)
    own = re.findall(r'(?:field|_field)\("(msmq\.[a-z_.]+)"', (_LUA / "msmq.lua").read_text("utf-8"))
    rpc = re.findall(r'ProtoField\.\w+\("(msmq_rpc\.[a-z_]+)"', (_LUA / "msmq_rpc.lua").read_text("utf-8"))
    assert (len(shown) > 300, len(fields) > 400, len(own) > 8, len(rpc) > 12) == (True, True, True, True)
    # What a format name is made of: JSON has it as one name.
    inside = re.compile(r"(?:_queue|format_name_list\.format_name)\.\w+$")
    assert [one for one in _unknown(shown) if not inside.search(one)] == []
    assert _unknown([f"msmq_rpc.{one}" for one in fields]) == []
    assert set(_unknown([*own, *rpc])) == _OF_WIRESHARK
    assert _unknown(["frame.number", "frame.time", "ip.src", "ip.dst", "ip.addr", "ipv6.addr"]) == []


def test_fields_of_scapy_are_names() -> None:
    packets = importlib.import_module("msmq_scapy.packets")

    def walked(cls: Any, prefix: str) -> Iterator[str]:
        for step in cls.steps:
            if step.field is None:
                continue
            yield prefix + step.name
            field = getattr(step.field, "fld", step.field)
            inner = getattr(field, "cls", None)
            if hasattr(inner, "steps"):
                yield from walked(inner, f"{prefix}{step.name}.")

    names = [name for cls in PACKETS.values() for name in walked(packets.packet_class(cls), "")]
    assert len(names) > 100
    assert _unknown(names) == []


def test_columns_of_spark_are_names() -> None:
    pa = importlib.import_module("pyarrow")
    from msmq_wire.tables.call_columns import call_schema
    from msmq_wire.tables.message_columns import message_schema

    def walked(fields: Any, prefix: str = "") -> Iterator[str]:
        for one in fields:
            yield prefix + one.name
            kind = one.type.value_type if pa.types.is_list(one.type) else one.type
            if pa.types.is_struct(kind) and one.name not in _OF_SPARK:
                yield from walked(kind, f"{prefix}{one.name}.")

    names = [*walked(message_schema()), *walked(call_schema())]
    assert len(names) > 400
    assert set(_unknown(names)) == _OF_SPARK
