"""Stock `python -m verl.trainer.main_ppo` on the CPU: whole runs as child processes, many looks at each."""

import json
import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import psutil
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
from pathlib import Path

import httpx

async def compute_score(data_source, solution_str, ground_truth, extra_info=None, reward_router_address=None, **kwargs):
    score = min(len(solution_str), 16) / 16
    if reward_router_address is None:
        return score
    body = {"messages": [{"role": "user", "content": "say something"}], "max_tokens": 5, "temperature": 0}
    async with httpx.AsyncClient(base_url=f"http://{reward_router_address}", timeout=60) as client:
        replies = [(await client.post("/v1/chat/completions", json=body)).json() for _ in range(2)]
    first, second = (reply["choices"][0]["message"]["content"] for reply in replies)
    assert first == second, (first, second)
    with Path(__file__).with_name("asked.txt").open("a") as asked:
        asked.write(f"{replies[0]['usage']['completion_tokens']}\\n")
    return score
"""


@dataclass
class Run:
    folder: Path
    model: Path
    log: str
    steps: list[dict]


def verl_command(folder, model, gpus, reward_model_gpus, overrides):
    data, reward = folder / "train.parquet", folder / "reward.py"
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
    return [sys.executable, "-m", "verl.trainer.main_ppo", *arguments]


def start(command, folder):
    environment = {"VERL_FILE_LOGGER_PATH": str(folder / "metrics.jsonl"), "HF_HUB_OFFLINE": "1"}
    with (folder / "log").open("w") as log:
        return subprocess.Popen(
            command, stdout=log, stderr=subprocess.STDOUT, env=os.environ | cpu_environment() | environment, cwd=folder
        )


def run_to_the_end(folder, *what):
    with start(verl_command(folder, *what), folder) as child:
        assert child.wait(timeout=DEADLINE_S) == 0, log_of(folder)[-6000:]
    metrics = (folder / "metrics.jsonl").read_text()
    return Run(folder, what[0], log_of(folder), [json.loads(line)["data"] for line in metrics.splitlines()])


def log_of(folder):
    return (folder / "log").read_text(errors="replace")


def wait_for(condition, deadline_s):
    end = time.monotonic() + deadline_s
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.2)


def is_server(process):
    try:
        return process.cmdline()[0].startswith("ray::TransformersServer")
    except (IndexError, psutil.NoSuchProcess, psutil.ZombieProcess):
        return False


@pytest.fixture(scope="module")
def one_rank(tmp_path_factory, random_model):
    return run_to_the_end(tmp_path_factory.mktemp("one"), random_model, 1, 0, {})


@pytest.fixture(scope="module")
def two_ranks(tmp_path_factory, random_model):
    """Two ranks with two replicas, and a frozen model served to the reward function."""
    served = {
        "reward": {"reward_model": {"enable": True, "enable_resource_pool": True, "model_path": str(random_model)}}
    }
    return run_to_the_end(tmp_path_factory.mktemp("two"), random_model, 2, 1, served)


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
    asked = (two_ranks.folder / "asked.txt").read_text().split()
    assert len(asked) == STEPS * PROMPTS * SAMPLES
    assert {int(tokens) for tokens in asked} <= {1, 2, 3, 4, 5}


def test_no_two_samples_of_a_prompt_share_their_random_numbers(run):
    dumps = sorted((run.folder / "rollouts").glob("*.jsonl"))
    rows = [json.loads(line) for dump in dumps for line in dump.read_text().splitlines()]
    replies = [(row["step"], row["input"], row["output"]) for row in rows if len(row["output"]) > 8]
    assert len(replies) > len(rows) / 4
    assert len(set(replies)) == len(replies)


def test_each_rank_has_a_server_of_its_own(two_ranks):
    (addresses,) = re.findall(r"LLMServerManager: (\[.*\])", two_ranks.log)
    assert len(set(re.findall(r"127\.0\.0\.1:\d+", addresses))) == 2


def test_a_rollout_server_that_dies_ends_the_run_with_a_clear_error(tmp_path, random_model):
    """SIGKILL to the server after the first step."""
    command = verl_command(tmp_path, random_model, 1, 0, {"trainer": {"total_training_steps": 1000, "save_freq": -1}})
    with start(command, tmp_path) as child:
        wait_for(lambda: "step:1 " in log_of(tmp_path), DEADLINE_S)
        (server,) = [p for p in psutil.Process(child.pid).children(recursive=True) if is_server(p)]
        server.kill()
        assert child.wait(timeout=60) != 0
    assert re.search(r"rollout server \S+ died", log_of(tmp_path))
