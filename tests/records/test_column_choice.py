"""Which columns are chosen: by name, by heading, by ``+`` and ``-``, or all."""

from __future__ import annotations

import pytest

from msmq_wire.errors import MsmqWireError
from msmq_wire.records.column_choice import chosen_columns, column_names
from msmq_wire.records.message import COLUMNS

_USUAL = ("id", "queue", "label")
_KNOWN = column_names(COLUMNS, {"name": "label"})


@pytest.mark.parametrize(
    ("wanted", "names"),
    [
        (None, None),
        ("label,id", ("label", "id")),
        ("size, name,body", ("body_size", "label", "body_text")),
        ("+src,-id", ("queue", "label", "src")),
        ("id,user_header.flags", ("id", "user_header.flags")),
        ("packet.user_header.flags", ("user_header.flags",)),
    ],
)
def test_a_column_is_chosen_by_any_of_its_names(wanted: str | None, names: tuple[str, ...] | None) -> None:
    assert chosen_columns(wanted, _USUAL, _KNOWN) == names


def test_a_body_is_its_text_but_in_a_table_of_the_terminal() -> None:
    assert column_names(COLUMNS, {})["body"] == "body_text"
    assert column_names(COLUMNS, {}, bodies=True)["body"] == "body"


def test_all_are_all_that_need_no_extra_or_whose_extra_is_there() -> None:
    found = chosen_columns("all", _USUAL, _KNOWN)
    assert found is not None
    assert found[:3] == ("id", "parent", "time")
    assert "body" not in found
    assert "body_text" in found


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        ("lable", "no column is called 'lable'. Did you mean 'label'?"),
        ("-id,-queue,-label", "no column is left"),
        ("user_header.nothing", "no column is called 'user_header.nothing'"),
    ],
)
def test_what_names_no_column_is_refused(wanted: str, words: str) -> None:
    with pytest.raises(MsmqWireError) as caught:
        chosen_columns(wanted, _USUAL, _KNOWN)
    assert str(caught.value).startswith(words)
    if wanted == "user_header.nothing":
        with pytest.raises(MsmqWireError):
            chosen_columns("user_header.flags", _USUAL, _KNOWN, paths=False)
