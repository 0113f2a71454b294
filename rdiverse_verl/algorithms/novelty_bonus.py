"""Novelty joined to group-relative advantages (ExTra, Eq. 2 and App. D.1)."""

import numpy as np

from rdiverse_verl.algorithms.group_norm import normalise_in_groups
from rdiverse_verl.algorithms.groups import Groups
from rdiverse_verl.errors import ConfigError, DataError

PLACES = ("after", "before")


def advantages_with_novelty(
    reward_N: np.ndarray,
    novelty_N: np.ndarray,
    groups: Groups,
    *,
    gamma: float,
    place: str = "after",
    by_std: bool = True,
    eps: float = 1e-6,
    std_tolerance: float = 1e-8,
) -> np.ndarray:
    """A = normalised(r) + gamma b (``after``, Eq. 2), or normalised(r + gamma b) (``before``, the ablation of D.1).

    After normalisation a bonus is worth the same in every group. Before it, a constant bonus is removed by the mean and
    in a group of equal rewards gamma cancels.

    Returns:
        advantage_N, float64, 0 on padding rows.
    """
    reward_N, novelty_N = np.asarray(reward_N, dtype=np.float64), np.asarray(novelty_N, dtype=np.float64)
    if gamma < 0:
        raise ConfigError(f"the novelty coefficient gamma must not be negative, but is {gamma}")
    if not np.isfinite(novelty_N).all():
        raise DataError(f"the novelty of row {np.flatnonzero(~np.isfinite(novelty_N))[0]} is not finite")
    if place not in PLACES:
        raise ConfigError(f"place {place!r} of the novelty bonus is unknown; choose one of {PLACES}")
    before, after = (0.0, gamma) if place == "after" else (gamma, 0.0)
    shaped_N = reward_N + before * novelty_N
    normalised_N = normalise_in_groups(shaped_N, groups, by_std=by_std, eps=eps, std_tolerance=std_tolerance)
    return normalised_N + after * novelty_N
