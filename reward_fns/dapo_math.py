"""DAPO's reward: 1 or -1 for the answer, less a penalty near the length limit (arXiv 2503.14476, Eq. 7 and 13)."""

from typing import Any

from rdiverse_verl.errors import ConfigError
from reward_fns.judging import judge, outcome
from reward_fns.response_length import count_tokens


def overlong_penalty(length: int, max_length: int, overlong_buffer: int) -> float:
    """0 up to ``max_length - overlong_buffer`` tokens, then linear down to -1 at ``max_length`` (Eq. 13)."""
    return min(0.0, max(-1.0, (max_length - overlong_buffer - length) / overlong_buffer))


def compute_score(
    data_source: str,
    solution_str: str,
    ground_truth: str,
    extra_info: dict[str, Any] | None = None,
    *,
    max_length: int | None = None,
    overlong_buffer: int | None = None,
    tokenizer: str | None = None,
    **_: Any,
) -> dict[str, Any]:
    """``score`` is the answer's reward plus ``overlong``.

    The penalty is off unless both lengths are given, in tokens. The paper has 20480 and 4096. Leave it off where
    verl's own ``dapo`` manager adds one.
    """
    _check(max_length, overlong_buffer)
    verdict = judge(solution_str, ground_truth, extra_info)
    penalty = 0.0
    if max_length and overlong_buffer:
        penalty = overlong_penalty(count_tokens(solution_str, extra_info, tokenizer), max_length, overlong_buffer)
    return {"score": (1.0 if verdict.correct else -1.0) + penalty, "overlong": penalty} | outcome(verdict)


def _check(max_length: int | None, overlong_buffer: int | None) -> None:
    if (max_length is None) != (overlong_buffer is None):
        raise ConfigError("reward_kwargs: give both max_length and overlong_buffer, or neither")
    if max_length is not None and overlong_buffer is not None and not 0 < overlong_buffer <= max_length:
        raise ConfigError(
            f"reward_kwargs: overlong_buffer {overlong_buffer} is not between 1 and max_length {max_length} tokens"
        )
