import numpy as np
import pytest

from rdiverse_verl.algorithms.similarity import cosine, max_similarity, mean_row, to_grid
from rdiverse_verl.errors import DataError


def test_a_row_alone_and_in_company_gives_the_same_bits(unit_rows):
    grid_N_D, grid_M_D = to_grid(unit_rows(33, 384, seed=1)), to_grid(unit_rows(501, 384, seed=2))
    together = cosine(grid_N_D, grid_M_D)
    assert all(np.array_equal(cosine(grid_N_D[i : i + 1], grid_M_D)[0], together[i]) for i in range(33))
    column_order = np.random.default_rng(0).permutation(384)
    np.testing.assert_array_equal(cosine(grid_N_D[:, column_order], grid_M_D[:, column_order]), together)


def test_the_grid_is_finer_than_float32(unit_rows):
    emb_N_D = unit_rows(200, 384, seed=3).astype(np.float64)
    grid_N_D = to_grid(emb_N_D)
    np.testing.assert_allclose(cosine(grid_N_D, grid_N_D), emb_N_D @ emb_N_D.T, atol=1e-7)


def test_float32_self_similarity_is_clipped_to_one(unit_rows):
    grid_N_D = to_grid(unit_rows(2000, 384, seed=4))
    assert np.einsum("nd,nd->n", grid_N_D, grid_N_D).max() > 1
    assert max_similarity(grid_N_D, grid_N_D).max() == 1.0


def test_blocks_and_row_order_change_nothing(unit_rows):
    grid_N_D, grid_M_D = to_grid(unit_rows(5, 16, seed=5)), to_grid(unit_rows(100, 16, seed=6))
    np.testing.assert_array_equal(
        max_similarity(grid_N_D, grid_M_D, block=7), max_similarity(grid_N_D, grid_M_D[::-1], block=1000)
    )
    np.testing.assert_array_equal(mean_row(grid_M_D), mean_row(grid_M_D[::-1]))


def test_the_mean_is_not_normalised_again():
    opposite = to_grid(np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]))
    np.testing.assert_allclose(mean_row(opposite), [0.0, 0.5])


@pytest.mark.parametrize("bad", [np.zeros(4), np.full(4, np.nan), np.full(4, np.inf), np.full(4, 10.0)])
def test_a_row_that_is_not_of_unit_length_is_named(bad):
    with pytest.raises(DataError, match="row 1"):
        to_grid(np.stack([np.eye(4)[0], bad]))
