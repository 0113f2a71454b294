"""The memory as it stood before an iteration, which penalises that iteration (R-Diverse, Eq. 7 and 8)."""

from pathlib import Path

import numpy as np

from rdiverse_verl.algorithms.similarity import max_similarity, mean_row, to_grid
from rdiverse_verl.memory import store
from rdiverse_verl.memory.rows import MemoryRow


class FrozenMemory:
    """A snapshot in this process's own memory; whatever is appended later does not reach it.

    The search is one exact matmul and no approximate index: up to about a million rows that is fast enough, it cannot
    drift from the rows, and a candidate's similarities depend on nothing but the candidate and the memory, to the bit
    (see `algorithms.similarity`). It holds 8 bytes per component.
    """

    def __init__(self, rows: list[MemoryRow], dim: int) -> None:
        self.rows = tuple(rows)
        stacked_M_D = np.stack([row.vector for row in rows]) if rows else np.empty((0, dim), dtype=np.float32)
        self._grid_M_D = to_grid(stacked_M_D)
        self._mean_D = mean_row(self._grid_M_D) if rows else np.zeros(dim)

    @classmethod
    def open(cls, path: str | Path, encoder_id: str, dim: int, before_iteration: int) -> "FrozenMemory":
        """Read the rows of all iterations before `before_iteration`; safe from many processes at once.

        Raises StateError if the file is missing, damaged or written with another encoder.
        """
        path = Path(path)
        connection = store.connect(path, encoder_id, dim, read_only=True)
        try:
            return cls(store.read_rows(connection, path, before_iteration), dim)
        finally:
            connection.close()

    def __len__(self) -> int:
        return len(self.rows)

    def similarity(self, emb_N_D: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """P_max and P_mean of unit rows, float64; both 0 while the memory is empty.

        P_mean is the mean over all rows of the signed cosine, as one product with the mean vector.
        """
        grid_N_D = to_grid(emb_N_D)
        if not self.rows:
            return np.zeros(len(grid_N_D)), np.zeros(len(grid_N_D))
        return max_similarity(grid_N_D, self._grid_M_D), grid_N_D @ self._mean_D
