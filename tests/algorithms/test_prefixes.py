import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdiverse_verl.algorithms.prefix_entropy import ContextEntropy, prefix_mean_entropies
from rdiverse_verl.algorithms.prefix_selection import select_prefix, smoothed_entropies
from rdiverse_verl.errors import ConfigError, DataError


def mean_entropies(entropy_T, length_N, row_P, cut_P, mask_T=None, **options):
    mask_T = np.ones(len(entropy_T), dtype=bool) if mask_T is None else mask_T
    return prefix_mean_entropies(np.array(entropy_T), mask_T, length_N, row_P, cut_P, **options)


def test_means_by_hand():
    """Two responses, 1 2 3 and 4 6: all prefixes at once (ExTra, Eq. 3)."""
    found = mean_entropies([1.0, 2, 3, 4, 6], [3, 2], [0, 0, 0, 1, 1], [1, 2, 3, 1, 2])
    np.testing.assert_allclose(found, [1, 1.5, 2, 4, 5], rtol=1e-9)


def test_only_the_policys_own_tokens_count():
    """A tool's answer in the middle is no part of the mean, and the mask need not be a prefix."""
    found = mean_entropies([1.0, 9, 9, 4], [4], [0, 0, 0], [1, 3, 4], np.array([1, 0, 0, 1], dtype=bool))
    np.testing.assert_allclose(found, [1, 1, 2.5])


def test_a_prefix_without_own_tokens_has_no_mean():
    found = mean_entropies([5.0, 1], [1, 1], [0, 1, 1], [1, 0, 1], np.array([0, 1], dtype=bool))
    np.testing.assert_array_equal(np.isnan(found), [True, True, False])


@pytest.mark.parametrize("broken", [np.nan, np.inf, -np.inf, 1e30])
def test_an_impossible_entropy_spoils_only_the_prefixes_that_hold_it(broken):
    found = mean_entropies([1.0, broken, 3, 4], [3, 1], [0, 0, 0, 1], [1, 2, 3, 1])
    np.testing.assert_array_equal(np.isnan(found), [False, True, True, False])
    np.testing.assert_allclose(found[[0, 3]], [1, 4])


def test_a_continued_prefix_counts_with_its_suffix():
    """Four tokens of mean 0.5 as context, then 2 and 3: (2 + 2 + 3) / 6."""
    context = ContextEntropy(np.array([2.0, 0]), np.array([4, 0]))
    found = mean_entropies([2.0, 3, 7], [2, 1], [0, 0, 1], [0, 2, 1], context=context)
    np.testing.assert_allclose(found, [0.5, 7 / 6, 7])


@given(st.lists(st.lists(st.floats(0, 12, width=32), max_size=20), min_size=1, max_size=6), st.randoms())
def test_agrees_with_slices_and_does_not_depend_on_the_other_responses(responses, random):
    row_P = [row for row, own in enumerate(responses) for _ in own]
    cut_P = [random.randint(1, len(responses[row])) for row in row_P]
    flat = np.array([entropy for own in responses for entropy in own], dtype=np.float32)
    found = mean_entropies(flat, [len(own) for own in responses], row_P, cut_P)
    by_hand = [np.mean(responses[row][:cut]) for row, cut in zip(row_P, cut_P, strict=True)]
    np.testing.assert_allclose(found, by_hand, atol=1e-6)
    for place, (row, cut) in enumerate(zip(row_P, cut_P, strict=True)):
        own = np.array(responses[row], dtype=np.float32)
        assert mean_entropies(own, [len(own)], [0], [cut])[0] == found[place]


@pytest.mark.parametrize(("length_N", "cut_P"), [([2, 2], [1]), ([2, 1], [3]), ([2, 1], [-1])])
def test_prefixes_and_lengths_must_fit(length_N, cut_P):
    with pytest.raises(DataError):
        mean_entropies([1.0, 2, 3], length_N, [0], cut_P)


def test_smoothing_by_hand(on_circle):
    """Cosine 1/2 between two prefixes and tau 1/2: weights e^2 and e^1."""
    near, far = np.exp(2), np.exp(1)
    expected = [(near * 1 + far * 3) / (near + far), (near * 3 + far * 1) / (near + far)]
    np.testing.assert_allclose(smoothed_entropies([1.0, 3.0], on_circle(0, 60), tau=0.5), expected, rtol=1e-7)


def test_smoothing_prefers_the_neighbourhood_over_a_lonely_low(on_circle):
    """The lowest raw entropy stands between high neighbours; a group of middling ones wins."""
    angles, mte_P = (0, 2, 1, 90, 91, 92), [2.0, 2.0, 0.9, 1.0, 1.0, 1.0]
    assert np.argmin(mte_P) == 2
    assert select_prefix(mte_P, [5] * 6, on_circle(*angles), tau=0.1) in (3, 4, 5)


def test_equal_vectors_fall_back_on_raw_entropy_then_length_then_order(unit_rows):
    same_P_D = np.repeat(unit_rows(1, 384), 4, axis=0)
    assert select_prefix([3.0, 1, 2, 1], [9, 8, 7, 6], same_P_D) == 3
    assert select_prefix([3.0, 1, 2, 1], [9, 8, 7, 9], same_P_D) == 1
    assert select_prefix([1.0] * 4, [5] * 4, same_P_D) == 0


def test_too_long_prefixes_smooth_but_are_not_chosen(on_circle):
    emb_P_D = on_circle(0, 60, 120)
    assert select_prefix([1.0, 2, 3], [50, 20, 30], emb_P_D) == 0
    assert select_prefix([1.0, 2, 3], [50, 20, 30], emb_P_D, max_length=40) == 1
    assert select_prefix([1.0, 2, 3], [50, 20, 30], emb_P_D, max_length=10) is None


def test_undefined_prefixes_take_no_part(on_circle):
    emb_P_D = on_circle(0, 60, 120)
    assert select_prefix([np.nan, 2, 3], [1, 1, 1], emb_P_D) == 1
    emb_P_D[1] = np.nan
    assert select_prefix([np.nan, 2, 3], [1, 1, 1], emb_P_D) == 2
    assert select_prefix([np.nan], [1], on_circle(0)) is None
    assert select_prefix([], [], np.empty((0, 2))) is None


def test_tau_must_be_positive(on_circle):
    with pytest.raises(ConfigError):
        select_prefix([1.0], [1], on_circle(0), tau=0)
