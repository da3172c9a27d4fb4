"""Lines of packets: which there are, and how their values are told."""

from __future__ import annotations

from datetime import UTC

import pytest

from msmq_wire import build_message, decode, encode
from msmq_wire.cli.render.tree_lines import PacketLines
from msmq_wire.records.tree.value_text import is_bare, number_words
from msmq_wire.wire.fields import fields
from msmq_wire.wire.registry import HEADERS, PACKETS


def test_what_varies_in_size_is_not_in_the_lines_but_beside_them() -> None:
    lines = PacketLines(str, UTC)
    shapes, sizes = set(), set()
    for number in range(1, 9):
        queue, label = f"DIRECT=OS:{'host' * number}\\q", "la" * number + "l"
        packet = decode(encode(build_message(queue, b"body" * number, label=label)))
        shape, _, sized = lines.of(packet)
        shapes.add(tuple(shape))
        sizes.add(tuple(sized))
    assert (len(shapes), len(sizes)) == (1, 8)


@pytest.mark.parametrize("stem", sorted({**HEADERS, **PACKETS}))
def test_a_bare_number_is_told_as_it_is_and_no_other_is(stem: str) -> None:
    for field in fields({**HEADERS, **PACKETS}[stem]):
        if field.value_type is int and not field.position:
            reported = {number_words(field, number, UTC) == (str(number), "") for number in (1, 2, 77, 255)}
            assert reported == {is_bare(field)}, field.name
