"""Real verl runs of the step methods on the tiny model: both together, resumed, asynchronous, and DR. GRPO."""

import hashlib
import json
import shutil
from collections import defaultdict
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rdiverse_verl.dataset import write_rows
from rdiverse_verl.embedding import LengthAwareEncoder, load_encoder
from rdiverse_verl.grading import grade
from rdiverse_verl.tiny.training_set import training_rows

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

STEPS, SAVED, WARMUP = 5, 3, 1
PER_STEP = 2
EXTRA = [
    f"++rdiverse.extra.regeneration.warmup_steps={WARMUP}",
    f"++rdiverse.extra.regeneration.per_step={PER_STEP}",
    "++rdiverse.extra.regeneration.min_step_tokens=2",
    "++rdiverse.extra.regeneration.max_share=0.95",
]


@pytest.fixture(scope="module")
def run_steps(verl_run, base_model, tmp_path_factory):
    data = tmp_path_factory.mktemp("data") / "train.parquet"
    write_rows(data, training_rows(40))

    def run(folder: Path, estimator: str, *overrides: str, steps: int = STEPS):
        run = verl_run(
            folder,
            f"algorithm.adv_estimator={estimator}",
            f"data.train_files={data}",
            f"data.val_files={data}",
            f"actor_rollout_ref.model.path={base_model}",
            "actor_rollout_ref.rollout.agent.default_agent_loop=rdiverse_prefix",
            "reward.custom_reward_function.path=pkg://reward_fns.math_accuracy",
            "reward.reward_manager.name=rdiverse_trajectory",
            "trainer.v1.trainer_mode=rdiverse_sync",
            f"trainer.total_training_steps={steps}",
            "trainer.total_epochs=9",
            f"trainer.save_freq={SAVED}",
            "++rdiverse.seed=7",
            *overrides,
        )
        assert run.code == 0, run.log[-3000:]
        return run

    return run


@pytest.fixture(scope="module")
def both(run_steps, tmp_path_factory):
    """DRA and ExTra together."""
    return run_steps(tmp_path_factory.mktemp("both"), "dra_extra_grpo", *EXTRA)


@pytest.fixture(scope="module")
def vectors(both):
    """Vectors of all trajectories of the run, by text."""
    encoder = LengthAwareEncoder(load_encoder("all-MiniLM-L6-v2"))
    texts = sorted({_text(row) for step in range(1, STEPS + 1) for row in both.rows(step)})
    return dict(zip(texts, encoder.encode(texts).astype(np.float64), strict=True))


def test_every_advantage_is_the_papers(both, vectors):
    memory = defaultdict(list)
    for step in range(1, STEPS + 1):
        groups = _groups(both.rows(step))
        before = {root: list(seen) for root, seen in memory.items()}
        for group in groups:
            z = np.array([vectors[_text(row)] for row in group])
            weight = 1 / np.maximum(z @ z.T, 0).sum(axis=1)  # DRA-GRPO, Eq. 3-5
            adjusted = weight * [row["score"] for row in group]
            spread = adjusted.std(ddof=1)
            normalised = (adjusted - adjusted.mean()) / (spread + 1e-6) if spread > 1e-8 else 0 * adjusted
            for i, row in enumerate(group):
                pool = [z[k] for k, other in enumerate(group) if k != i and other["acc"]]
                pool += before.get(row["root"], [])
                nearest = max((float(z[i] @ other) for other in pool), default=0)
                novelty = row["acc"] * (1 - min(max(nearest, 0), 1))  # ExTra, Eq. 1
                assert row["weight"] == pytest.approx(weight[i], abs=1e-5)
                assert row["novelty"] == pytest.approx(novelty, abs=2e-3)  # the memory keeps 16 bits
                assert row["advantage"] == pytest.approx(normalised[i] + row["novelty"], abs=1e-3)
        for group in groups:
            seen = [vectors[_text(row)] for row in group if row["acc"]]
            memory[group[0]["root"]] = [*memory[group[0]["root"]], *seen][-6:]


def test_guided_rows_are_their_own_problems_and_graded_as_a_whole(both):
    golds = {row["prompt"][-1]["content"]: row["reward_model"]["ground_truth"] for row in training_rows(40)}
    served = []
    for step in range(1, STEPS + 1):
        rows = both.rows(step)
        for row in rows:
            assert row["gts"] == golds[_question(row)]
            assert row["input"].endswith("assistant\n" + row["prefix"])
            assert row["acc"] == float(grade(_text(row), row["gts"]).correct)
        guided = _groups([row for row in rows if row["prefix"]])
        assert len(guided) <= PER_STEP
        assert all(len({row["prefix"] for row in group}) == 1 for group in guided)
        served += [(step, group) for group in guided]
    assert {step for step, _ in served} == set(range(WARMUP + 2, STEPS + 1))
    for step, group in served:
        earlier = [
            row for past in range(WARMUP + 1, step) for row in both.rows(past) if row["root"] == group[0]["root"]
        ]
        assert any(_text(row).startswith(group[0]["prefix"]) and not row["acc"] for row in earlier)


def test_no_prompt_is_lost_to_guided_ones(both):
    """Displaced prompts come back first, so that the data loader's order is kept and none is left out."""
    scratch = [
        row["root"] for step in range(1, STEPS + 1) for [row, *_] in _groups(both.rows(step)) if not row["prefix"]
    ]
    assert len(set(scratch[:40])) == min(len(scratch), 40)


def test_metrics_are_those_of_the_rows(both):
    for step, metrics in enumerate(both.metrics(), start=1):
        rows = both.rows(step)
        correct = [row for row in rows if row["acc"]]
        guided = [row["acc"] for row in rows if row["prefix"]]
        assert metrics["dra/weight_mean"] == pytest.approx(np.mean([row["weight"] for row in rows]))
        assert metrics["extra/novelty"] == pytest.approx(np.mean([row["novelty"] for row in correct]))
        assert metrics["extra/hard_groups"] == sum(not any(r["acc"] for r in group) for group in _groups(rows))
        assert metrics["extra/guided_rows"] == len(guided)
        if guided:
            assert metrics["extra/guided_pass_rate"] == np.mean(guided)
        assert metrics["extra/missing_vectors"] == metrics["training/failed_samples"] == 0
        assert metrics["training/rollout_probs_diff_max"] <= 1e-5


def test_every_metric_is_in_the_documentation(both):
    text = (Path(__file__).parents[2] / "docs" / "step_methods.md").read_text()
    names = {name for step in both.metrics() for name in step if name.startswith(("dra/", "extra/"))}
    assert [name for name in sorted(names) if f"`{name.split('/')[1]}`" not in text] == []


def test_stopped_after_a_checkpoint_and_resumed_it_ends_as_if_never_stopped(both, run_steps, tmp_path):
    checkpoints = tmp_path / "checkpoints"
    shutil.copytree(both.folder / "checkpoints" / f"global_step_{SAVED}", checkpoints / f"global_step_{SAVED}")
    (checkpoints / "latest_checkpointed_iteration.txt").write_text(str(SAVED))
    resumed = run_steps(tmp_path, "dra_extra_grpo", *EXTRA)
    for step in range(SAVED + 1, STEPS + 1):
        assert resumed.rows(step) == both.rows(step)
    assert _state(resumed.folder) == _state(both.folder)
    assert _weights(resumed.folder) == _weights(both.folder)


def test_asynchronous_mode_keeps_verls_semantics_and_injects(run_steps, tmp_path):
    run = run_steps(tmp_path, "extra_grpo", *EXTRA, "trainer.v1.trainer_mode=rdiverse_colocate_async")
    assert (tmp_path / "checkpoints" / f"global_step_{SAVED}" / "transfer_queue").is_dir()
    assert any(metrics["training/off_policy/trajectory_staleness/max"] > 0 for metrics in run.metrics())
    rows = [row for step in range(1, STEPS + 1) for row in run.rows(step)]
    assert any(row["prefix"] for row in rows)
    golds = {row["prompt"][-1]["content"]: row["reward_model"]["ground_truth"] for row in training_rows(40)}
    for row in rows:
        assert row["gts"] == golds[_question(row)]
        assert row["acc"] == float(grade(_text(row), row["gts"]).correct)


def test_dr_grpo_is_not_divided_by_the_spread(run_steps, tmp_path):
    actor = "actor_rollout_ref.actor"
    norm = [f"{actor}.loss_agg_mode=seq-mean-token-sum-norm", f"{actor}.loss_scale_factor=64"]
    run = run_steps(tmp_path, "dra_dr_grpo", *norm, steps=3)
    for group in _groups(run.rows(3)):
        adjusted = np.array([row["weight"] * row["score"] for row in group])
        assert [row["advantage"] for row in group] == pytest.approx(adjusted - adjusted.mean(), abs=1e-6)


def test_bad_rows_short_answers_failing_graders_and_a_killed_encoder_end_no_run(run_steps, tmp_path):
    rows = training_rows(16)
    for row in rows[1:3]:
        row["reward_model"]["ground_truth"] = None
    rows = [row | {"prefix": "a column of the user's own", "root": 3} for row in rows]
    data = tmp_path / "train.parquet"
    pq.write_table(pa.Table.from_pylist(rows), data)  # our own writer refuses them
    run = run_steps(
        tmp_path / "run",
        "dra_extra_grpo",
        *EXTRA,
        f"data.train_files={data}",
        "data.shuffle=False",
        "data.max_response_length=3",
        f"reward.custom_reward_function.path={Path(__file__).with_name('hostile_reward.py')}",
        steps=4,
    )
    metrics = run.metrics()
    assert [step["training/failed_samples"] for step in metrics] == [7, 0, 7, 0]
    assert [step["extra/ungraded"] for step in metrics] == [8, 0, 8, 0]
    assert all(step["extra/missing_vectors"] == 0 for step in metrics)
    assert len((run.folder / "kills").read_text().splitlines()) == 2
    for step in range(1, 5):
        groups = _groups(run.rows(step))
        assert len(groups) == 8 - step % 2
        for row in (row for group in groups for row in group):
            assert np.isfinite(row["advantage"])
            assert row["advantage"] == 0 or row["acc"]  # equal rewards teach nothing
    [alone] = next(group for group in _groups(run.rows(1)) if len(group) == 1)
    assert alone["advantage"] == 0


def _question(row: dict) -> str:
    return row["input"].split("\nuser\n")[1].split("\nassistant\n")[0]


def _text(row: dict) -> str:
    return row["prefix"] + row["output"]


def _groups(rows: list[dict]) -> list[list[dict]]:
    groups = defaultdict(list)
    for row in rows:
        groups[row["uid"].split("_")[0]].append(row)
    return list(groups.values())


def _state(folder: Path) -> str:
    with np.load(folder / "checkpoints" / f"global_step_{STEPS}" / "rdiverse_state.npz") as members:
        return json.dumps({name: members[name].tolist() for name in sorted(members.files)})


def _weights(folder: Path) -> str:
    [weights] = (folder / "checkpoints" / f"global_step_{STEPS}" / "actor").rglob("*.safetensors")
    return hashlib.sha256(weights.read_bytes()).hexdigest()
