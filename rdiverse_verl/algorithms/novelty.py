"""How new a correct answer is among its siblings and the remembered ones (ExTra, Eq. 1, Alg. 1 l. 11-13)."""

import numpy as np

from rdiverse_verl.algorithms.group_similarity import grid_blocks
from rdiverse_verl.algorithms.groups import Groups
from rdiverse_verl.algorithms.similarity import cosine, to_grid


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
    pool = groups.restrict(np.asarray(correct_N, dtype=bool) & np.asarray(has_vector_N, dtype=bool))
    nearest_G_B = np.zeros(pool.member_G_B.shape)
    for part, z_B_G_D in grid_blocks(emb_N_D, pool):
        siblings_B_G_G = cosine(z_B_G_D, z_B_G_D)
        np.einsum("bgg->bg", siblings_B_G_G)[:] = 0  # nobody is its own sibling
        memory_B_G_M = _to_memory(z_B_G_D, memory_B_M_D[part], remembered_B_M[part])
        nearest_B_G = np.maximum(siblings_B_G_G.max(axis=2), memory_B_G_M.max(axis=2, initial=0))
        nearest_G_B[:, part] = np.maximum(nearest_B_G, 0).T
    alone_B = pool.size_B - 1 + remembered_B_M.sum(axis=1) == 0
    return pool.scatter(np.where(alone_B, empty_pool_value, 1 - nearest_G_B))


def _to_memory(z_B_G_D: np.ndarray, memory_B_M_D: np.ndarray, remembered_B_M: np.ndarray) -> np.ndarray:
    grid_B_M_D = np.zeros(memory_B_M_D.shape)
    grid_B_M_D[remembered_B_M] = to_grid(memory_B_M_D[remembered_B_M])
    return cosine(z_B_G_D, grid_B_M_D)
