"""Estimators by their verl names, against values worked by hand."""

import numpy as np
import pytest
import torch
from omegaconf import OmegaConf
from verl.trainer.ppo.core_algos import agg_loss, get_adv_estimator_fn

from rdiverse_verl.algorithms.groups import group_by_key
from rdiverse_verl.errors import ConfigError, StateError
from rdiverse_verl.verl_plugin.group_context import GroupContext, group_context
from rdiverse_verl.verl_plugin.settings import Dra, Extra

# two groups out of order, one padding row that looks like a hard prompt's
KEYS = ["a_0_0", "b_0_0", "pad_0_0", "a_1_0", "b_1_0", "a_2_0"]
REWARD = [1.0, 0.3, 0.0, 0.0, 0.3, 1.0]
WEIGHT = [0.5, 0.6, 0.0, 0.4, 0.6, 0.25]
NOVELTY = [0.25, 0.0, 0.0, 0.0, 0.0, 1.0]


def estimate(name, rows=range(6), keys=KEYS, weight=WEIGHT, novelty=NOVELTY, reward=REWARD, extra=None, **algorithm):
    rows = list(rows)
    uids = [keys[row].split("_")[0] for row in rows]
    groups = group_by_key([keys[row] for row in rows], [uid == "pad" for uid in uids])
    context = GroupContext(
        uids, groups, np.array(weight)[rows], np.array(novelty)[rows], Dra(), extra or Extra(gamma=2.0)
    )
    reward_N_T = torch.zeros(len(rows), 3)
    reward_N_T[:, 1] = torch.tensor(reward)[rows]
    mask_N_T = torch.tensor([[1, 1, 0] if uid != "pad" else [0, 0, 0] for uid in uids])
    with group_context(context):
        advantages, returns = get_adv_estimator_fn(name)(
            token_level_rewards=reward_N_T,
            response_mask=mask_N_T,
            config=OmegaConf.create(algorithm),
            index=np.array(uids, dtype=object),
        )
    assert torch.equal(advantages, returns)
    assert (advantages[:, 0] == advantages[:, 1]).all()
    assert not advantages[:, 2].any()
    return advantages[:, 0].numpy()


def test_extra_adds_novelty_after_normalisation():
    # group a: rewards 1, 0, 1: mean 2/3, unbiased std 1/sqrt(3); group b is constant: exactly 0
    high, low = 3**-0.5, -2 * 3**-0.5
    got = estimate("extra_grpo", weight=[1.0] * 6)
    np.testing.assert_allclose(got, [high + 0.5, 0, 0, low, 0, high + 2.0], atol=1e-5)
    assert got[1] == got[2] == got[4] == 0


def test_dra_weighs_the_rewards_before_the_group_is_compared():
    adjusted = np.array([0.5, 0.0, 0.25])  # of group a
    expected = (adjusted - 0.25) / (0.25 + 1e-6)
    np.testing.assert_allclose(estimate("dra_grpo", novelty=[0.0] * 6)[[0, 3, 5]], expected, atol=1e-6)
    np.testing.assert_allclose(estimate("dra_dr_grpo", novelty=[0.0] * 6)[[0, 3, 5]], adjusted - 0.25, atol=1e-7)


def test_dr_grpo_also_by_verls_own_switch():
    plain = estimate("dra_grpo", novelty=[0.0] * 6, norm_adv_by_std_in_grpo=False)
    np.testing.assert_array_equal(plain, estimate("dra_dr_grpo", novelty=[0.0] * 6))


def test_the_combination_is_both():
    both = estimate("dra_extra_grpo")
    np.testing.assert_allclose(both, estimate("dra_grpo", novelty=[0.0] * 6) + 2 * np.array(NOVELTY), atol=1e-6)


@pytest.mark.parametrize("name", ["dra_grpo", "dra_dr_grpo", "extra_grpo", "dra_extra_grpo"])
def test_row_order_and_other_prompts_change_nothing(name):
    straight = estimate(name)
    order = [5, 2, 4, 0, 3, 1]
    np.testing.assert_array_equal(estimate(name, rows=order), straight[order])
    alone = [0, 3, 5]
    np.testing.assert_array_equal(estimate(name, rows=alone), straight[alone])


def test_a_session_of_several_outputs_counts_once_and_gives_all_of_them_its_advantage():
    keys = ["a_0_0", "a_0_1", "a_1_0"]
    got = estimate("extra_grpo", range(3), keys, [1.0] * 3, [0.0] * 3, reward=[0.0, 1.0, 0.0])
    np.testing.assert_allclose(got, [2**-0.5, 2**-0.5, -(2**-0.5)], atol=1e-5)


def test_a_group_of_one_row_learns_nothing_from_its_reward():
    assert estimate("extra_grpo", [0], weight=[1.0] * 6, novelty=[0.0] * 6) == [0]


def test_the_ablation_adds_novelty_before_normalisation():
    got = estimate("extra_grpo", weight=[1.0] * 6, extra=Extra(gamma=1.0, place="before"))
    shaped = np.array([1.25, 0.0, 2.0])
    expected = (shaped - shaped.mean()) / (shaped.std(ddof=1) + 1e-6)
    np.testing.assert_allclose(got[[0, 3, 5]], expected, atol=1e-6)


def call(index):
    shape = (len(index), 1)
    return get_adv_estimator_fn("dra_grpo")(
        token_level_rewards=torch.zeros(shape), response_mask=torch.ones(shape), config=OmegaConf.create(), index=index
    )


def test_under_another_trainer_it_says_which_to_take():
    with pytest.raises(ConfigError, match="trainer_mode to rdiverse_sync"):
        call(["a"])


def test_rows_of_another_batch_are_refused():
    groups = group_by_key(["a_0_0"])
    with (
        group_context(GroupContext(["a"], groups, np.ones(1), np.zeros(1), Dra(), Extra())),
        pytest.raises(StateError, match="not those of the step's batch"),
    ):
        call(["b"])


@pytest.mark.parametrize("factor", [64, None])
def test_dr_grpos_loss_needs_a_constant_length_to_be_one_number_however_it_is_split(factor):
    lengths = [3, 9, 5, 12]
    loss_N_T = torch.rand(4, 12, dtype=torch.float64)
    mask_N_T = torch.tensor([[place < length for place in range(12)] for length in lengths]).double()

    def loss(*splits):
        parts = []
        for rows in splits:
            longest = max(lengths[row] for row in rows)  # verl pads a micro-batch to its own longest response
            shape = (loss_N_T[rows][:, :longest], mask_N_T[rows][:, :longest])
            parts.append(agg_loss(*shape, "seq-mean-token-sum-norm", global_batch_size=4, loss_scale_factor=factor))
        return float(sum(parts))

    whole, split = loss([0, 1, 2, 3]), loss([0, 1], [2], [3])
    assert (whole == pytest.approx(split)) == (factor is not None)
    if factor:
        assert whole == pytest.approx(float((loss_N_T * mask_N_T).sum()) / (4 * factor))
