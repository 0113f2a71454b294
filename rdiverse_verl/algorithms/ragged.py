"""Arrays of unequal length as one pool and its lengths: what goes into a checkpoint."""

from collections.abc import Sequence

import numpy as np

from rdiverse_verl.errors import StateError


def pack(arrays: Sequence[np.ndarray], dtype: np.dtype | type) -> tuple[np.ndarray, np.ndarray]:
    """The arrays' elements one after the other, and the length of each as int64."""
    pool = np.concatenate([np.empty(0, dtype), *arrays]).astype(dtype, copy=False)
    return pool, np.array([len(array) for array in arrays], dtype=np.int64)


def unpack(pool: np.ndarray, length_K: np.ndarray) -> list[np.ndarray]:
    """Copies of the packed arrays. Raises StateError if the lengths do not add up to the pool."""
    if length_K.sum() != len(pool) or (length_K < 0).any():
        raise StateError(f"a pool of {len(pool)} elements does not hold arrays of {length_K.sum()} in all")
    return [part.copy() for part in np.split(pool, np.cumsum(length_K)[:-1])] if len(length_K) else []
