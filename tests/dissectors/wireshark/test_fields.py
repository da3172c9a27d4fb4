"""tshark -T fields: only what its command line names is built, and what it prints is the same."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from tests.dissectors.wireshark.test_security import signed_and_sealed
from tests.dissectors.wireshark.tshark_view import DISSECTOR, run

pytestmark = pytest.mark.tshark

_FIXTURES = Path(__file__).parents[3] / "fixtures"
_CAPTURES = (
    "captures/structures.pcapng",
    pytest.param("captures/demo.pcap", marks=pytest.mark.slow),
    pytest.param("captures/lab_remote_read.pcap", marks=pytest.mark.slow),
)
_ALL = ("-o", "msmq.headers:all")
"""With it everything is built, as ever."""


def _names() -> list[str]:
    """The fields that the tables declare; those of structures that only stand alone are told below them."""
    tables = (DISSECTOR.parent / "msmq_tables.lua").read_text(encoding="utf-8")
    found = re.findall(r'"abbr"\] = "(msmq\.[^"]+)"', tables)
    return sorted({one for one in found if ".expert." not in one})


def _printed(path: Path, names: list[str], *more: str) -> str:
    fields = [word for name in names for word in ("-e", name)]
    return run(path, "-T", "fields", *fields, *more)


@pytest.mark.slow
@pytest.mark.parametrize("name", _CAPTURES, ids=lambda name: Path(name).stem)
def test_what_is_printed_is_what_there_is(name: str) -> None:
    names = _names()
    assert len(names) > 300
    random.Random(5).shuffle(names)
    whole = len(names) // 4
    groups = [names[at : at + whole] for at in range(0, len(names), whole)] + [[one] for one in names[:6]]
    for group in groups:
        assert _printed(_FIXTURES / name, group) == _printed(_FIXTURES / name, group, *_ALL)


@pytest.mark.slow
@pytest.mark.parametrize(
    "more",
    [
        ("-Y", "msmq.user_header.flags.dq == 7"),
        ("-Y", "msmq.transaction_header && msmq.type == user_message"),
        ("-2", "-R", "msmq.base_header.flags.pr > 2"),
        ("-Y", "_ws.expert || msmq.session_header.window_size > 0"),
    ],
    ids=lambda more: more[-1],
)
def test_filters_see_what_they_ask_for(more: tuple[str, ...]) -> None:
    path = _FIXTURES / "captures" / "structures.pcapng"
    names = ["frame.number", "msmq.message_properties_header.label"]
    printed = _printed(path, names, *more)
    assert printed == _printed(path, names, *more, *_ALL)
    assert printed.strip()


@pytest.mark.slow
def test_what_stands_below_other_bytes_is_found_by_its_own_name(tmp_path: Path) -> None:
    path = signed_and_sealed(tmp_path / "both.pcap")
    names = ["x509sat.uTF8String"]
    assert _printed(path, names) == _printed(path, names, *_ALL)
    assert "order service" in _printed(path, names)
    names = ["msmq.security_header.security_data.session_key_algorithm"]
    assert _printed(path, names) == _printed(path, names, *_ALL)
    assert "0x00006610" in _printed(path, names)
