"""The order of phases, and what each one reads."""

import pytest

from rdiverse_verl.errors import ConfigError
from rdiverse_verl.selfplay.plan import find_phase, phases


def test_every_phase_comes_after_what_it_needs() -> None:
    plan = phases(3)
    for position, phase in enumerate(plan):
        assert all(need in plan[:position] for need in phase.needs), phase.label
    assert [phase.folder for phase in plan] == sorted(phase.folder for phase in plan)


def test_iteration_two_builds_on_iteration_one() -> None:
    plan = phases(2)
    needs = {phase.label: {need.label for need in phase.needs} for phase in plan}
    assert needs["1:train_challenger"] == {"0:prepare"}
    assert needs["2:train_challenger"] == {"0:prepare", "1:export_challenger", "1:export_solver", "1:remember"}
    assert needs["2:label"] == {"2:generate", "1:export_solver"}
    assert needs["2:train_solver"] == {"2:remember", "1:export_solver"}


def test_unknown_stop_label_names_the_known_ones() -> None:
    with pytest.raises(ConfigError, match=r"no phase '1:labels'.*1:label,"):
        find_phase(phases(1), "1:labels")
