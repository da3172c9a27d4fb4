"""What segments are captured in, as bytes and as numbers."""

from __future__ import annotations

import pytest

from msmq_wire.reassembly.encapsulation import GRE_KEY, INTERFACE, VIRTUAL_NETWORK, VLAN, numbers_in, part


def test_a_path_is_its_parts_from_the_outermost_on() -> None:
    path = part(INTERFACE, 2) + part(VLAN, 300) + part(VLAN, 7) + part(VIRTUAL_NETWORK, 77)
    assert path == bytes.fromhex("69 00000002 76 012c 76 0007 6e 00004d")
    assert numbers_in(path, VLAN) == (300, 7)
    assert numbers_in(path, VIRTUAL_NETWORK) == (77,)
    assert numbers_in(path, INTERFACE) == (2,)
    assert numbers_in(path, GRE_KEY) == ()


@pytest.mark.parametrize("size", range(4))
def test_a_key_that_is_cut_is_no_number(size: int) -> None:
    path = part(VLAN, 42) + GRE_KEY + bytes(size)
    assert numbers_in(path, GRE_KEY) == ()
    assert numbers_in(path, VLAN) == (42,)
