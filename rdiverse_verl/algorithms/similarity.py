"""Cosine similarity whose bits depend on the two vectors alone.

A float matmul rounds differently with the shape of its operands, the BLAS and the number of threads. Here vectors are
first rounded to multiples of 2**-26. Products are then multiples of 2**-52 and, by Cauchy-Schwarz, every partial sum of
unit vectors stays below 2: 53 bits hold each of them, so a float64 matmul is exact in any order. The rounding moves a
cosine by about 1e-8, less than float32 resolves.
"""

import numpy as np

from rdiverse_verl.errors import DataError

_GRID = 2.0**26
_UNIT_TOLERANCE = 1e-4


def to_grid(emb_N_D: np.ndarray) -> np.ndarray:
    """Unit rows as float64 multiples of 2**-26. Raises DataError for a row that is not finite and of unit length."""
    emb_N_D = np.asarray(emb_N_D, dtype=np.float64)
    if emb_N_D.ndim != 2:
        raise DataError(f"embeddings must have shape (rows, dim), not {emb_N_D.shape}")
    check_unit(emb_N_D, np.ones(len(emb_N_D), dtype=bool))
    return _round(emb_N_D)


def check_unit(emb_N_D: np.ndarray, use_N: np.ndarray) -> None:
    """Raise DataError for a row in use that is not finite and of unit length. Rows may have more than one axis."""
    norm_N = np.sqrt(np.einsum("...d,...d->...", emb_N_D, emb_N_D))
    bad = np.argwhere(use_N & ~(np.abs(norm_N - 1) <= _UNIT_TOLERANCE))
    if bad.size:
        row = tuple(bad[0].tolist())
        place = row[0] if len(row) == 1 else row
        raise DataError(f"embedding row {place} has length {norm_N[row]:.4g}, not 1; normalise before comparing")


def cosine(grid_N_D: np.ndarray, grid_M_D: np.ndarray) -> np.ndarray:
    """sim_N_M in [-1, 1] of rows from `to_grid`: exact, so independent of which rows share the call.

    Leading axes, if any, are batches.
    """
    return np.clip(grid_N_D @ np.swapaxes(grid_M_D, -1, -2), -1.0, 1.0)


def mean_row(grid_M_D: np.ndarray) -> np.ndarray:
    """mean_D of M > 0 rows, on the grid and not normalised again: a row's product with it is its mean cosine to all.

    The sum over M is exact, hence independent of row order.
    """
    return _round(grid_M_D.sum(axis=0) / len(grid_M_D))


def max_similarity(grid_N_D: np.ndarray, grid_M_D: np.ndarray, block: int = 8192) -> np.ndarray:
    """Largest cosine of each row to any of M > 0 rows, in blocks that bound the memory to N x block."""
    max_N = np.full(len(grid_N_D), -1.0)
    for start in range(0, len(grid_M_D), block):
        np.maximum(max_N, cosine(grid_N_D, grid_M_D[start : start + block]).max(axis=1), out=max_N)
    return max_N


def _round(values: np.ndarray) -> np.ndarray:
    scaled = values * _GRID
    np.rint(scaled, out=scaled)
    scaled /= _GRID
    return scaled
