"""All samples: the same at every run, and each file has one name."""

from __future__ import annotations

import hashlib

import pytest

from msmq_wire.corpus import GROUPS, every_sample

# Changes when a declaration does, and at no other time.
SHA256_OF_HEADERS = "0491511ad61290d6201bd6986d80f5b234fb8336bd66b9bcf9e71c372fa29f4f"


def test_the_groups_are_structures_calls_requests_and_captures() -> None:
    assert list(GROUPS) == ["types", "headers", "packets", "stubs", "pdus", "srmp", "captures"]


def test_one_name_chooses_a_group_or_a_structure() -> None:
    assert {one.stem for one in every_sample("user_header")} == {"user_header"}
    assert {one.group for one in every_sample("srmp")} == {"srmp"}
    assert {one.file.rpartition("/")[0] for one in every_sample("pdus/bind")} == {"pdus/bind"}


def test_an_unknown_name_is_an_error() -> None:
    with pytest.raises(ValueError, match="no group and no structure is called 'nothing'"):
        list(every_sample("nothing"))


def test_no_two_samples_have_the_same_file() -> None:
    names = [one.file for group in ("types", "pdus", "srmp", "captures") for one in every_sample(group)]
    assert len(names) == len(set(names))


def test_headers_are_the_same_bytes_at_every_run() -> None:
    found = hashlib.sha256(b"".join(one.data for one in every_sample("headers"))).hexdigest()
    assert found == SHA256_OF_HEADERS


@pytest.mark.slow
def test_all_of_them_are_less_than_twenty_megabytes() -> None:
    samples = list(every_sample())
    assert 15_000 < len(samples) < 25_000
    assert sum(len(one.data) for one in samples) < 5_000_000
