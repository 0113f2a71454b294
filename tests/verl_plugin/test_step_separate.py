"""A real verl run of ExTra in verl's mode ``separate_async``, and the same run from its checkpoint."""

import shutil
from collections import defaultdict

import pytest

from rdiverse_verl.cpu.overrides import cpu_overrides, hydra_arguments
from rdiverse_verl.dataset import write_rows
from rdiverse_verl.grading import grade
from rdiverse_verl.tiny.training_set import training_rows

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

STEPS, SAVED, WARMUP, PER_STEP = 5, 3, 1, 2


@pytest.fixture(scope="module")
def run_separate(verl_run, base_model, tmp_path_factory):
    data = tmp_path_factory.mktemp("data") / "train.parquet"
    write_rows(data, training_rows(40))

    def run(folder):
        run = verl_run(
            folder,
            *hydra_arguments(cpu_overrides(standalone_gpus=1)),
            "trainer.v1.trainer_mode=rdiverse_separate_async",
            "trainer.v1.separate_async.parameter_sync_step=2",
            "algorithm.adv_estimator=extra_grpo",
            f"data.train_files={data}",
            f"data.val_files={data}",
            f"actor_rollout_ref.model.path={base_model}",
            "actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu=16",
            "actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu=16",
            "actor_rollout_ref.rollout.agent.default_agent_loop=rdiverse_prefix",
            "reward.custom_reward_function.path=pkg://reward_fns.math_accuracy",
            "reward.reward_manager.name=rdiverse_trajectory",
            f"trainer.total_training_steps={STEPS}",
            "trainer.total_epochs=9",
            f"trainer.save_freq={SAVED}",
            "++rdiverse.seed=7",
            f"++rdiverse.extra.regeneration.warmup_steps={WARMUP}",
            f"++rdiverse.extra.regeneration.per_step={PER_STEP}",
            "++rdiverse.extra.regeneration.min_step_tokens=2",
            "++rdiverse.extra.regeneration.max_share=0.95",
        )
        assert run.code == 0, run.log[-3000:]
        return run

    return run


@pytest.fixture(scope="module")
def separate(run_separate, tmp_path_factory):
    return run_separate(tmp_path_factory.mktemp("separate"))


@pytest.fixture(scope="module")
def resumed(separate, run_separate, tmp_path_factory):
    """Started from the checkpoint of step ``SAVED``, as after a crash."""
    folder = tmp_path_factory.mktemp("resumed")
    checkpoints, name = folder / "checkpoints", f"global_step_{SAVED}"
    shutil.copytree(separate.folder / "checkpoints" / name, checkpoints / name)
    (checkpoints / "latest_checkpointed_iteration.txt").write_text(str(SAVED))
    return run_separate(folder)


def test_guided_prompts_are_injected_and_graded_as_a_whole_against_their_own_truth(separate):
    golds = {row["prompt"][-1]["content"]: row["reward_model"]["ground_truth"] for row in training_rows(40)}
    guided = []
    for step in range(1, STEPS + 1):
        rows = separate.rows(step)
        for row in rows:
            question = row["input"].split("\nuser\n")[1].split("\nassistant\n")[0]
            assert row["gts"] == golds[question]
            assert row["input"].endswith("assistant\n" + row["prefix"])
            assert row["acc"] == float(grade(row["prefix"] + row["output"], row["gts"]).correct)
        guided += [group for group in _groups(rows).values() if group[0]["prefix"]]
    assert guided
    for group in guided:
        assert len({row["prefix"] for row in group}) == 1
        assert len(group) == 4


def test_staleness_is_that_of_the_mode(separate):
    """One batch is always ahead, so that after the first step answers are of older weights than those trained."""
    first, *later = separate.metrics()
    assert first["training/off_policy/trajectory_staleness/max"] == 0
    assert first["training/rollout_probs_diff_max"] <= 1e-5
    assert max(metrics["training/off_policy/trajectory_staleness_worst/max"] for metrics in later) >= 1


def test_the_batch_ahead_comes_back_with_its_prefixes(separate, resumed):
    assert [metrics["training/global_step"] for metrics in resumed.metrics()] == list(range(SAVED + 1, STEPS + 1))
    asked = _prompts_of(SAVED, separate)
    assert len(asked) == 8
    assert any(prefix for prefix, _ in asked.values())
    assert _prompts_of(SAVED, resumed) == asked


def _groups(rows: list[dict]) -> dict[str, list[dict]]:
    groups = defaultdict(list)
    for row in rows:
        groups[row["uid"].split("_")[0]].append(row)
    return groups


def _prompts_of(step: int, run) -> dict[str, tuple[str, str]]:
    """Prefix and problem of what was sent to rollout in one step and trained on later."""
    rows = [row for later in range(step + 1, STEPS + 1) for row in run.rows(later)]
    groups = {uid: group for uid, group in _groups(rows).items() if uid.startswith(f"s{step:06d}")}
    return {uid: (group[0]["prefix"], group[0]["root"]) for uid, group in groups.items()}
