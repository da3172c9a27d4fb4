"""The lab's table of deeds has all that a step can say, and all that the scenario says."""

from __future__ import annotations

from typing import get_args

import pytest

from msmq_wire.cli.recording_folder import default_scenario
from msmq_wire.lab.recordings.scenario import Need, Step, StepAction, read_scenario
from msmq_wire.lab.step_actions import NEEDS_NOT_HERE, NOT_HERE, STEP_ACTIONS, SUPPORTED, SUPPORTED_OVER_HTTP

SCENARIO = read_scenario(default_scenario())
PLAIN = {do: Step(name="", do=do) for do in get_args(StepAction)}


def given(step: Step) -> set[str]:
    """The properties of a step that are not what they are by default."""
    plain = PLAIN[step.do]
    return {name for name in step.__struct_fields__ if getattr(step, name) != getattr(plain, name)}


def test_every_deed_is_done_by_one_function_of_its_name() -> None:
    assert {do: function.__name__ for do, function in STEP_ACTIONS.items()} == {
        do: do for do in get_args(StepAction)
    }
    assert set(SUPPORTED) == set(STEP_ACTIONS)


def test_every_property_of_a_step_is_heeded_by_a_deed_or_has_a_reason_why_not() -> None:
    rules_for_diagnosis = set[str]().union(*SUPPORTED.values())
    assert rules_for_diagnosis | set(NOT_HERE) == set(Step.__struct_fields__)
    assert rules_for_diagnosis & set(NOT_HERE) == set()
    assert SUPPORTED["send"] > SUPPORTED_OVER_HTTP


def test_every_need_is_met_or_has_a_reason_why_not() -> None:
    assert set(get_args(Need)) - set(NEEDS_NOT_HERE) == {"other-host", "http"}


@pytest.mark.parametrize("step", SCENARIO.steps, ids=lambda step: step.name)
def test_a_step_of_the_scenario_says_nothing_that_is_passed_over(step: Step) -> None:
    rules_for_diagnosis = SUPPORTED_OVER_HTTP if step.via == "http" else SUPPORTED[step.do]
    assert given(step) <= rules_for_diagnosis | set(NOT_HERE)
