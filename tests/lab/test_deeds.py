"""The lab's table of deeds has all that a step can say, and all that the scenario says."""

from __future__ import annotations

from typing import get_args

import pytest

from msmq_wire.cli.recording_folder import default_scenario
from msmq_wire.lab.deeds import DEEDS, HEEDED, HEEDED_OVER_HTTP, NEEDS_NOT_HERE, NOT_HERE
from msmq_wire.lab.recordings.scenario import Deed, Need, Step, read_scenario

SCENARIO = read_scenario(default_scenario())
PLAIN = {do: Step(name="", do=do) for do in get_args(Deed)}


def given(step: Step) -> set[str]:
    """The properties of a step that are not what they are by default."""
    plain = PLAIN[step.do]
    return {name for name in step.__struct_fields__ if getattr(step, name) != getattr(plain, name)}


def test_every_deed_is_done_by_one_function_of_its_name() -> None:
    assert {do: function.__name__ for do, function in DEEDS.items()} == {do: do for do in get_args(Deed)}
    assert set(HEEDED) == set(DEEDS)


def test_every_property_of_a_step_is_heeded_by_a_deed_or_has_a_reason_why_not() -> None:
    heeded = set[str]().union(*HEEDED.values())
    assert heeded | set(NOT_HERE) == set(Step.__struct_fields__)
    assert heeded & set(NOT_HERE) == set()
    assert HEEDED["send"] > HEEDED_OVER_HTTP


def test_every_need_is_met_or_has_a_reason_why_not() -> None:
    assert set(get_args(Need)) - set(NEEDS_NOT_HERE) == {"other-host", "http"}


@pytest.mark.parametrize("step", SCENARIO.steps, ids=lambda step: step.name)
def test_a_step_of_the_scenario_says_nothing_that_is_passed_over(step: Step) -> None:
    heeded = HEEDED_OVER_HTTP if step.via == "http" else HEEDED[step.do]
    assert given(step) <= heeded | set(NOT_HERE)
