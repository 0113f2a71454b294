"""verl's own mode ``separate_async``: rollout on standalone replicas that get their weights through a file.

The first run keeps trainer and rollout in step, so that every answer is as new as it can be; the second starts from its
checkpoint and lets rollout run ahead, with slow answers and with the trainer's own replicas lent to it.
"""

import json
import os
import re
import shutil
import tempfile
from collections import Counter

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(420)]

SAVED, STEPS = 3, 6


def separate_async(**settings):
    return {"trainer": {"v1": {"trainer_mode": "separate_async", "separate_async": settings}}}


@pytest.fixture(scope="module")
def in_step(run_verl, tmp_path_factory):
    """No hybrid replicas, two updates a sync, a KL reference. Its temporary files lie in a folder of their own."""
    overrides = {
        "actor_rollout_ref": {
            "hybrid_engine": False,
            "actor": {"ppo_mini_batch_size": 4, "ppo_micro_batch_size_per_gpu": 16, "use_kl_loss": True},
            "ref": {"log_prob_micro_batch_size_per_gpu": 16},
            "rollout": {"log_prob_micro_batch_size_per_gpu": 16},
        }
    }
    with tempfile.TemporaryDirectory(prefix="sa", dir="/tmp", ignore_cleanup_errors=True) as folder:
        run = run_verl(
            tmp_path_factory.mktemp("in_step"),
            SAVED,
            overrides,
            separate_async(parameter_sync_step=2, num_warmup_batches=0),
            environment={"VERL_LOGGING_LEVEL": "WARNING", "TMPDIR": folder},
            standalone_gpus=1,
        )
        run.left_behind = [name for name in os.listdir(folder) if name.startswith("rdiverse")]
    return run


@pytest.fixture(scope="module")
def ahead(in_step, run_verl, tmp_path_factory):
    """Resumed, with hybrid replicas that the trainer lends to rollout, and two answers at a time on each server."""
    folder = tmp_path_factory.mktemp("ahead")
    shutil.copytree(in_step.folder / "checkpoints", folder / "checkpoints")
    slow = {
        "actor_rollout_ref": {"rollout": {"max_num_seqs": 2}},
        "data": {"max_response_length": 64, "val_max_samples": 4},
        "trainer": {"val_before_train": True, "total_epochs": 9},
    }
    lent = separate_async(parameter_sync_step=1, num_warmup_batches=1, hybrid_rollout={"enable_switch": True})
    return run_verl(folder, STEPS, slow, lent, standalone_gpus=1)


def test_every_step_trains_on_answers_of_the_weights_before_it(in_step):
    """So the replica gets each step's weights, and verl's old weights are kept for the second update of a step."""
    assert [step["training/global_step"] for step in in_step.steps] == list(range(1, SAVED + 1))
    for step in in_step.steps:
        assert step["training/off_policy/trajectory_staleness/max"] == 0
        assert step["training/off_policy/trajectory_spans/max"] == 1
        assert step["training/rollout_probs_diff_max"] <= 1e-5
        assert step["actor/ppo_kl"] != 0  # the second update's old weights are not its own
    assert 0 < in_step.steps[0]["actor/kl_loss"] < in_step.steps[-1]["actor/kl_loss"]  # against the frozen reference


def test_the_first_step_after_a_checkpoint_trains_on_answers_of_its_weights(ahead):
    first = next(step for step in ahead.steps if "training/global_step" in step)
    assert first["training/global_step"] == SAVED + 1
    assert first["training/off_policy/trajectory_staleness/max"] == 0
    assert first["training/rollout_probs_diff_max"] <= 1e-5


def test_answers_of_older_weights_are_told_by_their_probabilities(ahead):
    stale = [step for step in ahead.steps if step.get("training/off_policy/trajectory_staleness_worst/max", 0) > 0]
    assert stale
    assert all(step["training/rollout_probs_diff_max"] > 1e-4 for step in stale)


def test_answers_cut_off_at_a_sync_go_on_with_new_weights_and_none_is_lost(ahead):
    assert max(step.get("training/off_policy/trajectory_spans/max", 0) for step in ahead.steps) >= 2
    for step in range(SAVED + 1, STEPS + 1):
        rows = (ahead.folder / "rollouts" / f"{step}.jsonl").read_text().splitlines()
        samples = Counter(json.loads(row)["uid"].split("_")[0] for row in rows)
        assert list(samples.values()) == [4] * 8


def test_the_trainers_replicas_are_lent_or_absent(in_step, ahead):
    assert len(re.findall("LLMServerManager: ", in_step.log)) == 1
    assert len(re.findall("LLMServerManager: ", ahead.log)) == 2
    assert "Lending hybrid engine to generation" in ahead.log
    assert any("timing_s/switch_to_rollout" in step for step in ahead.steps)


def test_no_weights_are_left_behind(in_step):
    assert in_step.left_behind == []
