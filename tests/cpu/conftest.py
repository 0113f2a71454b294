"""A random Qwen3 of 0.2 M parameters with a character tokenizer and a chat template, and verl's command training it."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rdiverse_verl.cpu.overrides import cpu_environment, cpu_overrides, hydra_arguments

CHARACTERS = [chr(code) for code in range(32, 127)] + ["\n"]
SPECIALS = ["<pad>", "<eos>", "<user>", "<assistant>", "<unk>"]
CHAT_TEMPLATE = (
    "{% for message in messages %}<{{ message['role'] }}>{{ message['content'] }}<eos>{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)
PROMPTS, SAMPLES = 8, 4
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
    """A finished run: its folder, what it printed, and the metrics of its steps."""

    folder: Path
    log: str
    steps: list[dict[str, Any]]


@pytest.fixture(scope="session")
def make_tokenizer():
    """Build the character tokenizer, with or without its chat template."""

    def make(chat_template=CHAT_TEMPLATE):
        from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
        from transformers import PreTrainedTokenizerFast

        vocabulary = {token: index for index, token in enumerate(SPECIALS + CHARACTERS)}
        core = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
        core.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
        core.decoder = decoders.Fuse()
        return PreTrainedTokenizerFast(
            tokenizer_object=core,
            pad_token="<pad>",
            eos_token="<eos>",
            unk_token="<unk>",
            additional_special_tokens=["<user>", "<assistant>"],
            chat_template=chat_template,
        )

    return make


@pytest.fixture(scope="session")
def random_model(tmp_path_factory, make_tokenizer):
    """Folder of the model. Its end-of-sequence ids: ``<eos>`` by the tokenizer, ``~`` by the generation config."""
    import torch
    from transformers import GenerationConfig, Qwen3Config, Qwen3ForCausalLM

    tokenizer = make_tokenizer()
    torch.manual_seed(0)
    config = Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=64,
        intermediate_size=192,
        num_hidden_layers=3,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=16,
        max_position_embeddings=256,
        tie_word_embeddings=True,
        initializer_range=0.1,
    )
    model = Qwen3ForCausalLM(config)
    model.generation_config = GenerationConfig(eos_token_id=tokenizer.convert_tokens_to_ids("~"))
    path = tmp_path_factory.mktemp("model") / "random-qwen3"
    model.save_pretrained(path)
    tokenizer.save_pretrained(path)
    return path


@pytest.fixture(scope="session")
def start_verl(random_model):
    """``start_verl(folder, steps, *overrides, environment={}, **gpus)``: verl's own command as a child process.

    Overrides are nested dictionaries; ``gpus`` are the arguments of ``cpu_overrides``.
    """

    def start(folder, steps, *overrides, environment=None, **gpus):
        trees = [cpu_overrides(**gpus), _training(folder, random_model, steps, gpus.get("virtual_gpus", 1)), *overrides]
        arguments = [argument for tree in trees for argument in hydra_arguments(tree)]
        command = [sys.executable, "-m", "verl.trainer.main_ppo", *arguments]
        variables = os.environ | cpu_environment() | (environment or {})
        variables |= {"VERL_FILE_LOGGER_PATH": str(folder / "metrics.jsonl"), "HF_HUB_OFFLINE": "1"}
        with (folder / "log").open("w") as log:
            return subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, env=variables, cwd=folder)

    return start


@pytest.fixture(scope="session")
def run_verl(start_verl):
    """The same until it ends well; returns a ``Run``."""

    def run(folder, steps, *overrides, **options):
        with start_verl(folder, steps, *overrides, **options) as child:
            code = child.wait(timeout=DEADLINE_S)
        log = (folder / "log").read_text(errors="replace")
        assert code == 0, log[-6000:]
        metrics = (folder / "metrics.jsonl").read_text()
        return Run(folder, log, [json.loads(line)["data"] for line in metrics.splitlines()])

    return run


def _training(folder, model, steps, gpus):
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
    return {
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
            "total_training_steps": steps,
            "val_before_train": False,
            "save_freq": steps,
            "logger": ["console", "file"],
            "default_local_dir": str(folder / "checkpoints"),
            "rollout_data_dir": str(folder / "rollouts"),
        },
    }
