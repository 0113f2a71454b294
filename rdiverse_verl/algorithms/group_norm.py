"""Group-relative advantages (GRPO; ExTra, Sec. 3; DRA-GRPO, Eq. 2), without the traps of small and constant groups."""

import numpy as np

from rdiverse_verl.algorithms.groups import Groups, total
from rdiverse_verl.errors import DataError


def normalise_in_groups(
    reward_N: np.ndarray, groups: Groups, *, by_std: bool = True, eps: float = 1e-6, std_tolerance: float = 1e-8
) -> np.ndarray:
    """(r - mean) / (std + eps) of each row in its group, with the unbiased std.

    Exactly 0 on padding rows, in groups of fewer than two sessions, and in groups whose std is at most
    `std_tolerance` (ExTra, Lemma A.1), also where rounding keeps the mean of equal rewards from being equal to them.

    Args:
        reward_N: one scalar a row; read only where a session ends.
        by_std: divide by the std; without it the rewards are only centred, as in Dr. GRPO.

    Returns:
        advantage_N, float64. Raises DataError for a reward that is not finite.
    """
    reward_G_B = groups.gather(np.asarray(reward_N, dtype=np.float64))
    broken = np.argwhere(~np.isfinite(reward_G_B))
    if broken.size:
        raise DataError(f"the reward of row {groups.member_G_B[tuple(broken[0])]} is not finite")
    centred_G_B = np.where(groups.present_G_B, reward_G_B - total(reward_G_B) / np.maximum(groups.size_B, 1), 0)
    std_B = np.sqrt(total(centred_G_B**2) / np.maximum(groups.size_B - 1, 1))
    divisor_B = std_B + eps if by_std else np.ones_like(std_B)
    divisor_B[std_B <= std_tolerance] = np.inf
    return groups.scatter(centred_G_B / divisor_B)
