"""The fuzz targets, on what they start from and on a few random inputs: they run, and they find nothing."""

from __future__ import annotations

import random
import runpy
from collections.abc import Callable
from pathlib import Path

import pytest

_HERE = Path(__file__).resolve().parent
_TARGETS = sorted(path.stem for path in _HERE.glob("fuzz_*.py"))
_SEEDS: dict[str, list[bytes]] = runpy.run_path(str(_HERE / "seeds.py"))["seeds"]()


def _target(name: str) -> Callable[[bytes], object]:
    target: Callable[[bytes], object] = runpy.run_path(str(_HERE / f"{name}.py"))["test_one_input"]
    return target


def test_every_target_has_seeds() -> None:
    assert set(_TARGETS) == set(_SEEDS)
    assert all(len(seeds) >= 5 for seeds in _SEEDS.values())


@pytest.mark.slow
@pytest.mark.parametrize("name", _TARGETS)
def test_a_target_accepts_what_it_starts_from(name: str) -> None:
    judge = _target(name)
    for seed in _SEEDS[name]:
        assert judge(seed) is None


@pytest.mark.parametrize("name", _TARGETS)
def test_a_target_accepts_random_bytes(name: str) -> None:
    judge = _target(name)
    source = random.Random(1801)
    for _ in range(300):
        assert judge(source.randbytes(source.randrange(200))) is None


@pytest.mark.check
@pytest.mark.parametrize("name", _TARGETS)
def test_a_target_accepts_seeds_with_changes(name: str) -> None:
    judge = _target(name)
    source = random.Random(3527)
    for _ in range(300):
        data = bytearray(source.choice(_SEEDS[name]))
        for _ in range(source.randint(1, 3)):
            data[source.randrange(len(data))] = source.choice((0, 1, 0x7F, 0x80, 0xFF, source.randrange(256)))
        assert judge(bytes(data)) is None
