"""Stock `python -m verl.trainer.main_ppo` on the CPU: whole runs as child processes, many looks at each."""

import json
import re
import time

import psutil
import pytest
from safetensors.torch import load_file

pytestmark = [pytest.mark.slow, pytest.mark.timeout(420)]

STEPS = 2
DEADLINE_S = 300
ROWS = 8 * 4  # prompts of a batch, samples of each


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
def one_rank(tmp_path_factory, run_verl):
    return run_verl(tmp_path_factory.mktemp("one"), STEPS)


@pytest.fixture(scope="module")
def two_ranks(tmp_path_factory, random_model, run_verl):
    """Two ranks with two replicas, and a frozen model served to the reward function."""
    served = {
        "reward": {"reward_model": {"enable": True, "enable_resource_pool": True, "model_path": str(random_model)}}
    }
    return run_verl(tmp_path_factory.mktemp("two"), STEPS, served, virtual_gpus=2, reward_model_gpus=1)


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


def test_weights_change_and_are_exported_as_a_model_folder(run, random_model):
    from transformers import AutoModelForCausalLM, AutoTokenizer

    exported = run.folder / "checkpoints" / f"global_step_{STEPS}" / "actor" / "huggingface"
    before, after = load_file(random_model / "model.safetensors"), load_file(exported / "model.safetensors")
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
    assert len(asked) == STEPS * ROWS
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


def test_a_rollout_server_that_dies_ends_the_run_with_a_clear_error(tmp_path, start_verl):
    """SIGKILL to the server after the first step."""
    with start_verl(tmp_path, 1000, {"trainer": {"save_freq": -1}}) as child:
        wait_for(lambda: "step:1 " in log_of(tmp_path), DEADLINE_S)
        (server,) = [p for p in psutil.Process(child.pid).children(recursive=True) if is_server(p)]
        server.kill()
        assert child.wait(timeout=60) != 0
    assert re.search(r"rollout server \S+ died", log_of(tmp_path))
