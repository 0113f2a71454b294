"""The Solver's reward: does its answer match the pseudo-label (R-Diverse, Eq. 5)?"""

from typing import Any

from rdiverse_verl.grading import grade


def compute_score(data_source: str, solution_str: str, ground_truth: str, **_: Any) -> dict[str, float]:
    """1 for a match and 0 otherwise, as verl's naive reward manager calls it (``reward.custom_reward_function``)."""
    verdict = grade(solution_str, ground_truth)
    correct = float(verdict.correct)
    return {"score": correct, "acc": correct, "parsed": float(verdict.answer is not None)}
