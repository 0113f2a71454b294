import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from verl.trainer.ppo.core_algos import compute_grpo_outcome_advantage

from rdiverse_verl.algorithms.group_norm import normalise_in_groups
from rdiverse_verl.algorithms.groups import group_by_key, group_by_uid
from rdiverse_verl.errors import DataError


def test_closed_form_by_hand():
    """Rewards 1, 0, 0: mean 1/3, unbiased variance (4/9 + 1/9 + 1/9) / 2 = 1/3."""
    advantage = normalise_in_groups([1, 0, 0], group_by_uid("aaa"), eps=0)
    np.testing.assert_allclose(advantage, np.array([2 / 3, -1 / 3, -1 / 3]) * np.sqrt(3), rtol=1e-14)
    centred = normalise_in_groups([1, 0, 0], group_by_uid("aaa"), by_std=False)
    np.testing.assert_allclose(centred, [2 / 3, -1 / 3, -1 / 3], rtol=1e-14)


def test_eps_is_added_to_the_std():
    """Rewards 1 and 0: std sqrt(1/2)."""
    advantage = normalise_in_groups([1, 0], group_by_uid("aa"), eps=0.25)
    np.testing.assert_allclose(advantage, np.array([0.5, -0.5]) / (np.sqrt(0.5) + 0.25), rtol=1e-14)


@given(st.floats(-1e3, 1e3), st.integers(1, 40), st.booleans())
def test_equal_rewards_give_exactly_nothing(reward, size, by_std):
    """ExTra, Lemma A.1, in floating point: the mean of six times 0.3 is not 0.3."""
    advantage = normalise_in_groups(np.full(size, reward), group_by_uid(["a"] * size), by_std=by_std)
    assert advantage.tolist() == [0.0] * size


@pytest.mark.parametrize("reward", [0.1, 0.3])
def test_the_mean_of_six_equal_rewards_need_not_equal_them(reward):
    assert (sum([0.1] * 6) / 6, sum([0.3] * 6) / 6) != (0.1, 0.3)
    assert normalise_in_groups(np.full(6, reward), group_by_uid("aaaaaa")).tolist() == [0] * 6


def test_a_tolerance_silences_groups_that_barely_differ():
    rewards, groups = [1.0, 1.001, 0.999, 1.0], group_by_uid("aaaa")
    assert normalise_in_groups(rewards, groups).any()
    assert not normalise_in_groups(rewards, groups, std_tolerance=0.01).any()


def test_groups_of_one_and_padding_rows_get_nothing():
    keys = ["lonely_0_0", "a_0_0", "pad_0_0", "a_1_0", "pad_0_1"]
    advantage = normalise_in_groups([5, 1, 9, 0, 7], group_by_key(keys, [False, False, True, False, True]))
    assert advantage[[0, 2, 4]].tolist() == [0, 0, 0]
    assert advantage[1] == -advantage[3] > 0


def test_a_session_of_many_outputs_counts_once():
    once = normalise_in_groups([1, 0, 0], group_by_key(["a_0_0", "a_1_0", "a_2_0"]))
    thrice = normalise_in_groups([77, 0, 1, 0, 55], group_by_key(["a_0_0", "a_1_0", "a_0_2", "a_2_0", "a_0_1"]))
    np.testing.assert_array_equal(thrice, once[[0, 1, 0, 2, 0]])


def test_agrees_with_verl_where_verl_is_right():
    rng = np.random.default_rng(3)
    uids = rng.permutation(np.repeat([f"u{i}" for i in range(20)], rng.integers(2, 9, size=20)))
    reward_N = rng.normal(size=len(uids)).astype(np.float32)
    mask = torch.ones(len(uids), 1)
    theirs, _ = compute_grpo_outcome_advantage(torch.tensor(reward_N)[:, None], mask, uids)
    np.testing.assert_allclose(normalise_in_groups(reward_N, group_by_uid(uids)), theirs[:, 0], atol=2e-6)


def test_row_order_and_other_prompts_change_nothing(answers_of_prompts):
    keys, _, reward_N = answers_of_prompts([6, 2, 32, 1, 5])
    reward_N = reward_N + np.random.default_rng(1).normal(size=len(keys))
    whole = normalise_in_groups(reward_N, group_by_key(keys))
    order = np.random.default_rng(2).permutation(len(keys))
    shuffled = normalise_in_groups(reward_N[order], group_by_key([keys[row] for row in order]))
    np.testing.assert_array_equal(shuffled, whole[order])
    for prompt in range(5):
        own = [row for row, key in enumerate(keys) if key.startswith(f"p{prompt}_")]
        alone = normalise_in_groups(reward_N[own], group_by_key([keys[row] for row in own]))
        np.testing.assert_array_equal(alone, whole[own])


@pytest.mark.parametrize("reward", [np.nan, np.inf])
def test_a_reward_that_is_not_finite_is_refused_unless_it_is_padding(reward):
    with pytest.raises(DataError, match="row 1 is not finite"):
        normalise_in_groups([0, reward, 1], group_by_uid("aba"))
    assert normalise_in_groups([0, reward, 1], group_by_uid("aba", [False, True, False]))[1] == 0
