"""How new a correct answer is among its siblings and the remembered ones (ExTra, Eq. 1, Alg. 1 l. 11-13)."""

import numpy as np

from rdiverse_verl.algorithms.group_similarity import check_use, grid_of_groups, group_cosines
from rdiverse_verl.algorithms.groups import Groups
from rdiverse_verl.algorithms.similarity import to_grid


def embedding_novelty(
    emb_N_D: np.ndarray,
    correct_N: np.ndarray,
    has_vector_N: np.ndarray,
    groups: Groups,
    memory_B_M_D: np.ndarray,
    remembered_B_M: np.ndarray,
    *,
    empty_pool_value: float = 1.0,
) -> np.ndarray:
    """1 - max cos to the correct siblings and to the memory, of correct rows; 0 for all others.

    Cosines are clipped to [0, 1], so the bonus lies there too. A correct row without a vector earns 0 and is nobody's
    neighbour.

    Args:
        emb_N_D: unit rows, read only where correct.
        correct_N: bool, the verifier's verdict, not a shaped score.
        memory_B_M_D: unit rows of earlier correct answers, by group of `groups`; M may be 0.
        remembered_B_M: bool, which of them there are.
        empty_pool_value: the bonus where there is nothing to compare with; 1 in the paper (max of nothing is 0).

    Returns:
        novelty_N, float64, a session's value on each of its outputs.
    """
    use_N = np.asarray(correct_N, dtype=bool) & np.asarray(has_vector_N, dtype=bool)
    use_G_B = check_use(emb_N_D, groups, use_N)
    cos_B_G_G = group_cosines(emb_N_D, groups, use_N)
    diagonal = np.arange(cos_B_G_G.shape[1])
    cos_B_G_G[:, diagonal, diagonal] = 0
    nearest_G_B = cos_B_G_G.max(axis=2, initial=0).T
    nearest_G_B = np.maximum(nearest_G_B, _nearest_in_memory(emb_N_D, groups, use_G_B, memory_B_M_D, remembered_B_M))
    alone_G_B = (use_G_B.sum(axis=0) - use_G_B + remembered_B_M.sum(axis=1)) == 0
    novelty_G_B = np.where(alone_G_B, empty_pool_value, 1 - np.minimum(nearest_G_B, 1))
    return groups.scatter(np.where(use_G_B, novelty_G_B, 0.0))


def _nearest_in_memory(
    emb_N_D: np.ndarray, groups: Groups, use_G_B: np.ndarray, memory_B_M_D: np.ndarray, remembered_B_M: np.ndarray
) -> np.ndarray:
    nearest_G_B = np.zeros(use_G_B.shape)
    for b in np.flatnonzero(use_G_B.any(axis=0) & remembered_B_M.any(axis=1)):
        z_1_G_D = grid_of_groups(emb_N_D, groups.member_G_B[:, b : b + 1], use_G_B[:, b : b + 1])
        cos_G_M = z_1_G_D[0] @ to_grid(memory_B_M_D[b][remembered_B_M[b]]).T
        nearest_G_B[:, b] = cos_G_M.max(axis=1)
    return nearest_G_B
