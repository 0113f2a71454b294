import numpy as np
import pytest

from rdiverse_verl.algorithms.replay import replay_rows, replay_size
from rdiverse_verl.errors import ConfigError, DataError


def test_the_ratio_is_that_of_the_final_mix():
    assert replay_size(1400, 0.3, 10_000) == 600
    assert replay_size(7, 0.3, 10) == 3
    assert replay_size(10, 0.5, 100) == 10
    assert replay_size(10, 0.0, 100) == 0


def test_a_small_memory_is_taken_whole():
    assert replay_size(1400, 0.3, 41) == 41
    assert replay_size(1400, 0.3, 0) == 0


def test_a_mix_of_history_alone_is_refused():
    with pytest.raises(ConfigError, match="replay ratio"):
        replay_size(10, 1.0, 10)


def test_rows_are_distinct_reproducible_and_uniform():
    rows = replay_rows(50, 20, seed=7)
    assert len(set(rows.tolist())) == 20
    np.testing.assert_array_equal(rows, replay_rows(50, 20, seed=7))
    assert rows.tolist() != replay_rows(50, 20, seed=8).tolist()
    counts = np.bincount(np.concatenate([replay_rows(50, 20, seed=s) for s in range(2000)]), minlength=50)
    # each row is drawn with probability 0.4: 800 of 2,000 times, standard deviation 22
    assert abs(counts - 800).max() < 110


def test_more_rows_than_there_are_is_an_error():
    with pytest.raises(DataError, match="memory of 3"):
        replay_rows(3, 4, seed=0)
