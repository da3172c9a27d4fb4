"""`parse_topology`: a topology from the bytes of a file, in TOML, JSON or LDIF.

The rule kept here: any bytes give a topology or a `TopologyError` of one line, in time linear in them.
"""

from __future__ import annotations

import codecs
import json
import re
import tomllib
from collections.abc import Callable
from enum import StrEnum
from typing import Any

from msmq_wire.buffers import as_bytes
from msmq_wire.errors import TopologyError
from msmq_wire.routing.topology import Topology
from msmq_wire.routing.topology_ldif import topology_of_ldif
from msmq_wire.routing.topology_names import shown
from msmq_wire.routing.topology_tables import TABLES, JsonObject, topology_of_tables

_MOST_DIGITS = 4300
_MOST_DOTS = 64
_TOML_STRINGS = re.compile(r'"(?:[^"\\\n]|\\.)*(?:"|\\?$)|\'[^\'\n]*(?:\'|$)|#.*', re.MULTILINE)
_TOML_PLACE = re.compile(r"(.*) \(at (?:line (\d+), column (\d+)|end of document)\)", re.DOTALL)
_DIGITS = re.compile(rf"[0-9][0-9_]{{{_MOST_DIGITS - 1},}}")
_ENCODINGS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


class TopologyForm(StrEnum):
    """How a topology is written."""

    TOML = "toml"
    JSON = "json"
    LDIF = "ldif"


def parse_topology(data: bytes, form: TopologyForm | None = None) -> Topology:
    """Read a topology: UTF-8, or UTF-16 with a byte order mark.

    Without ``form`` it is JSON if it begins with ``{``, LDIF if it begins with ``dn:`` or ``version:``, and
    TOML otherwise. Raises TopologyError, whose message is one line and names the line or the entry.
    """
    text = _text(as_bytes(data))
    topology = _READERS[form or _form(text)](text)
    if not (topology.queue_managers or topology.sites or topology.routing_links):
        raise TopologyError(f"there is nothing in it: no {', no '.join(list(TABLES)[:3])}")
    return topology


def _text(data: bytes) -> str:
    mark, encoding = next(
        ((mark, encoding) for mark, encoding in _ENCODINGS if data.startswith(mark)), (b"", "utf-8")
    )
    try:
        text = data[len(mark) :].decode(encoding)
    except UnicodeDecodeError as error:
        before = data[len(mark) : len(mark) + error.start].decode(encoding, "replace")
        raise TopologyError(f"line {before.count(chr(10)) + 1}: this is no {encoding.upper()} text") from None
    return text.replace("\r\n", "\n")


def _form(text: str) -> TopologyForm:
    if text.lstrip()[:1] == "{":
        return TopologyForm.JSON
    # Comments begin alike in LDIF and TOML; in LDIF they can go on in lines that begin with a space.
    lines = (line for line in text.split("\n") if line.strip() and not line.startswith(("#", " ")))
    first = next(lines, "").lower()
    return TopologyForm.LDIF if first.startswith(("dn:", "version:")) else TopologyForm.TOML


def _of_toml(text: str) -> Topology:
    # tomllib takes time by the square of the parts of a key; no key of a topology has a dot.
    for number, line in enumerate(_TOML_STRINGS.sub("", text).split("\n"), 1):
        if line.count(".") > _MOST_DOTS:
            raise TopologyError(f"line {number}: more than {_MOST_DOTS} dots outside of texts")
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise TopologyError(_toml_problem(text, str(error))) from None
    except ValueError:
        # Python reads no decimal number of more digits.
        found = _DIGITS.search(text)
        number = text.count("\n", 0, found.start() if found else len(text)) + 1
        raise TopologyError(f"line {number}: a number of more than {_MOST_DIGITS:,} digits") from None
    except RecursionError:
        raise TopologyError("arrays or tables are nested too deeply for a topology") from None
    return topology_of_tables(document)


def _toml_problem(text: str, message: str) -> str:
    found = _TOML_PLACE.fullmatch(message)
    what, line, column = found.groups() if found else (message, None, None)
    what = shown(what[:1].lower() + what[1:], 100)
    if line is None:
        return f"line {text.count(chr(10)) + 1}: {what} (at the end)"
    return f"line {line}: {what} (column {column})"


def _of_json(text: str) -> Topology:
    try:
        document = json.loads(text, object_pairs_hook=_json_object, parse_int=_json_int)
    except json.JSONDecodeError as error:
        what = error.msg[:1].lower() + error.msg[1:]
        raise TopologyError(f"line {error.lineno}: {shown(what, 100)} (column {error.colno})") from None
    except RecursionError:
        raise TopologyError("arrays or objects are nested too deeply for a topology") from None
    if not isinstance(document, dict):
        raise TopologyError("a topology in JSON is an object")
    return topology_of_tables(document)


def _json_object(pairs: list[tuple[str, Any]]) -> JsonObject:
    found = JsonObject(pairs)
    if len(found) < len(pairs):
        keys = set()
        for key, _ in pairs:
            if key in keys:
                found.twice = key
                break
            keys.add(key)
    return found


def _json_int(digits: str) -> int:
    # No number of a topology is that long; how long it is does not matter.
    return int(digits[:_MOST_DIGITS])


_READERS: dict[TopologyForm, Callable[[str], Topology]] = {
    TopologyForm.TOML: _of_toml,
    TopologyForm.JSON: _of_json,
    TopologyForm.LDIF: topology_of_ldif,
}
