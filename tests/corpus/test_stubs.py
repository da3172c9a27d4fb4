"""Samples of stubs: every method has a valid one of each side."""

from __future__ import annotations

import pytest

from msmq_wire.corpus.parameters import parameter_values
from msmq_wire.corpus.stubs import STUBS, stub_samples
from msmq_wire.rpc.interfaces import METHODS


@pytest.mark.parametrize("stem", sorted(STUBS))
def test_every_side_of_a_method_has_a_valid_stub(stem: str) -> None:
    valid = {one.stem for one in stub_samples(stem) if one.kind == "valid"}
    assert {f"{stem}-request-ndr", f"{stem}-response-ndr64"} <= valid


def test_a_cut_stub_lacks_bytes() -> None:
    cut = [one for one in stub_samples("r_start_receive") if one.changed and one.changed.how == "cut"]
    assert {one.expected.error.code for one in cut if one.expected.error} == {"missing-bytes"}


def test_the_count_of_a_list_is_the_length_of_the_list() -> None:
    values = parameter_values(METHODS["R_QMMgmtGetInfo"].request)
    assert {(one.cp, len(one.a_prop), len(one.ap_var)) for one in values} >= {(1, 1, 1), (2, 2, 2)}
