"""1 for the right answer and 0 otherwise (the accuracy reward of DRA-GRPO, App. A, and of ExTra, Sec. 3)."""

from typing import Any

from reward_fns.judging import judge, outcome


def compute_score(
    data_source: str, solution_str: str, ground_truth: str, extra_info: dict[str, Any] | None = None, **_: Any
) -> dict[str, Any]:
    """``score`` equals ``acc``."""
    verdict = judge(solution_str, ground_truth, extra_info)
    return {"score": float(verdict.correct)} | outcome(verdict)
