"""Diversity-aware reward adjustment: redundant answers of a group count for less (DRA-GRPO, Eq. 3-6).

R~_i = R_i / (1 + SMI(i, rest of the group)). Similarity is taken inside a group only, whatever the sharding.
"""

import numpy as np

from rdiverse_verl.algorithms.group_similarity import blocks, group_cosines
from rdiverse_verl.algorithms.groups import Groups, total
from rdiverse_verl.algorithms.similarity import check_unit
from rdiverse_verl.errors import ConfigError

KERNELS = ("clamp", "raw", "logdet")
NEGATIVE_REWARDS = ("paper", "positive_part")
RESCALES = ("none", "mean1", "G")


def dra_weights(
    emb_N_D: np.ndarray,
    groups: Groups,
    has_vector_N: np.ndarray,
    *,
    kernel: str = "clamp",
    floor: float = 1e-6,
    rescale: str = "none",
) -> np.ndarray:
    """w_i = 1 / (1 + SMI_i) of each session in its group.

    Args:
        emb_N_D: unit rows.
        has_vector_N: bool; a session without a vector takes the mean weight of those of its group, and 1/n in a group
            of n without any: a failure of the encoder favours nobody.
        kernel: ``clamp`` is the graph cut (Eq. 4-5) on max(cos, 0), as a graph cut needs a kernel that is nowhere
            negative; ``raw`` is the graph cut on the cosine; ``logdet`` is the log-det mutual information (Eq. 6).
        floor: smallest denominator. With ``raw`` the row sum can reach 0 and below.
        rescale: ``none`` as published, weights near 1/G; ``mean1`` divides by the group's mean weight; ``G``
            multiplies by the group's size.

    Returns:
        weight_N, float64, positive; 0 on padding rows.
    """
    if floor <= 0:
        raise ConfigError(f"the floor of DRA's denominator must be positive, not {floor}")
    known = groups.restrict(has_vector_N)
    weight_G_B = np.where(known.present_G_B, 1 / np.maximum(_redundancy(kernel)(emb_N_D, known), floor), 0)
    mean_B = np.where(known.size_B, total(weight_G_B) / np.maximum(known.size_B, 1), 1 / np.maximum(groups.size_B, 1))
    scale_B = _scale(rescale, mean_B, groups.size_B)
    measured_N = known.scatter(weight_G_B * scale_B)
    unmeasured_N = groups.scatter(np.broadcast_to(mean_B * scale_B, groups.member_G_B.shape))
    return np.where(measured_N > 0, measured_N, unmeasured_N)


def adjust_rewards(reward_N: np.ndarray, weight_N: np.ndarray, negative: str = "paper") -> np.ndarray:
    """R~ = R w (DRA-GRPO, Eq. 3), float64.

    A smaller weight raises a negative reward, so that under ``paper`` redundant wrong answers end above diverse ones;
    ``positive_part`` leaves negative rewards as they are.
    """
    reward_N = np.asarray(reward_N, dtype=np.float64)
    if negative == "paper":
        return reward_N * weight_N
    if negative == "positive_part":
        return np.where(reward_N > 0, reward_N * weight_N, reward_N)
    raise ConfigError(f"treatment of negative rewards {negative!r} is unknown; choose one of {NEGATIVE_REWARDS}")


def _redundancy(kernel: str):
    kernels = {"clamp": _clamped_row_sums, "raw": _raw_row_sums, "logdet": _logdet_denominators}
    if kernel not in kernels:
        raise ConfigError(f"DRA kernel {kernel!r} is unknown; choose one of {KERNELS}")
    return kernels[kernel]


def _clamped_row_sums(emb_N_D: np.ndarray, groups: Groups) -> np.ndarray:
    return total(np.maximum(group_cosines(emb_N_D, groups), 0).transpose(1, 2, 0))


def _raw_row_sums(emb_N_D: np.ndarray, groups: Groups) -> np.ndarray:
    """z_i . (sum of the group): one product a row instead of one a pair."""
    sum_G_B = np.empty(groups.member_G_B.shape)
    for part in blocks(emb_N_D, groups):
        present_G_B = groups.present_G_B[:, part]
        z_G_B_D = emb_N_D[groups.member_G_B[:, part]]
        check_unit(z_G_B_D, present_G_B)
        z_G_B_D[~present_G_B] = 0
        sum_G_B[:, part] = np.einsum("gbd,bd->gb", z_G_B_D, z_G_B_D.sum(axis=0))
    return sum_G_B


def _logdet_denominators(emb_N_D: np.ndarray, groups: Groups, jitter: float = 1e-6) -> np.ndarray:
    """1 + SMI of Eq. 6. As det L_(C without i) / det L_C is the i-th diagonal entry of L^-1, one inverse serves all.

    The jitter on the diagonal keeps L regular where two answers are equal.
    """
    cos_B_G_G = group_cosines(emb_N_D, groups)
    diagonal = np.arange(cos_B_G_G.shape[1])
    cos_B_G_G[:, diagonal, diagonal] = 1 + jitter  # also for absent sessions, which are uncorrelated with all
    inverse_B_G = np.linalg.inv(cos_B_G_G)[:, diagonal, diagonal]
    return 1 + np.log1p(jitter) + np.log(np.maximum(inverse_B_G.T, 1 / (1 + jitter)))


def _scale(rescale: str, mean_B: np.ndarray, size_B: np.ndarray) -> np.ndarray:
    if rescale == "none":
        return np.ones_like(mean_B)
    if rescale == "mean1":
        return 1 / mean_B
    if rescale == "G":
        return size_B.astype(np.float64)
    raise ConfigError(f"DRA rescale {rescale!r} is unknown; choose one of {RESCALES}")
