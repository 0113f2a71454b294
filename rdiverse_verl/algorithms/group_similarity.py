"""Cosines between the members of each group, exact whatever the batch around them; see `similarity`."""

from collections.abc import Iterator

import numpy as np

from rdiverse_verl.algorithms.groups import Groups
from rdiverse_verl.algorithms.similarity import cosine, to_grid
from rdiverse_verl.errors import DataError

BLOCK_ROWS = 512  # rows of vectors that fit in a core's cache together


def group_cosines(emb_N_D: np.ndarray, groups: Groups) -> np.ndarray:
    """cos_B_G_G, float64 in [-1, 1], between the sessions of each group; 0 where a session is absent.

    Args:
        emb_N_D: vectors, unit rows where a session ends; other rows are not read.
    """
    most, count = groups.member_G_B.shape
    cos_B_G_G = np.empty((count, most, most))
    for part, z_B_G_D in grid_blocks(emb_N_D, groups):
        cos_B_G_G[part] = cosine(z_B_G_D, z_B_G_D)
    return cos_B_G_G


def grid_blocks(emb_N_D: np.ndarray, groups: Groups) -> Iterator[tuple[slice, np.ndarray]]:
    """Slices of the groups, each with z_B_G_D of `similarity.to_grid`, 0 where a session is absent."""
    for part in blocks(emb_N_D, groups):
        member_B_G, present_B_G = groups.member_G_B[:, part].T, groups.present_G_B[:, part].T
        z_B_G_D = np.zeros((*member_B_G.shape, emb_N_D.shape[1]))
        z_B_G_D[present_B_G] = to_grid(emb_N_D[member_B_G[present_B_G]])
        yield part, z_B_G_D


def blocks(emb_N_D: np.ndarray, groups: Groups) -> list[slice]:
    """Slices of the groups small enough for a cache, after checking that there is one vector a row."""
    if emb_N_D.ndim != 2 or len(emb_N_D) != len(groups.final_N):
        raise DataError(f"vectors of shape {emb_N_D.shape} for a batch of {len(groups.final_N)} rows")
    most, count = groups.member_G_B.shape
    step = max(BLOCK_ROWS // most, 1)
    return [slice(start, min(start + step, count)) for start in range(0, count, step)]
