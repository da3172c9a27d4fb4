"""Views of the tables for other engines: the statements that make them, for Spark, DuckDB and Trino.

The rule kept here: a row counts if ``captures`` has its capture with its run. ``captures`` is opened
first, so captures are whole: each view is a join that begins with it, and engines resolve it in that order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from msmq_wire.capture.places import Place
from msmq_wire.tables.table_schemas import delta_schema


class _Engine(msgspec.Struct, frozen=True):
    """How an engine names things: ``{table}`` is the name of a table, ``{url}`` the place of it, quoted."""

    begin: str
    table: str
    captures: str
    view: str
    name: str = "{table}"
    quote: str = "'"


ENGINES: Mapping[str, _Engine] = {
    "duckdb": _Engine(
        begin="LOAD delta;",
        table="delta_scan({url})",
        # Read once: all views join the same captures, whatever runs do meanwhile.
        captures="CREATE OR REPLACE TEMP TABLE",
        view="CREATE OR REPLACE TEMP VIEW",
    ),
    "spark": _Engine(
        begin="-- Spark with delta-spark.",
        table="delta.{url}",
        captures="CREATE OR REPLACE TEMPORARY VIEW",
        view="CREATE OR REPLACE TEMPORARY VIEW",
        quote="`",
    ),
    "trino": _Engine(
        begin="-- A catalog delta of the connector delta_lake, with schemas msmq_tables and msmq.",
        table="delta.msmq_tables.{table}",
        captures="CREATE OR REPLACE VIEW",
        view="CREATE OR REPLACE VIEW",
        name="delta.msmq.{table}",
    ),
}
"""The engines by name."""
_REGISTER = "CALL delta.system.register_table('msmq_tables', '{table}', {url});"


def engine_views(engine: str, place: Place, tables: Iterable[str]) -> str:
    """The statements that make a view of each of ``tables`` below ``place``, ``captures`` first.

    ``engine`` is one of `ENGINES`.
    """
    how = ENGINES[engine]
    names = ["captures", *(one for one in tables if one != "captures")]
    lines = [how.begin]
    for table in names:
        url = place.join(table).url.replace(how.quote, how.quote * 2)
        said = {"table": table, "url": f"{how.quote}{url}{how.quote}"}
        if engine == "trino":
            lines.append(_REGISTER.format(**said))
        rows = f"SELECT * FROM {how.table.format(**said)}"
        if table != "captures" and "run" in delta_schema(table).names:
            captures, source = how.name.format(table="captures"), how.table.format(**said)
            rows = (
                f"SELECT t.*\nFROM {captures} AS c\n"
                f"JOIN {source} AS t ON t.capture = c.capture AND t.run = c.run"
            )
        make = how.captures if table == "captures" else how.view
        lines.append(f"{make} {how.name.format(**said)} AS\n{rows};")
    return "\n".join(lines) + "\n"
