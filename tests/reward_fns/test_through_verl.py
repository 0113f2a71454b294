"""The rewards as verl loads and calls them: by package, by file, in its reward manager, in other processes."""

import asyncio
import inspect
import json
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import cloudpickle
import numpy as np
import pytest

import reward_fns

FOLDER = Path(reward_fns.__file__).parent
NAMES = ("math_accuracy", "solver_match", "cosine_length", "think_format", "dra_math", "dapo_math")
CALL = {"data_source": "math", "solution_str": "x\n</think>\n\\boxed{4}", "ground_truth": "4"}


def load(path: str, **reward_kwargs: Any) -> Any:
    from omegaconf import OmegaConf
    from verl.trainer.ppo.reward import get_custom_reward_fn

    settings = {"path": path, "name": "compute_score", "reward_kwargs": reward_kwargs}
    return get_custom_reward_fn(OmegaConf.create({"reward": {"custom_reward_function": settings}}))


@pytest.mark.parametrize("name", NAMES)
def test_by_package_and_by_file_give_the_same(name: str) -> None:
    extra_info = {"response_length": 1792}
    results = [
        load(path)(**CALL, extra_info=extra_info)
        for path in (f"pkg://reward_fns.{name}", str(FOLDER / f"{name}.py"), f"file://{FOLDER}/{name}.py")
    ]
    assert results[0] == results[1] == results[2]
    assert results[0]["acc"] == 1.0


@pytest.mark.parametrize("name", NAMES)
def test_every_sample_has_the_same_keys(name: str) -> None:
    compute_score = load(f"pkg://reward_fns.{name}")
    texts = ("", "\\boxed{4}", "\\boxed{5}", "\\boxed{", "<think> \\boxed{4}", "\\boxed{9^{9^{9^{9}}}}", "\\boxed{}")
    results = [
        compute_score(data_source="math", solution_str=text, ground_truth=gold, extra_info={"response_length": 9})
        for text in texts
        for gold in ("4", "")
    ]
    assert {tuple(result) for result in results} == {tuple(results[0])}
    assert {"score", "acc"} <= set(results[0])
    assert all(np.isfinite(result["score"]) for result in results)


@pytest.mark.parametrize("name", NAMES)
def test_signature_takes_both_shapes_of_verls_call(name: str) -> None:
    signature = inspect.signature(load(f"pkg://reward_fns.{name}").args[0])
    signature.bind(**CALL, extra_info={})
    signature.bind(**CALL, extra_info={}, reward_router_address="127.0.0.1:1", reward_model_tokenizer=None)
    signature.bind("math", "\\boxed{4}", "4")


def test_settings_reach_the_function() -> None:
    extra_info = {"response_length": 500}
    wrong = CALL | {"solution_str": "\\boxed{5}", "extra_info": extra_info}
    assert load("pkg://reward_fns.cosine_length", preset="released")(**wrong)["score"] == pytest.approx(-0.25)
    assert load("pkg://reward_fns.cosine_length", max_length=500)(**wrong)["score"] == pytest.approx(-0.5)


def test_a_loaded_function_travels_to_a_fresh_process() -> None:
    """By package with plain pickle; by file with cloudpickle, which is what Ray uses."""
    payloads = [
        pickle.dumps(load("pkg://reward_fns.dra_math")),
        cloudpickle.dumps(load(str(FOLDER / "dra_math.py"))),
    ]
    child = (
        "import json, pickle, sys\n"
        "functions = pickle.load(sys.stdin.buffer)\n"
        "call = json.loads(sys.argv[1])\n"
        "print([pickle.loads(function)(**call)['score'] for function in functions])"
    )
    call = json.dumps(CALL | {"extra_info": {"response_length": 1792}})
    done = subprocess.run(
        [sys.executable, "-c", child, call], input=pickle.dumps(payloads), capture_output=True, timeout=120
    )
    assert done.stdout.decode().strip() == "[2.5, 2.5]", done.stderr.decode()


class Sample:
    """One rollout as verl's naive manager reads it."""

    def __init__(self, text: str, gold: str, tokenizer: Any) -> None:
        import torch

        ids = torch.tensor(tokenizer.encode(text))
        self.batch = {"responses": ids, "attention_mask": torch.ones(len(ids) + 3, dtype=torch.int64)}
        self.non_tensor_batch = {
            "data_source": "math",
            "reward_model": {"ground_truth": gold},
            "extra_info": {"index": 0},
        }

    def __getitem__(self, _: Any) -> "Sample":
        return self


class CharTokenizer:
    def encode(self, text: str) -> list[int]:
        return [ord(character) for character in text]

    def decode(self, ids: Any, skip_special_tokens: bool) -> str:
        return "".join(chr(i) for i in ids)


def test_hostile_and_honest_answers_together_in_verls_naive_manager() -> None:
    from omegaconf import OmegaConf
    from verl.experimental.reward_loop.reward_manager.naive import NaiveRewardManager

    tokenizer = CharTokenizer()
    texts = ["\\boxed{4}", "\\boxed{9^{9^{9^{9}}}}", "\\boxed{\\frac{8}{2}}", "no box"] * 8

    async def run() -> list[dict[str, Any]]:
        manager = NaiveRewardManager(OmegaConf.create({}), tokenizer, load("pkg://reward_fns.math_accuracy"))
        return await asyncio.gather(*(manager.run_single(Sample(text, "4", tokenizer)) for text in texts))

    results = asyncio.run(run())
    assert [result["reward_score"] for result in results] == [1.0, 0.0, 1.0, 0.0] * 8
    assert all(set(r["reward_extra_info"]) == set(results[0]["reward_extra_info"]) for r in results)
