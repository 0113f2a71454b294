"""How undecided the frozen Solver is about a question (R-Diverse, Eq. 2)."""

import numpy as np

from rdiverse_verl.errors import ConfigError, DataError

SCALES = ("paper", "rzero_code")


def uncertainty_reward(p_hat_N: np.ndarray, scale: str = "paper") -> np.ndarray:
    """R_unc of each question, from the share of Solver samples that agree with the majority answer.

    Args:
        p_hat_N: shares in [0, 1]; samples without an answer count in the denominator.
        scale: ``paper`` gives 1 - 2|p - 1/2| in [0, 1]; ``rzero_code`` gives min(p, 1 - p) in [0, 1/2], the half
            scale of R-Zero's released code.

    Returns:
        reward_N, float64.
    """
    p_hat_N = np.asarray(p_hat_N, dtype=np.float64)
    outside = np.flatnonzero(~((p_hat_N >= 0) & (p_hat_N <= 1)))
    if outside.size:
        raise DataError(f"p_hat must lie in [0, 1]; row {outside[0]} has {p_hat_N[outside[0]]}")
    if scale == "paper":
        return 1 - 2 * np.abs(p_hat_N - 0.5)
    if scale == "rzero_code":
        return np.minimum(p_hat_N, 1 - p_hat_N)
    raise ConfigError(f"uncertainty scale {scale!r} is unknown; choose one of {', '.join(SCALES)}")
