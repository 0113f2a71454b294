"""Stock `python -m verl.trainer.main_ppo` on the CPU: whole runs as child processes, many looks at each."""

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from safetensors.torch import load_file

from rdiverse_verl.cpu.overrides import cpu_environment, cpu_overrides, hydra_arguments

pytestmark = [pytest.mark.slow, pytest.mark.timeout(420)]

STEPS, PROMPTS, SAMPLES = 2, 8, 4
DEADLINE_S = 300

# Asks the served model for a greedy reply to the same prompt, twice, and rewards a response by its length.
REWARD = """
import httpx

async def compute_score(data_source, solution_str, ground_truth, extra_info=None, reward_router_address=None, **kwargs):
    score = {"score": min(len(solution_str), 16) / 16, "asked": 0.0}
    if reward_router_address is None:
        return score
    body = {"messages": [{"role": "user", "content": "say something"}], "max_tokens": 5, "temperature": 0}
    async with httpx.AsyncClient(base_url=f"http://{reward_router_address}", timeout=60) as client:
        replies = [(await client.post("/v1/chat/completions", json=body)).json() for _ in range(2)]
    first, second = (reply["choices"][0]["message"]["content"] for reply in replies)
    assert first == second, (first, second)
    return score | {"asked": float(replies[0]["usage"]["completion_tokens"])}
"""


@dataclass
class Run:
    folder: Path
    model: Path
    log: str
    steps: list[dict]


def start_run(folder, model, gpus, reward_model_gpus, overrides):
    data, reward, metrics = folder / "train.parquet", folder / "reward.py", folder / "metrics.jsonl"
    rows = [
        {
            "data_source": "sums",
            "prompt": [{"role": "user", "content": f"{n}+{n}="}],
            "reward_model": {"style": "rule", "ground_truth": str(2 * n)},
            "extra_info": {"index": n},
        }
        for n in range(2 * PROMPTS)
    ]
    pq.write_table(pa.Table.from_pylist(rows), data)
    reward.write_text(REWARD)
    trees = [
        cpu_overrides(gpus, reward_model_gpus),
        {
            "algorithm": {"adv_estimator": "grpo"},
            "data": {
                "train_files": str(data),
                "val_files": str(data),
                "train_batch_size": PROMPTS,
                "max_prompt_length": 32,
                "max_response_length": 16,
            },
            "actor_rollout_ref": {
                "model": {"path": str(model)},
                "actor": {
                    "ppo_mini_batch_size": PROMPTS,
                    "ppo_micro_batch_size_per_gpu": PROMPTS * SAMPLES // gpus,
                    "optim": {"lr": 0.001},
                    "checkpoint": {"save_contents": ["model", "optimizer", "extra", "hf_model"]},
                },
                "rollout": {"n": SAMPLES, "log_prob_micro_batch_size_per_gpu": PROMPTS * SAMPLES // gpus},
            },
            "reward": {"custom_reward_function": {"path": str(reward)}},
            "trainer": {
                "total_training_steps": STEPS,
                "val_before_train": False,
                "save_freq": STEPS,
                "logger": ["console", "file"],
                "default_local_dir": str(folder / "checkpoints"),
                "rollout_data_dir": str(folder / "rollouts"),
            },
        },
        overrides,
    ]
    arguments = [argument for tree in trees for argument in hydra_arguments(tree)]
    environment = {**os.environ, **cpu_environment(), "VERL_FILE_LOGGER_PATH": str(metrics), "HF_HUB_OFFLINE": "1"}
    with (folder / "log").open("w") as log:
        child = subprocess.run(
            [sys.executable, "-m", "verl.trainer.main_ppo", *arguments],
            stdout=log,
            stderr=subprocess.STDOUT,
            env=environment,
            cwd=folder,
            timeout=DEADLINE_S,
            check=False,
        )
    text = (folder / "log").read_text(errors="replace")
    assert child.returncode == 0, text[-6000:]
    return Run(folder, model, text, [json.loads(line)["data"] for line in metrics.read_text().splitlines()])


@pytest.fixture(scope="module")
def one_rank(tmp_path_factory, random_model):
    return start_run(tmp_path_factory.mktemp("one"), random_model, 1, 0, {})


@pytest.fixture(scope="module")
def two_ranks(tmp_path_factory, random_model):
    """Two ranks with two replicas, and a frozen model served to the reward function."""
    served = {
        "reward": {"reward_model": {"enable": True, "enable_resource_pool": True, "model_path": str(random_model)}}
    }
    return start_run(tmp_path_factory.mktemp("two"), random_model, 2, 1, served)


@pytest.fixture(params=["one_rank", "two_ranks"])
def run(request):
    return request.getfixturevalue(request.param)


def test_rollout_and_trainer_agree_on_every_token(run):
    assert len(run.steps) == STEPS
    for step in run.steps:
        assert step["training/rollout_probs_diff_valid"] == 1
        assert step["training/rollout_probs_diff_max"] <= 1e-5


def test_rewards_reach_the_trainer(run):
    for step in run.steps:
        assert 0 < step["critic/score/mean"] <= 1
        assert 0 <= step["critic/score/min"] <= step["critic/score/max"] <= 1


def test_weights_change_and_are_exported_as_a_model_folder(run):
    from transformers import AutoModelForCausalLM, AutoTokenizer

    exported = run.folder / "checkpoints" / f"global_step_{STEPS}" / "actor" / "huggingface"
    before, after = load_file(run.model / "model.safetensors"), load_file(exported / "model.safetensors")
    assert before.keys() == after.keys()
    assert all(after[name].dtype == before[name].dtype for name in before)
    assert any((before[name] != after[name]).any() for name in before)
    assert AutoModelForCausalLM.from_pretrained(exported).config.vocab_size == len(
        AutoTokenizer.from_pretrained(exported)
    )


def test_terminal_is_free_of_thread_count_warnings(run):
    assert "target_num_threads" not in run.log


def test_reward_function_reaches_the_served_model(two_ranks):
    dumps = sorted((two_ranks.folder / "rollouts").glob("*.jsonl"))
    rows = [json.loads(line) for dump in dumps for line in dump.read_text().splitlines()]
    assert len(rows) == STEPS * PROMPTS * SAMPLES
    assert {row["asked"] for row in rows} <= {1.0, 2.0, 3.0, 4.0, 5.0}


def test_each_rank_has_a_server_of_its_own(two_ranks):
    servers = set(re.findall(r"TransformersServer pid=(\d+)", two_ranks.log))
    assert len(servers) == 3  # two replicas of the policy and the served model
