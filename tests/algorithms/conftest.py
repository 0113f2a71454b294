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


@pytest.fixture
def answers_of_prompts():
    """A batch of ragged groups: keys, unit vectors near a direction of their prompt, and rewards in {0, 1, 2.5}."""

    def make(sizes, dim=24, seed=0):
        rng = np.random.default_rng(seed)
        keys = [f"p{prompt}_{session}_0" for prompt, size in enumerate(sizes) for session in range(size)]
        emb_N_D = np.concatenate([rng.normal(size=dim) + 0.8 * rng.normal(size=(size, dim)) for size in sizes])
        emb_N_D /= np.linalg.norm(emb_N_D, axis=1, keepdims=True)
        return keys, emb_N_D.astype(np.float32), rng.choice([0.0, 1.0, 2.5], size=len(keys))

    return make
