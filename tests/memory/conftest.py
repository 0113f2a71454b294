import numpy as np
import pytest

from rdiverse_verl.memory import MemoryRow


@pytest.fixture
def make_rows():
    """make_rows(n, iteration, dim, seed): distinct rows with random unit vectors."""

    def make(n, iteration, dim=8, seed=0):
        emb_N_D = np.random.default_rng((seed, iteration)).normal(size=(n, dim))
        emb_N_D = (emb_N_D / np.linalg.norm(emb_N_D, axis=1, keepdims=True)).astype(np.float32)
        return [
            MemoryRow(f"Question {i} of {iteration}?", f"\\frac{{{i}}}{{7}}", 0.5, iteration, "def solver(): ...", row)
            for i, row in enumerate(emb_N_D)
        ]

    return make
