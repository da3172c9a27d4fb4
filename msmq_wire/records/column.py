"""`Column`: a column of calls, of any record, or of findings, declared once as those of messages are.

The rule kept here: tables, CSV, JSON lines, their schemas and the documentation read the declared columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache, cached_property
from operator import attrgetter
from typing import Any, ClassVar, TypeVar

import msgspec

from msmq_wire.reassembly.encapsulation import GRE_KEY, VIRTUAL_NETWORK, VLAN, numbers_in
from msmq_wire.records.display import AS_JSON, CAPTURE, ColumnDeclaration, Display
from msmq_wire.records.endpoint import proxied
from msmq_wire.records.join_keys import JoinKeys, keys_of
from msmq_wire.records.record import FileLocation, Record
from msmq_wire.records.rpc_packets import RpcCall
from msmq_wire.records.seen_at import seen_at, seen_cell
from msmq_wire.wire.private import Private, Public, What, privacy


class Column(ColumnDeclaration, frozen=True):
    """A column: what it is called and means, and what gives its value.

    ``where`` is an attribute of what a row is about, or a function of it. Each of its ``objects`` has
    ``columns`` of its own.
    """

    where: str | Callable[[Any], Any] = ""
    columns: tuple[Column, ...] = ()

    @property
    def tells(self) -> What | None:
        """With what a redaction takes its values away: as ``reveals`` or the marker of its field says."""
        where = self.where or self.name
        said = _marked().get(where.rpartition(".")[2]) if isinstance(where, str) else None
        return self.reveals or (said.what if isinstance(said, Private) else None)

    @cached_property
    def value(self) -> Callable[[Any], Any]:
        """What gives its value for what a row is about."""
        where = self.where or self.name
        return attrgetter(where) if isinstance(where, str) else where

    @cached_property
    def json(self) -> Callable[[Any], Any]:
        """What gives the same as JSON."""
        value, as_json, columns = self.value, AS_JSON.get(self.kind), self.columns
        if columns:
            return lambda about: [{one.name: one.json(each) for one in columns} for each in value(about)]
        if as_json is None:
            return value
        return lambda about: None if (found := value(about)) is None else as_json(found)


@cache
def _marked() -> Mapping[str, Private | Public]:
    return {**privacy(Record), **privacy(RpcCall)}


_Column = TypeVar("_Column", bound=Column)

PLACE: Mapping[str, Column] = {
    one.name: one
    for one in (
        Column(
            "id", "number", "Number of the item, the same in every command.",
            least=1, optional=False, display=Display("id", style="strong"),
        ),
        Column("parent", "number", "Id of the item that carried it."),
        Column("capture", "text", "The file.", optional=False, display=CAPTURE),
        Column("frames", "numbers", "Numbers of the frames that carry it, from 1.", optional=False),
        Column("time", "time", "Of the frame that completes it.", display=Display("time", 72)),
        Column("src", "endpoint", "Address and port it came from.", display=Display("src", 0, 10, last=True)),
        Column("dst", "endpoint", "Address and port it went to.", display=Display("dst", 0, 10, last=True)),
        Column("stream", "number", "Number of the TCP connection, from 0.", display=Display("stream")),
        Column(
            "offset", "number", "Bytes of that direction, or at rest of the file, before it.",
            optional=False,
        ),
        Column("length", "number", "Captured bytes.", optional=False, display=Display("length")),
    )
}  # fmt: skip
"""Where a record was found: what every row that is about one says of that."""


def placed(
    name: str,
    kind: type[_Column],
    *,
    called: str = "",
    where: str | Callable[[Any], Any] = "",
    **changes: Any,
) -> _Column:
    """A column of `PLACE` as other rows have it: what it is ``called``, ``where`` it is, and what differs."""
    declared = msgspec.structs.asdict(PLACE[name])
    return kind(**{**declared, "name": called or name, "where": where or name, **changes})


_JOINED: Mapping[str, Column] = {
    one.name: one
    for one in (
        Column("src_ip", "address", "Address it came from, without the port.", reveals="host"),
        Column("src_port", "number", "Port it came from.", most=0xFFFF),
        Column("dst_ip", "address", "Address it went to, without the port.", reveals="host"),
        Column("dst_port", "number", "Port it went to.", most=0xFFFF),
        Column(
            "community_id", "text",
            "Community ID of its flow, version 1 with seed 0, as Zeek and Suricata have it.",
            pattern="^1:[A-Za-z0-9+/]{27}=$", reveals="host",
        ),
    )
}  # fmt: skip


def join_columns(
    kind: type[_Column], keys: Callable[[Any], JoinKeys] = keys_of, **changes: Any
) -> tuple[_Column, ...]:
    """The columns by which rows of other tools are joined; ``keys`` gives them of what a row is about."""

    def of(number: int) -> Callable[[Any], Any]:
        return lambda about: keys(about)[number]

    return tuple(
        kind(**{**msgspec.structs.asdict(one), "where": of(number), **changes})
        for number, one in enumerate(_JOINED.values())
    )


JOIN_KEYS: tuple[Column, ...] = join_columns(Column)
"""The columns of `keys_of` a record."""


class ColumnRow:
    """What ``columns`` say of something, or of the row itself: ``row["time"]``, ``row.json("time")``."""

    __slots__ = ("_given",)
    columns: ClassVar[Mapping[str, Column]]

    def __init_subclass__(cls, columns: Iterable[Column]) -> None:
        cls.columns = {one.name: one for one in columns}

    def __init__(self, about: Any = None) -> None:
        self._given = about

    @property
    def _about(self) -> Any:
        return self if self._given is None else self._given

    def __contains__(self, name: object) -> bool:
        return name in self.columns

    def __getitem__(self, name: str) -> Any:
        return self.columns[name].value(self._about)

    def json(self, name: str) -> Any:
        """The value of a column as JSON."""
        given = self._given
        return self.columns[name].json(self if given is None else given)

    get = json

    def as_json(self, names: Iterable[str]) -> dict[str, Any]:
        """The columns of these names as JSON. Raises KeyError for a name that is no column."""
        columns, about = self.columns, self._about
        return {name: columns[name].json(about) for name in names}

    def row(self) -> dict[str, Any]:
        """The columns as JSON, but for those that have to be asked for."""
        return self.as_json(name for name, one in self.columns.items() if not one.asked)


def _error(record: Record) -> str | None:
    if record.error is not None:
        return record.error.code
    # As its JSON has it.
    return "capture" if record.type == "error" else None


def _place(location: FileLocation) -> str:
    address = "" if location.address is None else f", address {location.address:#x}"
    return f"{location.capture} at {location.offset}{address}"


def _captured_in(kind: bytes) -> Callable[[bytes], tuple[int, ...]]:
    return lambda path: numbers_in(path, kind) if path else ()


def _in_path(name: str) -> Callable[[Record], Any]:
    return lambda record: IN_PATHS[name](record.path)


IN_PATHS: Mapping[str, Callable[[bytes], Any]] = {
    "vlan": _captured_in(VLAN),
    "vni": _captured_in(VIRTUAL_NETWORK),
    "gre_key": _captured_in(GRE_KEY),
    "proxied_client": lambda path: proxied(path)[0],
    "proxied_server": lambda path: proxied(path)[1],
}
"""The columns of `ENCAPSULATION`, with what each shows of a path."""
ENCAPSULATION = (
    *(
        Column(name, "numbers", doc, _in_path(name), optional=False, asked=True)
        for name, doc in (
            ("vlan", "VLANs that it was captured in, the outermost first."),
            ("vni", "Virtual networks (VXLAN, Geneve) that it was captured in."),
            ("gre_key", "Keys of GRE that it was captured in."),
        )
    ),
    *(
        Column(name, "endpoint", doc, _in_path(name), asked=True, reveals="host")
        for name, doc in (
            ("proxied_client", "The client of its connection, by the PROXY header that the sender wrote."),
            ("proxied_server", "Whom that client connected to, by the same header."),
        )
    ),
)
"""What it was captured in, and whose connection it came by, as `Record.path` has it."""

SEEN_AT = Column(
    "seen_at", "texts",
    "Vantage points of the capture, each with what it saw of the bytes: whole, part, absent (they never came "
    "there), lost (that recording lost them), outside (it was not recording) or unknown. "
    "Null where there is one point.",
    seen_at, asked=True, reveals="host",
    display=Display("seen", 100, 8, end=True, text=seen_cell, seldom=True),
)  # fmt: skip
CAPTURED: tuple[Column, ...] = (*ENCAPSULATION, SEEN_AT)
"""How it was captured: what any record has to say of that, if it is asked."""

RECORD_COLUMNS: tuple[Column, ...] = (
    PLACE["id"],
    PLACE["parent"],
    Column(
        "type", "text", "Kind of packet, or what else it is.", optional=False, display=Display("type", 0, 10)
    ),
    *(one for name, one in PLACE.items() if name not in ("id", "parent")),
    Column(
        "anomalies", "number", "How many rules it breaks.", lambda record: len(record.anomalies),
        optional=False, display=Display("odd"),
    ),
    Column(
        "anomaly_codes", "texts", "Which rules it breaks.",
        lambda record: tuple(dict.fromkeys(one.code for one in record.anomalies)), optional=False,
    ),
    Column("error", "text", "Why it could not be decoded to its end.", _error),
    Column("missing", "number", "Bytes of a gap that were not captured, null if unknown."),
    Column("frames_missing", "number", "Frames that the file says it dropped, or that it has in part."),
    Column("reason", "text", "Why there is a gap, or a file ends."),
    Column("event", "text", "Step of a connection."),
    Column(
        "grade", "text", "What was found at rest is worth: whole, damaged or head.",
        choices=("whole", "damaged", "head"), asked=True, display=Display("grade", 0, style="note"),
    ),
    Column(
        "places", "texts", "All places where the same bytes lie at rest.",
        lambda record: tuple(map(_place, record.locations)), asked=True, reveals="host",
        display=Display("places", 150, 8, text=lambda row: str(len(row.get("places") or ()))),
    ),
    *JOIN_KEYS,
    *CAPTURED,
)  # fmt: skip
"""What there is of any record, in order: the columns of ``decode`` beside those of messages and calls."""


class RecordRow(ColumnRow, columns=RECORD_COLUMNS):
    """What there is of a record, whatever it is."""

    __slots__ = ()
