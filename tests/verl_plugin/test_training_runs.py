"""Real verl runs of two steps: the Challenger with the Solver and a Coder served beside it, and the Solver."""

import hashlib
import math
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rdiverse_verl.dataset import make_row, write_rows
from rdiverse_verl.grading import grade
from rdiverse_verl.roles import challenger, solver

pytestmark = [pytest.mark.slow, pytest.mark.timeout(700)]

ALPHA, BETA, GAMMA, TAU_MAX, TAU_MEAN, DISTANCE = 1.0, 1.0, 0.5, 0.5, 0.25, 0.5


def challenger_overrides(folder: Path, model: Path, coder_url: str, memory: Path | None) -> list[str]:
    prompts = folder / "prompts.parquet"
    folder.mkdir(parents=True, exist_ok=True)
    write_rows(
        prompts,
        [
            make_row(
                data_source="rdiverse/challenger",
                prompt=challenger.messages(),
                ground_truth="",
                index=index,
                split="train",
            )
            for index in range(8)
        ],
    )
    block = {
        "seed": 7,
        "challenger.coder.url": coder_url,
        "challenger.coder.model": "coder",
        "challenger.coder.max_tokens": 96,
        "challenger.solver.samples": 5,
        "challenger.solver.max_tokens": 48,
        "challenger.skill.encoder": "all-MiniLM-L6-v2",
        "challenger.max_failed_share": 0.5,
        "challenger.service.timeout_s": 20,
        "challenger.service.tries": 3,
    }
    if memory:
        block |= {"challenger.memory.path": memory, "challenger.memory.before_iteration": 2}
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
