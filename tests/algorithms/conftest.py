import numpy as np
import pytest


@pytest.fixture
def unit_rows():
    """Make random unit rows: unit_rows(n, dim, seed)."""

    def make(n, dim=8, seed=0):
        emb_N_D = np.random.default_rng(seed).normal(size=(n, dim))
        return (emb_N_D / np.linalg.norm(emb_N_D, axis=1, keepdims=True)).astype(np.float32)

    return make


@pytest.fixture
def on_circle():
    """Unit vectors in the plane at the given angles in degrees."""

    def make(*degrees):
        angle_N = np.radians(degrees)
        return np.stack([np.cos(angle_N), np.sin(angle_N)], axis=1)

    return make
