"""Repetition across iterations: how close a question comes to the memory (R-Diverse, Eq. 7-9)."""

import numpy as np

from rdiverse_verl.errors import ConfigError


def memory_penalty(
    p_max_N: np.ndarray, p_mean_N: np.ndarray, gamma: float, tau_max: float, tau_mean: float
) -> np.ndarray:
    """P_MAP = gamma [P_max - tau_max]_+ + (1 - gamma) [P_mean - tau_mean]_+ (R-Diverse, Eq. 9).

    Args:
        p_max_N: largest cosine to any remembered row (Eq. 7).
        p_mean_N: mean cosine to all remembered rows (Eq. 8). Both are 0 while the memory is empty.

    Returns:
        p_map_N, float64.
    """
    _check(gamma)
    nearest_N = np.maximum(np.asarray(p_max_N, dtype=np.float64) - tau_max, 0)
    dense_N = np.maximum(np.asarray(p_mean_N, dtype=np.float64) - tau_mean, 0)
    return gamma * nearest_N + (1 - gamma) * dense_N


def memory_penalty_bound(gamma: float, tau_max: float, tau_mean: float) -> float:
    """The largest value P_MAP can take, on any scale of embeddings: a cosine never exceeds 1."""
    _check(gamma)
    return gamma * max(1 - tau_max, 0.0) + (1 - gamma) * max(1 - tau_mean, 0.0)


def _check(gamma: float) -> None:
    if not 0 <= gamma <= 1:
        raise ConfigError(f"gamma must lie in [0, 1], not {gamma}")
