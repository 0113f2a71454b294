"""How much a set of questions repeats itself and its history, in skill space (R-Diverse, Sec. 5 and Fig. 4).

The paper's appendix with the exact formulas is not public; these are the readings this package uses. A measure that is
undefined for its input is None, never 0.
"""

from dataclasses import dataclass

import numpy as np

from rdiverse_verl.algorithms.similarity import max_similarity, mean_row, to_grid


@dataclass(frozen=True)
class CrossIterationRepetition:
    """Mean over questions of the similarity to all earlier iterations: nearest row, all rows, and their mixture."""

    nearest: float
    average: float
    mixed: float


@dataclass(frozen=True)
class DistributionSpread:
    """Mean distance to the centroid, and the mean squared distance 1 - |centroid|^2, of unit vectors."""

    mean_distance: float
    mean_squared_distance: float


def cross_iteration_repetition(
    emb_N_D: np.ndarray, history_M_D: np.ndarray, gamma: float = 0.5
) -> CrossIterationRepetition | None:
    """CIR of unit rows against the unit rows of earlier iterations; None without questions or without history."""
    if not len(emb_N_D) or not len(history_M_D):
        return None
    grid_N_D, grid_M_D = to_grid(emb_N_D), to_grid(history_M_D)
    nearest = float(max_similarity(grid_N_D, grid_M_D).mean())
    average = float((grid_N_D @ mean_row(grid_M_D)).mean())
    return CrossIterationRepetition(nearest, average, gamma * nearest + (1 - gamma) * average)


def intra_iteration_repetition(emb_N_D: np.ndarray) -> float | None:
    """IIR: mean cosine over the pairs i < j, as (n |mean|^2 - 1) / (n - 1); None for fewer than two rows."""
    n = len(emb_N_D)
    if n < 2:
        return None
    return float((n * _squared_centroid(to_grid(emb_N_D)) - 1) / (n - 1))


def distribution_spread(emb_N_D: np.ndarray) -> DistributionSpread | None:
    """Distances of unit rows to their centroid, which is not normalised; None without rows."""
    if not len(emb_N_D):
        return None
    grid_N_D = to_grid(emb_N_D)
    distance_N = np.linalg.norm(grid_N_D - grid_N_D.mean(axis=0), axis=1)
    return DistributionSpread(float(distance_N.mean()), float(1 - _squared_centroid(grid_N_D)))


def _squared_centroid(grid_N_D: np.ndarray) -> float:
    mean_D = grid_N_D.mean(axis=0)
    return float(mean_D @ mean_D)
