import itertools

import numpy as np
import pytest

from rdiverse_verl.algorithms.diversity import (
    cross_iteration_repetition,
    distribution_spread,
    intra_iteration_repetition,
)


def test_cross_iteration_repetition_by_hand(on_circle):
    # row 0 meets cosines 1 and 0, row 90 meets 0 and 1: nearest 1, average 1/2
    found = cross_iteration_repetition(on_circle(0, 90), on_circle(0, 90), gamma=0.5)
    assert (found.nearest, found.average, found.mixed) == pytest.approx((1.0, 0.5, 0.75))


def test_intra_iteration_repetition_leaves_the_diagonal_out(unit_rows):
    emb_N_D = unit_rows(12, 5, seed=1).astype(np.float64)
    pairs = [float(a @ b) for a, b in itertools.combinations(emb_N_D, 2)]
    assert intra_iteration_repetition(emb_N_D) == pytest.approx(np.mean(pairs), abs=1e-6)


def test_spread_by_hand(on_circle):
    # opposite rows: centroid 0, each at distance 1
    spread = distribution_spread(on_circle(0, 180))
    assert (spread.mean_distance, spread.mean_squared_distance) == pytest.approx((1.0, 1.0))
    still = distribution_spread(on_circle(30, 30, 30))
    assert (still.mean_distance, still.mean_squared_distance) == pytest.approx((0.0, 0.0), abs=1e-7)


def test_what_is_undefined_is_none(on_circle):
    assert cross_iteration_repetition(on_circle(0), np.empty((0, 2))) is None
    assert cross_iteration_repetition(np.empty((0, 2)), on_circle(0)) is None
    assert intra_iteration_repetition(on_circle(0)) is None
    assert distribution_spread(np.empty((0, 2))) is None
