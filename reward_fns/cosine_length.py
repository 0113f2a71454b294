"""Correctness scaled by length along a cosine (DRA-GRPO, App. A; Yeo et al., arXiv 2502.03373, App. C)."""

import math
from dataclasses import dataclass
from typing import Any

from rdiverse_verl.errors import ConfigError
from reward_fns.judging import judge, outcome
from reward_fns.response_length import count_tokens


@dataclass(frozen=True)
class Schedule:
    """Rewards of the shortest and the longest response, right and wrong; ``max_length`` in tokens ends the cosine."""

    correct_short: float
    correct_long: float
    wrong_short: float
    wrong_long: float
    max_length: int


# "paper": short wrong answers are punished most, as DRA-GRPO's App. A says, over its longest completion (Table S2).
# "released": the defaults of its training scripts, where short wrong answers cost nothing.
# Both count tokens and stop at max_length; the released code counts characters and lets the cosine swing back.
PRESETS = {
    "paper": Schedule(correct_short=1.0, correct_long=0.5, wrong_short=-1.0, wrong_long=-0.5, max_length=3584),
    "released": Schedule(correct_short=1.0, correct_long=0.5, wrong_short=0.0, wrong_long=-0.5, max_length=1000),
}


def cosine_reward(correct: bool, length: int, schedule: Schedule) -> float:
    """``long + (short - long) (1 + cos(pi min(length / max_length, 1))) / 2``."""
    short, long = (
        (schedule.correct_short, schedule.correct_long) if correct else (schedule.wrong_short, schedule.wrong_long)
    )
    progress = min(length / schedule.max_length, 1.0)
    return long + (short - long) * (1 + math.cos(math.pi * progress)) / 2


def find_schedule(preset: str, max_length: int | None) -> Schedule:
    """A preset, over another length if one is given. Raises ConfigError for an unknown preset or a length below 1."""
    if preset not in PRESETS:
        raise ConfigError(f"reward_kwargs.preset: {preset!r} is not one of {', '.join(PRESETS)}")
    chosen = PRESETS[preset]
    if max_length is None:
        return chosen
    if max_length < 1:
        raise ConfigError(f"reward_kwargs.max_length: {max_length} tokens; give the longest response's length")
    return Schedule(chosen.correct_short, chosen.correct_long, chosen.wrong_short, chosen.wrong_long, max_length)


def compute_score(
    data_source: str,
    solution_str: str,
    ground_truth: str,
    extra_info: dict[str, Any] | None = None,
    *,
    preset: str = "paper",
    max_length: int | None = None,
    tokenizer: str | None = None,
    **_: Any,
) -> dict[str, Any]:
    """``score`` is the cosine reward; ``max_length`` should be ``data.max_response_length``."""
    schedule = find_schedule(preset, max_length)
    length = count_tokens(solution_str, extra_info, tokenizer)
    verdict = judge(solution_str, ground_truth, extra_info)
    reward = cosine_reward(verdict.correct, length, schedule)
    return {"score": reward, "response_length": float(length)} | outcome(verdict)
