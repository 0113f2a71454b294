import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import AgglomerativeClustering

from rdiverse_verl.algorithms.repetition import repetition_penalty, skill_clusters
from rdiverse_verl.errors import ConfigError, DataError


def partition(labels_N, names):
    return {frozenset(name for name, of in zip(names, labels_N, strict=True) if of == label) for label in labels_N}


def test_clusters_on_a_circle(on_circle):
    # cos 10 = 0.985, cos 60 = 0.5: the distance 0.5 is not below 0.5
    assert skill_clusters(on_circle(0, 90, 10, 95, 180), 0.5).tolist() == [0, 1, 0, 1, 2]
    exactly_half = np.array([[1.0, 0.0, 0.0, 0.0], [0.5, 0.5, 0.5, 0.5]])
    assert skill_clusters(exactly_half, 0.5).tolist() == [0, 1]
    assert skill_clusters(exactly_half, 0.5001).tolist() == [0, 0]


def test_linkage_is_the_average_one(on_circle):
    # 0 and 40 merge (distance 0.234); 80 is 0.234 from 40 and 0.826 from 0: on average 0.530, apart at 0.5
    angles = on_circle(0, 40, 80.5)
    assert len(set(skill_clusters(angles, 0.5))) == 2
    assert len(set(skill_clusters(angles, 0.54))) == 1


@pytest.mark.parametrize("n", [0, 1])
def test_tiny_batches(n):
    assert skill_clusters(np.eye(1, 4)[:n].reshape(n, 4), 0.5).tolist() == list(range(n))


def test_equal_rows_share_a_cluster_at_any_threshold(unit_rows):
    emb_N_D = np.repeat(unit_rows(3, 384), 5, axis=0)
    assert skill_clusters(emb_N_D, 1e-6).tolist() == [0] * 5 + [1] * 5 + [2] * 5


def test_agrees_with_scikit_learn(unit_rows):
    emb_N_D = unit_rows(80, 4, seed=2)
    distance = 1 - emb_N_D.astype(np.float64) @ emb_N_D.T.astype(np.float64)
    reference = AgglomerativeClustering(
        n_clusters=None, metric="precomputed", linkage="average", distance_threshold=0.4
    ).fit_predict(distance)
    assert partition(skill_clusters(emb_N_D, 0.4), range(80)) == partition(reference, range(80))


@settings(max_examples=60, deadline=None)
@given(
    steps=st.lists(st.integers(0, 35), min_size=1, max_size=14), seed=st.integers(0, 99), threshold=st.floats(0.05, 1.5)
)
def test_row_order_never_changes_the_partition(steps, seed, threshold):
    # multiples of 10 degrees give many exact ties, which a plain clustering breaks by position
    angle_N = np.radians(np.array(steps) * 10.0)
    emb_N_D = np.stack([np.cos(angle_N), np.sin(angle_N)], axis=1)
    order = np.random.default_rng(seed).permutation(len(steps))
    shuffled = partition(skill_clusters(emb_N_D[order], threshold), order)
    assert shuffled == partition(skill_clusters(emb_N_D, threshold), range(len(steps)))


def test_penalty_counts_the_whole_batch(on_circle):
    emb_N_D = on_circle(0, 5, 90, 2, 0)
    present_N = [True, True, True, False, False]
    emb_N_D[3:] = np.nan
    p_rep_N, labels_N = repetition_penalty(emb_N_D, present_N, 0.5)
    np.testing.assert_allclose(p_rep_N, [0.4, 0.4, 0.2, 0, 0])
    assert labels_N.tolist() == [0, 0, 1, -1, -1]


def test_a_batch_of_one_repeats_itself_entirely():
    assert repetition_penalty(np.array([[1.0, 0.0]]), [True], 0.5)[0].tolist() == [1.0]


@pytest.mark.parametrize("n", [0, 3])
def test_a_batch_without_vectors(n):
    p_rep_N, labels_N = repetition_penalty(np.zeros((n, 4)), [False] * n, 0.5)
    assert p_rep_N.tolist() == [0.0] * n
    assert labels_N.tolist() == [-1] * n


def test_bad_input_is_refused(on_circle):
    with pytest.raises(ConfigError, match="distance_threshold"):
        skill_clusters(on_circle(0, 1), 0)
    with pytest.raises(DataError, match="row 1 has length 2"):
        skill_clusters(on_circle(0, 1) * [[1], [2]], 0.5)
    with pytest.raises(DataError, match="2 vectors but 1"):
        repetition_penalty(on_circle(0, 1), [True], 0.5)
