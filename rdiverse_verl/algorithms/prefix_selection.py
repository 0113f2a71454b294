"""Which prefix of a hard prompt to continue from (ExTra, Sec. 4.3, the equation after Eq. 3)."""

import numpy as np

from rdiverse_verl.algorithms.similarity import cosine, to_grid
from rdiverse_verl.errors import ConfigError

_DIGITS = 10  # of a smoothed entropy: equal vectors give equal scores, whatever the order of their sums


def smoothed_entropies(mte_P: np.ndarray, emb_P_D: np.ndarray, tau: float = 0.1) -> np.ndarray:
    """H~_j = sum_k softmax_k(cos(e_j, e_k) / tau) H_k over the current and cached prefixes of one prompt.

    Args:
        mte_P: finite mean token entropies, in nats.
        emb_P_D: unit rows.
    """
    if tau <= 0:
        raise ConfigError(f"the smoothing temperature tau must be positive, not {tau}")
    grid_P_D = to_grid(emb_P_D)
    weight_P_P = np.exp((cosine(grid_P_D, grid_P_D) - 1) / tau)
    smooth_P = (weight_P_P * np.asarray(mte_P, dtype=np.float64)).sum(axis=1) / weight_P_P.sum(axis=1)
    return np.round(smooth_P, _DIGITS)


def select_prefix(
    mte_P: np.ndarray, length_P: np.ndarray, emb_P_D: np.ndarray, *, tau: float = 0.1, max_length: int | None = None
) -> int | None:
    """Index of the prefix with the lowest smoothed entropy; None if there is none to choose.

    Ties go to the lower raw entropy, then to the shorter prefix, which leaves more room to continue, then to the first.
    Prefixes without a finite entropy or without a finite vector take no part.

    Args:
        length_P: tokens.
        max_length: longer prefixes smooth the others but are not chosen.
    """
    usable = np.flatnonzero(np.isfinite(mte_P) & np.isfinite(emb_P_D).all(axis=1))
    if not usable.size:
        return None
    mte_P, length_P = np.asarray(mte_P)[usable], np.asarray(length_P)[usable]
    smooth_P = smoothed_entropies(mte_P, emb_P_D[usable], tau)
    for place in np.lexsort((length_P, mte_P, smooth_P)):
        if max_length is None or length_P[place] <= max_length:
            return int(usable[place])
    return None
