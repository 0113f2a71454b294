"""The Solver's reward: 1 if its answer matches the pseudo-label, which is its row's ground truth (R-Diverse, Eq. 5)."""

from reward_fns.math_accuracy import compute_score

__all__ = ["compute_score"]
