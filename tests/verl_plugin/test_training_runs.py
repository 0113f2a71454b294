"""Real verl runs of two steps: the Challenger with the Solver and a Coder served beside it, and the Solver."""

import hashlib
import socket
from collections import Counter
from pathlib import Path
from random import Random

import numpy as np
import pytest

from rdiverse_verl.dataset import make_row, write_rows
from rdiverse_verl.embedding import load_encoder
from rdiverse_verl.grading import grade
from rdiverse_verl.memory import MemoryBank, MemoryRow
from rdiverse_verl.roles import challenger, solver
from rdiverse_verl.skills import SkillSpace, calibrate, load_centre, save_centre
from rdiverse_verl.tiny import calibration_programs, sample_problem

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

ENCODER = "all-MiniLM-L6-v2"
SEED = 7
STEPS = (1, 2)


@pytest.fixture(scope="module")
def skill(tmp_path_factory) -> tuple[SkillSpace, Path]:
    """The tiny world's skill space, and the file of its centre."""
    encoder = load_encoder(ENCODER)
    centre = tmp_path_factory.mktemp("skill") / "centre.npy"
    save_centre(centre, calibrate(encoder, calibration_programs()))
    return SkillSpace(encoder, load_centre(centre)), centre


@pytest.fixture(scope="module")
def memory_overrides(skill, tmp_path_factory) -> list[str]:
    """Twelve remembered programs of iteration 1, and twelve of iteration 2, which must not be seen."""
    space, centre = skill
    path = tmp_path_factory.mktemp("memory") / "memory.sqlite"
    codes = _remembered()
    vectors = space.vectors(codes)
    with MemoryBank(path, space.id, space.dim) as bank:
        for iteration, places in ((1, range(12)), (2, range(12, 24))):
            bank.append(iteration, [MemoryRow(f"q{i}", "1", 0.5, iteration, codes[i], vectors[i]) for i in places])
    return [
        f"++rdiverse.challenger.memory.path={path}",
        "++rdiverse.challenger.memory.before_iteration=2",
        f"++rdiverse.challenger.skill.centre={centre}",
    ]


@pytest.fixture(scope="module")
def challenger_run(verl_run, base_model, coder_url, memory_overrides, tmp_path_factory):
    folder = tmp_path_factory.mktemp("challenger")
    overrides = _challenger_overrides(folder, base_model, coder_url) + memory_overrides
    run = verl_run(folder, *overrides, solver_replicas=1)
    assert run.code == 0, run.log[-3000:]
    return run


@pytest.fixture(scope="module")
def solver_run(verl_run, base_model, tmp_path_factory):
    folder = tmp_path_factory.mktemp("solver")
    run = verl_run(folder, *_solver_overrides(folder, base_model))
    assert run.code == 0, run.log[-3000:]
    return run


def test_every_challenger_reward_equals_the_papers_sum(challenger_run):
    for step in STEPS:
        rows = challenger_run.rows(step)
        assert len(rows) == 32
        measured = [row for row in rows if row["vector_D"] is not None]
        sizes = Counter(row["cluster"] for row in measured)
        assert len(measured) >= 10
        for row in rows:
            if row["invalid"]:
                expected = -2.0
            else:
                near = measured if row["vector_D"] is None else [row]
                p_rep = max(sizes[other["cluster"]] / 32 for other in near)
                p_map = max(0.5 * max(other["p_max"] - 0.5, 0) + 0.5 * max(other["p_mean"] - 0.25, 0) for other in near)
                expected = 1 - 2 * abs(row["p_hat"] - 0.5) - p_rep - p_map
            assert row["score"] == pytest.approx(expected, abs=1e-6)
            assert row["p_hat"] in (0, 0.2, 0.4, 0.6, 0.8, 1)


def test_a_challenger_rows_place_is_that_of_its_program_and_the_earlier_memory_alone(challenger_run, skill):
    space, _ = skill
    old_M_D = space.vectors(_remembered()[:12]).astype(np.float64)
    for row in challenger_run.rows(1):
        if row["vector_D"] is None:
            continue
        vector_D = space.vectors([row["code"]])[0].astype(np.float64)
        assert row["vector_D"] == pytest.approx(vector_D, abs=1e-6)
        similarity_M = old_M_D @ vector_D
        assert row["p_max"] == pytest.approx(similarity_M.max(), abs=1e-6)
        assert row["p_mean"] == pytest.approx(similarity_M.mean(), abs=1e-6)
        assert row["memory_size"] == 12


def test_clusters_hold_what_is_near(challenger_run):
    rows = [row for row in challenger_run.rows(1) if row["vector_D"] is not None]
    for a in rows:
        for b in rows:
            if a["code"] == b["code"]:
                assert a["cluster"] == b["cluster"]


def test_challenger_metrics_are_the_means_of_the_rows(challenger_run):
    for step, metrics in zip(STEPS, challenger_run.metrics(), strict=True):
        rows = challenger_run.rows(step)
        valid = [row for row in rows if not row["invalid"]]
        assert metrics["critic/score/mean"] == pytest.approx(np.mean([row["score"] for row in rows]), abs=1e-5)
        assert metrics["rdiverse/reward"] == pytest.approx(metrics["critic/score/mean"], abs=1e-5)
        assert metrics["rdiverse/valid_rate"] == pytest.approx(len(valid) / 32)
        assert metrics["rdiverse/p_hat"] == pytest.approx(np.mean([row["p_hat"] for row in valid]))
        assert metrics["rdiverse/distinct_questions"] == len({row["question"] for row in valid})
        assert metrics["rdiverse/memory_size"] == 12


def test_questions_differ_between_the_samples_of_one_prompt(challenger_run):
    rows = [row for row in challenger_run.rows(1) if row["question"]]
    assert len({row["question"] for row in rows}) > len(rows) / 2


@pytest.mark.parametrize("name", ["challenger_run", "solver_run"])
def test_rollout_and_trainer_agree(name, request):
    for metrics in request.getfixturevalue(name).metrics():
        assert metrics["training/rollout_probs_diff_max"] <= 1e-5


def test_solver_scores_are_matches_with_the_label(solver_run):
    for step, metrics in zip(STEPS, solver_run.metrics(), strict=True):
        rows = solver_run.rows(step)
        assert len(rows) == 32
        for row in rows:
            assert row["score"] == row["acc"] == float(grade(row["output"], row["gts"]).correct)
        assert metrics["rdiverse/accuracy"] == pytest.approx(np.mean([row["score"] for row in rows]))
        assert metrics["rdiverse/parsed_rate"] == pytest.approx(np.mean([row["parsed"] for row in rows]))
    assert {row["score"] for row in rows} == {0.0, 1.0}


def test_a_step_of_32_samples_does_not_wait_for_verls_poll(solver_run):
    assert solver_run.metrics()[-1]["timing_s/gen"] < 2.0


def test_the_same_run_again_ends_in_the_same_rows_and_weights(
    verl_run, base_model, coder_url, memory_overrides, challenger_run, tmp_path
):
    overrides = _challenger_overrides(tmp_path, base_model, coder_url) + memory_overrides
    again = verl_run(tmp_path, *overrides, solver_replicas=1)
    assert again.code == 0, again.log[-3000:]
    for step in STEPS:
        assert again.rows(step) == challenger_run.rows(step)
    assert _weights_hash(again.folder) == _weights_hash(challenger_run.folder)


def test_a_dead_coder_ends_the_run_with_one_line(verl_run, base_model, tmp_path):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{probe.getsockname()[1]}"
    run = verl_run(tmp_path, *_challenger_overrides(tmp_path, base_model, url), solver_replicas=1)
    assert run.code != 0
    [line] = {line for line in run.log.splitlines() if line.startswith("rdiverse_verl.errors.")}
    assert line.startswith(
        f"rdiverse_verl.errors.RdiverseError: step 1: the Coder (coder) at {url} cannot be reached (ConnectError"
    )
    assert not run.metrics()


def _remembered() -> list[str]:
    """Programs of many skills: the calibration set has each skill's in a row."""
    programs = calibration_programs()
    return [*programs[::4], *programs[1::4]][:24]


def _challenger_overrides(folder: Path, model: Path, coder_url: str) -> list[str]:
    prompts = folder / "prompts.parquet"
    row = {"data_source": "rdiverse/challenger", "ground_truth": "", "split": "train"}
    write_rows(prompts, [make_row(prompt=challenger.messages(), index=index, **row) for index in range(8)])
    block = {
        "seed": SEED,
        "challenger.coder.url": coder_url,
        "challenger.coder.model": "coder",
        "challenger.coder.max_tokens": 96,
        "challenger.solver.samples": 5,
        "challenger.solver.max_tokens": 48,
        "challenger.skill.encoder": ENCODER,
        "challenger.max_failed_share": 0.5,
        "challenger.service.timeout_s": 120,
        "challenger.service.tries": 3,
    }
    return [
        f"data.train_files={prompts}",
        f"data.val_files={prompts}",
        f"actor_rollout_ref.model.path={model}",
        f"reward.reward_model.model_path={model}",
        "reward.reward_model.enable=True",
        "reward.reward_model.enable_resource_pool=True",
        "reward.reward_model.rollout.prompt_length=128",
        "reward.reward_model.rollout.response_length=48",
        "reward.reward_manager.name=rdiverse_challenger",
        "reward.custom_reward_function.path=pkg://rdiverse_verl.verl_plugin.challenger_reward",
        "reward.custom_reward_function.name=ChallengerRewardManager",
        "trainer.v1.trainer_mode=rdiverse_challenger",
        *(f"++rdiverse.{key}={value}" for key, value in block.items()),
    ]


def _solver_overrides(folder: Path, model: Path) -> list[str]:
    data = folder / "train.parquet"
    rng = Random(0)
    problems = [sample_problem(rng) for _ in range(16)]
    row = {"data_source": "rdiverse", "split": "train"}
    rows = [
        make_row(prompt=solver.messages(problem.question), ground_truth=str(problem.answer), index=index, **row)
        for index, problem in enumerate(problems)
    ]
    write_rows(data, rows)
    return [
        f"data.train_files={data}",
        f"data.val_files={data}",
        f"actor_rollout_ref.model.path={model}",
        "reward.custom_reward_function.path=pkg://reward_fns.solver_match",
        "reward.custom_reward_function.name=compute_score",
        "trainer.v1.trainer_mode=rdiverse_solver",
        f"++rdiverse.seed={SEED}",
    ]


def _weights_hash(folder: Path) -> str:
    [weights] = (folder / "checkpoints" / "global_step_2" / "actor").rglob("*.safetensors")
    return hashlib.sha256(weights.read_bytes()).hexdigest()
