"""The Arrow types of annotations."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
import pyarrow as pa  # type: ignore[import-untyped]  # it has no stubs
import pytest

from msmq_wire.engines.arrow_types import arrow_type
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.wchar_text import WcharText


class Part(msgspec.Struct):
    """A class; its struct is made by who asks."""


_PART = pa.struct([pa.field("its", pa.string())])


@pytest.mark.parametrize(
    ("hint", "kind", "optional"),
    [
        (int, pa.int64(), False),
        (bool, pa.bool_(), False),
        (float, pa.float64(), False),
        (bytes, pa.binary(), False),
        (str, pa.string(), False),
        (GUID, pa.string(), False),
        (WcharText, pa.string(), False),
        (int | None, pa.int64(), True),
        (int | GUID | None, pa.string(), True),
        (Literal["ack", "nack"], pa.string(), False),
        (Literal[1, 2], pa.int64(), False),
        (Annotated[int | None, "What it is."], pa.int64(), True),
        (Any, pa.string(), True),
        (Part, _PART, False),
        (tuple[int, int], pa.list_(pa.field("item", pa.int64(), nullable=False)), False),
        (tuple[Part, ...], pa.list_(pa.field("item", _PART, nullable=False)), False),
        (tuple[int, str], pa.struct([("_1", pa.int64()), ("_2", pa.string())]), False),
    ],
)
def test_an_annotation_says_what_is_in_a_column(hint: Any, kind: Any, optional: bool) -> None:
    assert arrow_type(hint, lambda cls: _PART, nullable=False) == (kind, optional)


def test_items_may_be_null_where_that_is_asked_for() -> None:
    assert arrow_type(tuple[int, ...], lambda cls: _PART, nullable=True)[0] == pa.list_(pa.int64())
