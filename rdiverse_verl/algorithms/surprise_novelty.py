"""Novelty as the policy's own surprise at a correct answer (ExTra, Tab. 6, "Policy surprise")."""

import numpy as np

from rdiverse_verl.algorithms.group_norm import normalise_in_groups
from rdiverse_verl.algorithms.groups import Groups


def surprise_novelty(log_prob_N: np.ndarray, correct_N: np.ndarray, groups: Groups) -> np.ndarray:
    """max(0, -z) of the log-probability among the correct rows of a group; 0 for all others.

    A group with fewer than two correct rows, or equally likely ones, earns nothing.

    Args:
        log_prob_N: mean log-probability per token of each answer (a sum would pay for length); read where correct.

    Returns:
        novelty_N, float64, a session's value on each of its outputs.
    """
    correct_N = np.asarray(correct_N, dtype=bool)
    correct_groups = groups.restrict(correct_N)
    surprise_N = normalise_in_groups(np.where(correct_N, -np.asarray(log_prob_N), 0), correct_groups, eps=1e-8)
    return groups.scatter(groups.gather(np.maximum(surprise_N, 0) * correct_N))
