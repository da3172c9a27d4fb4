"""Errors come out of another process as they went in."""

from __future__ import annotations

import copy
import pickle
import sys
from importlib import import_module
from typing import Any

import pytest

from msmq_wire import errors
from msmq_wire.errors import (
    ArgumentError,
    CaptureError,
    DecodeError,
    EncodeError,
    FormatNameError,
    MissingExtraError,
    MsmqWireError,
    NoSuchMessageError,
    RoutingError,
    TopologyError,
)
from msmq_wire.spec import SpecRef
from msmq_wire.wire.headers.base_header import BaseHeader
from msmq_wire.wire.registry import defined_in

EVERY: list[MsmqWireError] = [
    MsmqWireError(),
    MsmqWireError("no"),
    MsmqWireError("no", 5),
    DecodeError("missing-bytes", "no more"),
    DecodeError(
        "missing-bytes",
        "no more",
        path="base_header.flags",
        offset=7,
        spec=SpecRef("MS-MQMQ", "2.2.19.1"),
        partial=BaseHeader(packet_size=5),
    ),
    EncodeError("too large"),
    EncodeError("too large", path="user_header"),
    FormatNameError("no name"),
    ArgumentError("no column is called 'lable'"),
    CaptureError("cut"),
    CaptureError("cut", offset=24),
    TopologyError("site A: another site has the same name"),
    NoSuchMessageError("no message is called 'x'"),
    RoutingError("no way"),
    MissingExtraError("pip install it"),
    MissingExtraError.of("a table", "numpy and pyarrow", "msmq-wire[arrow]"),
]


@pytest.mark.parametrize(
    ("module", "lacking", "text"),
    [
        (
            "msmq_wire.engines.arrow",
            "pyarrow",
            'msmq_wire.engines.arrow needs numpy and pyarrow: pip install "msmq-wire[arrow]"',
        ),
        (
            "msmq_wire.strategies",
            "hypothesis",
            'msmq_wire.strategies needs hypothesis: pip install "msmq-wire[fuzz]"',
        ),
    ],
)
def test_a_module_without_its_extra_says_how_to_install_it(
    module: str, lacking: str, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.setitem(sys.modules, lacking, None)
    with pytest.raises(MissingExtraError) as caught:
        import_module(module)
    assert str(caught.value) == text
    assert isinstance(caught.value, ImportError)


def values(error: BaseException) -> dict[str, Any]:
    return {"type": type(error), "args": error.args, "text": str(error), **vars(error)}


def test_every_class_of_the_tree_is_tried() -> None:
    assert {type(error) for error in EVERY} == set(defined_in(errors)) - {errors.CaptureWarning}


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("error", EVERY, ids=repr)
def test_an_error_survives_pickle_with_all_that_it_says(error: MsmqWireError, protocol: int) -> None:
    found = pickle.loads(pickle.dumps(error, protocol))
    assert values(found) == values(error)
    assert values(copy.copy(error)) == values(error)


@pytest.mark.parametrize("error", EVERY, ids=repr)
def test_notes_survive_pickle(error: MsmqWireError) -> None:
    noted = pickle.loads(pickle.dumps(error))
    noted.add_note("in the file x")
    noted.add_note("of the folder y")
    found = pickle.loads(pickle.dumps(noted))
    assert found.__notes__ == ["in the file x", "of the folder y"]
    assert values(found) == values(noted)


def test_what_is_added_to_an_error_survives_pickle() -> None:
    error = FormatNameError("no name")
    error.hint = "quote it"  # type: ignore[attr-defined]  # as a caller may
    found = pickle.loads(pickle.dumps(error))
    assert (str(found), found.hint) == ("no name", "quote it")
