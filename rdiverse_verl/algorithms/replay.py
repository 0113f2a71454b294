"""Experience replay: old questions mixed into the Solver's training set (R-Diverse, Sec. 3.1.2)."""

import math

import numpy as np

from rdiverse_verl.errors import ConfigError, DataError


def replay_size(new_rows: int, ratio: float, available: int) -> int:
    """How many remembered rows make up `ratio` of the final mix: round(ratio / (1 - ratio) * new), at most `available`.

    The ratio is that of the mix, not of the new rows: 1,400 new rows at 0.3 take 600.
    """
    if not 0 <= ratio < 1:
        raise ConfigError(f"replay ratio must lie in [0, 1), not {ratio}")
    return min(math.floor(ratio / (1 - ratio) * new_rows + 0.5), available)


def replay_rows(available: int, size: int, seed: int) -> np.ndarray:
    """Indices of `size` distinct rows of `available`, uniform, ascending; the same for the same seed."""
    if size > available:
        raise DataError(f"cannot replay {size} distinct rows of a memory of {available}")
    return np.sort(np.random.default_rng(seed).choice(available, size=size, replace=False))
