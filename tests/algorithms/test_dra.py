import numpy as np
import pytest

from rdiverse_verl.algorithms.dra import adjust_rewards, dra_weights
from rdiverse_verl.algorithms.group_norm import normalise_in_groups
from rdiverse_verl.algorithms.groups import group_by_key, group_by_uid
from rdiverse_verl.errors import ConfigError, DataError

KERNELS = ("clamp", "raw", "logdet")


def weights(emb_N_D, groups, has_vector_N=None, **options):
    has_vector_N = np.ones(len(emb_N_D), dtype=bool) if has_vector_N is None else has_vector_N
    return dra_weights(np.asarray(emb_N_D), groups, has_vector_N, **options)


def test_graph_cut_by_hand(on_circle):
    """Angles 0, 60, 180: cosines 1/2, -1/2 and -1 (DRA-GRPO, Eq. 5)."""
    emb_N_D, groups = on_circle(0, 60, 180), group_by_uid("aaa")
    np.testing.assert_allclose(weights(emb_N_D, groups, kernel="clamp"), [1 / 1.5, 1 / 1.5, 1], rtol=1e-7)
    raw = weights(emb_N_D, groups, kernel="raw", floor=1e-3)
    np.testing.assert_allclose(raw, [1 / 0.5, 1 / 1, 1 / 1e-3], rtol=1e-7)  # the last row sums to -1/2


def test_the_weight_is_one_over_one_plus_the_mutual_information(answers_of_prompts):
    """Eq. 3 and 4 pair by pair, with the diagonal told apart from the others."""
    keys, emb_N_D, _ = answers_of_prompts([6, 3])
    for kernel, part in (("clamp", lambda c: max(c, 0.0)), ("raw", float)):
        by_hand = []
        for i, key in enumerate(keys):
            others = [j for j, other in enumerate(keys) if other[:2] == key[:2] and j != i]
            by_hand.append(1 / (1 + sum(part(emb_N_D[i] @ emb_N_D[j]) for j in others)))
        np.testing.assert_allclose(weights(emb_N_D, group_by_key(keys), kernel=kernel), by_hand, rtol=1e-6)


def test_logdet_by_hand(on_circle):
    """Two answers of cosine 0.6: log 1 + log 1 - log(1 - 0.36) (Eq. 6)."""
    angle = np.degrees(np.arccos(0.6))
    expected = 1 / (1 - np.log(1 - 0.36))
    np.testing.assert_allclose(
        weights(on_circle(0, angle), group_by_uid("aa"), kernel="logdet"), [expected] * 2, rtol=1e-5
    )


def test_logdet_is_the_difference_of_determinants(answers_of_prompts):
    keys, emb_N_D, _ = answers_of_prompts([6])
    kernel = emb_N_D.astype(np.float64) @ emb_N_D.T
    by_hand = []
    for i in range(6):
        rest = np.delete(np.arange(6), i)
        mutual = np.linalg.slogdet(kernel[np.ix_(rest, rest)])[1] - np.linalg.slogdet(kernel)[1]
        by_hand.append(1 / (1 + mutual))
    np.testing.assert_allclose(weights(emb_N_D, group_by_key(keys), kernel="logdet"), by_hand, rtol=1e-4)


@pytest.mark.parametrize("kernel", KERNELS)
def test_sharding_order_and_other_prompts_change_nothing(answers_of_prompts, kernel):
    keys, emb_N_D, _ = answers_of_prompts([6, 4, 17, 6, 1], dim=384)
    whole = weights(emb_N_D, group_by_key(keys), kernel=kernel)
    order = np.random.default_rng(2).permutation(len(keys))
    shuffled = weights(emb_N_D[order], group_by_key([keys[row] for row in order]), kernel=kernel)
    np.testing.assert_array_equal(shuffled, whole[order])
    for prompt in range(5):
        own = [row for row, key in enumerate(keys) if key.startswith(f"p{prompt}_")]
        alone = weights(emb_N_D[own], group_by_key([keys[row] for row in own]), kernel=kernel)
        np.testing.assert_allclose(alone, whole[own], rtol=0 if kernel != "logdet" else 1e-9)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("size", [2, 6, 32])
def test_equal_answers_with_equal_rewards_have_no_advantage(unit_rows, kernel, size):
    groups = group_by_uid(["a"] * size)
    weight_N = weights(np.repeat(unit_rows(1, 384), size, axis=0), groups, kernel=kernel)
    if kernel != "logdet":
        np.testing.assert_allclose(weight_N, 1 / size, rtol=1e-6)
    adjusted_N = adjust_rewards(np.full(size, 2.7), weight_N)
    assert normalise_in_groups(adjusted_N, groups).tolist() == [0.0] * size


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_repeated_answer_counts_less(on_circle, kernel):
    weight_N = weights(on_circle(0, 5, 80), group_by_uid("aaa"), kernel=kernel)
    assert weight_N[2] > max(weight_N[:2])


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_group_of_one_keeps_its_reward(on_circle, kernel):
    np.testing.assert_allclose(weights(on_circle(30), group_by_uid("a"), kernel=kernel), [1], rtol=1e-5)


def test_rescaled_weights(on_circle):
    emb_N_D, groups = on_circle(0, 60, 180, 5), group_by_uid("aaab")
    np.testing.assert_allclose(weights(emb_N_D, groups, rescale="mean1"), [6 / 7, 6 / 7, 9 / 7, 1], rtol=1e-7)
    np.testing.assert_allclose(weights(emb_N_D, groups, rescale="G"), [2, 2, 3, 1], rtol=1e-7)


@pytest.mark.parametrize("kernel", KERNELS)
def test_rows_without_a_vector_take_the_mean_and_touch_nobody(on_circle, kernel):
    emb_N_D = np.concatenate([on_circle(0, 60), np.full((1, 2), np.nan), np.zeros((2, 2))])
    weight_N = weights(emb_N_D, group_by_uid("aaabb"), np.array([1, 1, 0, 0, 0], dtype=bool), kernel=kernel)
    pair_N = weights(on_circle(0, 60), group_by_uid("aa"), kernel=kernel)
    np.testing.assert_allclose(weight_N, [*pair_N, pair_N.mean(), 1 / 2, 1 / 2])


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("broken", [np.nan, np.inf, 0.0, 2.0])
def test_a_broken_vector_in_use_is_refused(unit_rows, kernel, broken):
    emb_N_D = unit_rows(4)
    emb_N_D[2] *= broken
    with pytest.raises(DataError, match="has length"):
        weights(emb_N_D, group_by_uid("aabb"), kernel=kernel)


def test_padding_has_no_weight_and_no_influence(on_circle):
    groups = group_by_key(["a_0_0", "x", "a_1_0"], [False, True, False])
    np.testing.assert_allclose(weights(on_circle(0, 0, 90), groups), [1, 0, 1])


def test_negative_rewards():
    reward_N, weight_N = [-1.0, 2.0, 0.0], np.array([0.25, 0.5, 1])
    assert adjust_rewards(reward_N, weight_N).tolist() == [-0.25, 1, 0]
    assert adjust_rewards(reward_N, weight_N, "positive_part").tolist() == [-1, 1, 0]


def test_under_the_papers_formula_a_redundant_wrong_answer_ends_above_a_diverse_one(on_circle):
    weight_N = weights(on_circle(0, 1, 80), group_by_uid("aaa"))
    adjusted_N = adjust_rewards(np.full(3, -1.0), weight_N)
    assert adjusted_N[0] > adjusted_N[2]
    assert len(set(adjust_rewards(np.full(3, -1.0), weight_N, "positive_part"))) == 1


def test_unknown_options_and_shapes_are_refused(on_circle):
    emb_N_D, groups = on_circle(0, 60), group_by_uid("aa")
    for options in ({"kernel": "rbf"}, {"rescale": "max"}, {"floor": 0.0}):
        with pytest.raises(ConfigError):
            weights(emb_N_D, groups, **options)
    with pytest.raises(ConfigError, match="positive_part"):
        adjust_rewards([1], np.ones(1), "abs")
    with pytest.raises(DataError, match="a batch of 2 rows"):
        weights(on_circle(0, 60, 90), groups)
