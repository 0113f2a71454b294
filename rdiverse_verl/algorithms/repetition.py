"""Repetition inside a batch: the share of the batch that uses the same skill (R-Diverse, Eq. 3)."""

import numpy as np

from rdiverse_verl.algorithms.similarity import cosine, to_grid
from rdiverse_verl.errors import ConfigError, DataError


def skill_clusters(emb_N_D: np.ndarray, distance_threshold: float) -> np.ndarray:
    """Cluster unit rows by average linkage on the distance 1 - cos, merging strictly below the threshold.

    Which rows end up together does not depend on their order: rows are clustered in a canonical order, so that ties
    are always broken the same way. Labels are numbered by first appearance.

    Args:
        emb_N_D: unit rows; N = 0 and N = 1 are fine.
        distance_threshold: in (0, 2].

    Returns:
        labels_N, int64.
    """
    if not 0 < distance_threshold <= 2:
        raise ConfigError(f"distance_threshold must lie in (0, 2], not {distance_threshold}")
    if len(emb_N_D) < 2:
        return np.arange(len(emb_N_D))
    grid_N_D = to_grid(emb_N_D)
    order_N = np.lexsort(grid_N_D.T)
    labels_N = np.empty(len(grid_N_D), dtype=np.int64)
    labels_N[order_N] = _average_linkage(grid_N_D[order_N], distance_threshold)
    return _by_first_appearance(labels_N)


def repetition_penalty(
    emb_N_D: np.ndarray, present_N: np.ndarray, distance_threshold: float
) -> tuple[np.ndarray, np.ndarray]:
    """P_rep(q_i, B) = |C_i| / |B|, where C_i is the cluster of q_i among the present rows and |B| the whole batch.

    Args:
        emb_N_D: unit rows; what stands in rows that are not present is never read.
        present_N: bool, the rows that have a vector (a valid question and a program).
        distance_threshold: see `skill_clusters`.

    Returns:
        p_rep_N, float64, 0 where absent; labels_N, int64, -1 where absent.
    """
    emb_N_D, present_N = np.asarray(emb_N_D), np.asarray(present_N, dtype=bool)
    if len(emb_N_D) != len(present_N):
        raise DataError(f"{len(emb_N_D)} vectors but {len(present_N)} presence flags")
    labels_N = np.full(len(present_N), -1, dtype=np.int64)
    p_rep_N = np.zeros(len(present_N))
    labels = skill_clusters(emb_N_D[present_N], distance_threshold)
    labels_N[present_N] = labels
    p_rep_N[present_N] = np.bincount(labels)[labels] / max(len(present_N), 1)
    return p_rep_N, labels_N


def _average_linkage(grid_N_D: np.ndarray, distance_threshold: float) -> np.ndarray:
    from scipy.cluster.hierarchy import fcluster, linkage  # 0.3 s to import
    from scipy.spatial.distance import squareform

    distance_N_N = 1 - cosine(grid_N_D, grid_N_D)
    np.fill_diagonal(distance_N_N, 0)
    tree = linkage(squareform(distance_N_N, checks=False), method="average")
    strictly_below = np.nextafter(distance_threshold, 0)
    return fcluster(tree, strictly_below, criterion="distance")


def _by_first_appearance(labels_N: np.ndarray) -> np.ndarray:
    _, first_C, inverse_N = np.unique(labels_N, return_index=True, return_inverse=True)
    rank_C = np.empty(len(first_C), dtype=np.int64)
    rank_C[np.argsort(first_C)] = np.arange(len(first_C))
    return rank_C[inverse_N]
