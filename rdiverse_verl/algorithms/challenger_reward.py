"""The Challenger's reward of one batch (R-Diverse, Eq. 11), and what failures earn."""

import numpy as np

from rdiverse_verl.algorithms.memory_penalty import memory_penalty_bound
from rdiverse_verl.errors import ConfigError, DataError


def challenger_rewards(
    r_unc_N: np.ndarray,
    p_rep_N: np.ndarray,
    p_map_N: np.ndarray,
    valid_N: np.ndarray,
    sam_ok_N: np.ndarray,
    *,
    alpha: float,
    beta: float,
    invalid_reward: float,
    p_map_bound: float,
) -> np.ndarray:
    """R_total = R_unc - alpha P_rep - beta P_MAP (R-Diverse, Eq. 11).

    A valid question for which no program could be had takes the batch's largest P_rep and P_MAP, so that defeating
    the measurement never pays. If no row of the batch was measured it takes the upper bounds: 1 and `p_map_bound`.

    Args:
        r_unc_N: uncertainty reward (Eq. 2); not read where invalid.
        p_rep_N, p_map_N: penalties (Eq. 3 and 9); read only where valid and measured.
        valid_N: bool, the output held one well-formed question and answer.
        sam_ok_N: bool, the question has a program and a vector.
        invalid_reward: what every invalid output earns; see `invalid_floor`.
        p_map_bound: see `memory_penalty_bound`.

    Returns:
        reward_N, float64, finite.
    """
    valid_N = np.asarray(valid_N, dtype=bool)
    measured_N = valid_N & np.asarray(sam_ok_N, dtype=bool)
    p_rep_N = _fill_unmeasured(p_rep_N, measured_N, bound=1.0)
    p_map_N = _fill_unmeasured(p_map_N, measured_N, bound=p_map_bound)
    reward_N = np.where(valid_N, np.asarray(r_unc_N) - alpha * p_rep_N - beta * p_map_N, invalid_reward)
    broken = np.flatnonzero(~np.isfinite(reward_N))
    if broken.size:
        raise DataError(f"row {broken[0]} of the batch has no finite reward; its uncertainty or a penalty is missing")
    return reward_N


def invalid_floor(
    alpha: float, beta: float, gamma: float, tau_max: float, tau_mean: float, margin: float = 0.375
) -> float:
    """A reward below that of every valid output: -(alpha + beta max P_MAP) - margin.

    R_unc is at least 0 and P_rep at most 1, so this holds for any embedding. With the paper's settings the default
    margin makes it -2. A fixed -1, as in R-Zero's code, would make breaking the format pay: a valid question can
    earn as little as -1.625.
    """
    if alpha < 0 or beta < 0 or margin <= 0:
        raise ConfigError(f"need alpha >= 0, beta >= 0 and margin > 0, not {alpha}, {beta} and {margin}")
    return -(alpha + beta * memory_penalty_bound(gamma, tau_max, tau_mean)) - margin


def _fill_unmeasured(penalty_N: np.ndarray, measured_N: np.ndarray, bound: float) -> np.ndarray:
    penalty_N = np.asarray(penalty_N, dtype=np.float64)
    worst = penalty_N[measured_N].max() if measured_N.any() else bound
    return np.where(measured_N, penalty_N, worst)
