"""Cosines between the members of each group, exact whatever the batch around them; see `similarity`."""

from collections.abc import Iterator

import numpy as np

from rdiverse_verl.algorithms.groups import Groups
from rdiverse_verl.algorithms.similarity import cosine, to_grid
from rdiverse_verl.errors import DataError

_BLOCK_ROWS = 256  # what fits in a core's cache as float64


def group_cosines(emb_N_D: np.ndarray, groups: Groups, use_N: np.ndarray) -> np.ndarray:
    """cos_B_G_G, float64 in [-1, 1], between the sessions of each group; 0 where a session is absent or not in use.

    Args:
        emb_N_D: unit rows; what stands in rows not in use is never read.
        use_N: bool, rows that have a vector and are wanted.
    """
    most, count = groups.member_G_B.shape
    cos_B_G_G = np.empty((count, most, most))
    for part, z_B_G_D in grid_blocks(emb_N_D, groups, use_N):
        cos_B_G_G[part] = cosine(z_B_G_D, z_B_G_D)
    return cos_B_G_G


def grid_blocks(emb_N_D: np.ndarray, groups: Groups, use_N: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
    """Slices of the groups, each with z_B_G_D of `similarity.to_grid`, 0 where a session is absent or not in use."""
    use_G_B = vectors_in_use(emb_N_D, groups, use_N)
    most, count = groups.member_G_B.shape
    step = max(_BLOCK_ROWS // most, 1)
    for start in range(0, count, step):
        part = slice(start, min(start + step, count))
        member_B_G, use_B_G = groups.member_G_B[:, part].T, use_G_B[:, part].T
        z_B_G_D = np.zeros((*member_B_G.shape, emb_N_D.shape[1]))
        z_B_G_D[use_B_G] = to_grid(emb_N_D[member_B_G[use_B_G]])
        yield part, z_B_G_D


def vectors_in_use(emb_N_D: np.ndarray, groups: Groups, use_N: np.ndarray) -> np.ndarray:
    """use_G_B of the rows in use, after checking that there is one vector a row."""
    if emb_N_D.ndim != 2 or len(emb_N_D) != len(groups.final_N):
        raise DataError(f"vectors of shape {emb_N_D.shape} for a batch of {len(groups.final_N)} rows")
    return groups.gather(np.asarray(use_N, dtype=bool))
