"""Samples of SRMP requests and PDUs."""

from __future__ import annotations

import pytest

from msmq_wire.corpus.messages import REQUESTS, pdu_samples, pdus, request_samples


@pytest.mark.parametrize("name", sorted(REQUESTS))
def test_a_request_is_valid_and_each_cut_of_it_is_broken(name: str) -> None:
    first, *others = request_samples(name)
    assert first.kind == "valid"
    assert first.expected.detail["target"] == "/msmq/private$/orders"
    assert {one.kind for one in others if one.changed and one.changed.how == "cut"} == {"broken"}


@pytest.mark.parametrize("name", sorted(pdus()))
def test_a_pdu_is_valid_and_each_cut_of_it_is_broken(name: str) -> None:
    first, *others = pdu_samples(name)
    assert first.kind == "valid"
    assert first.expected.consumed == len(first.data)
    assert {one.kind for one in others if one.changed and one.changed.how == "cut"} == {"broken"}
