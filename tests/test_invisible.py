"""What is not seen reaches no output as it is, and JSON keeps its value."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import sys
import unicodedata
from collections.abc import Callable

import pytest

from msmq_wire.cli.render.safe_text import escaped
from msmq_wire.cli.row_writers import CsvWriter
from msmq_wire.engines.text.escaping import json_line, json_string
from msmq_wire.invisible import DEFAULT_IGNORABLE, UNSEEN, numbered, seen
from msmq_wire.markup import script_json, tag, visible
from msmq_wire.records.bodies.body import Body
from msmq_wire.records.bodies.showing import preview
from msmq_wire.routing.topology_names import shown
from msmq_wire.rpc.unseal.protection import one_line

_TABLE = "".join(chr(code) for first, last in DEFAULT_IGNORABLE for code in range(first, last + 1))


def in_pieces(text: str) -> list[str]:
    """The text in parts that nothing cuts."""
    return [text[at : at + 64] for at in range(0, len(text), 64)]


def in_csv(text: str) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        CsvWriter(["a", "b"])({"a": text, "b": [text]})
    return out.getvalue()


def in_bodies(text: str) -> str:
    return preview(Body(kind="text", confidence="certain", text=text), len(text))


def in_notes(text: str) -> str:
    return "".join(map(one_line, in_pieces(text)))


OUTPUTS: dict[str, Callable[[str], str]] = {
    "terminal": escaped,
    "csv": in_csv,
    "json": json_line,
    "json-string": json_string,
    "json-indented": lambda text: json_line({text: [text]}, indent=2),
    "page": lambda text: "".join(tag("p", one, title=one) for one in in_pieces(text)),
    "picture": lambda text: visible(text, len(text)),
    "script": script_json,
    "topology": lambda text: shown(text, len(text)),
    "preview": in_bodies,
    "note": in_notes,
}


@pytest.mark.parametrize("output", OUTPUTS)
def test_no_output_shows_a_character_that_is_not_seen(output: str) -> None:
    text = "".join(f"a{one}" for one in _TABLE)
    assert set(_TABLE) & set(OUTPUTS[output](text)) == set()


def test_the_table_holds_what_was_seen_to_pass() -> None:
    assert set("\u034f\u115f\u3164\u180b\ufe0f\U000e0100\u00ad\u200b\u2060\ufeff") <= set(_TABLE)
    assert len(_TABLE) == 4174
    assert list(DEFAULT_IGNORABLE) == sorted(DEFAULT_IGNORABLE)


@pytest.mark.slow
def test_everything_that_controls_or_formats_is_in_the_table() -> None:
    kinds = ("Cc", "Cf", "Cs", "Zl", "Zp")
    codes = range(sys.maxunicode + 1)
    controls = {chr(code) for code in codes if unicodedata.category(chr(code)) in kinds}
    found = set(UNSEEN.findall("".join(map(chr, codes))))
    assert controls - found == set()
    # What a newer Unicode calls so may not be assigned yet where this runs.
    later = {one for one in found - controls - set(_TABLE) if unicodedata.category(one) not in ("Cn", "Mn")}
    assert later == set()


def test_json_keeps_its_value() -> None:
    value = {_TABLE: [_TABLE, "plain"]}
    assert json.loads(json_line(value)) == value
    assert json.loads(json_line(value, indent=2)) == value


@pytest.mark.parametrize(
    ("character", "shown"),
    [("\x1b", "\\x1b"), ("\n", "\\n"), ("\u3164", "\\u3164"), ("\U000e0100", "\\U000e0100")],
)
def test_a_character_that_is_not_seen_is_shown_by_its_number(character: str, shown: str) -> None:
    assert (numbered(character), escaped(character), visible(character)) == (shown,) * 3
    assert not seen(character)


@pytest.mark.parametrize("before", ["", " ", "\t", "\r", "\n ", "\xa0", "\u3000", "\u200b", "\ufeff "])
def test_a_cell_that_a_spreadsheet_takes_for_a_formula_gets_an_apostrophe(before: str) -> None:
    for sign in "=+-@\uff1d\uff0b\uff0d\uff20\ufe62\ufe63\ufe66\ufe6b":
        (_, cells) = csv.reader(io.StringIO(in_csv(f"{before}{sign}1")))
        assert [cell[0] for cell in cells] == ["'", "'"]


@pytest.mark.parametrize("text", ["a=1", " a", "", "1-2", "\uff11", "private$\\q"])
def test_any_other_cell_has_none(text: str) -> None:
    (_, cells) = csv.reader(io.StringIO(in_csv(text)))
    assert cells == [text, text]


def test_a_number_is_no_formula() -> None:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        CsvWriter(["a", "b"])({"a": -1, "b": [1, 2]})
    assert out.getvalue() == "a,b\n-1,1 2\n"
