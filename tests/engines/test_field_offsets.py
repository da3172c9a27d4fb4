"""Where fields lie: the same places as the layout of the reference engine."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from msmq_wire import strategies
from msmq_wire.engines import reference
from msmq_wire.engines.field_offsets import span, spans
from msmq_wire.engines.message_builder import build_message
from msmq_wire.wire.fields import WireStruct
from msmq_wire.wire.registry import STRUCTURES
from tests.effort import examples

_STEMS = sorted(stem for stem, cls in STRUCTURES.items() if issubclass(cls, WireStruct))


# Once for every structure, so each takes a share of the examples.
@pytest.mark.slow
@settings(max_examples=max(examples(20), settings().max_examples // len(_STEMS)))
@pytest.mark.parametrize("stem", _STEMS)
@given(data=st.data())
def test_the_places_of_a_value_are_those_of_its_layout(stem: str, data: st.DataObject) -> None:
    value: Any = data.draw(st.one_of(strategies.structure(stem), strategies.edge(stem)))
    layout = reference.layout(value)
    event("with a list" if any("[" in path for path in layout) else "without a list")
    assert spans(value) == layout
    some = data.draw(st.sets(st.sampled_from(sorted(layout))))
    assert spans(value, some) == {path: layout[path] for path in some}
    for path, place in layout.items():
        if "[" not in path:
            assert span(value, path) == (place.offset, place.length)


def test_an_absent_part_has_no_bytes_where_it_would_be() -> None:
    packet = build_message("DIRECT=OS:host\\q", b"body", label="x")
    assert span(packet, "transaction_header") == (span(packet, "message_properties_header")[0], 0)
    assert spans(packet)["user_header.admin_queue"].length == 0
