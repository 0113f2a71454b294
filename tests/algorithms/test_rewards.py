import itertools

import numpy as np
import pytest

from rdiverse_verl.algorithms.challenger_reward import challenger_rewards, invalid_floor
from rdiverse_verl.algorithms.memory_penalty import memory_penalty, memory_penalty_bound
from rdiverse_verl.algorithms.uncertainty import uncertainty_reward
from rdiverse_verl.errors import ConfigError, DataError

PAPER = {"gamma": 0.5, "tau_max": 0.5, "tau_mean": 0.25}


def test_uncertainty_peaks_where_half_the_samples_agree():
    p_hat_N = [0.0, 0.1, 0.5, 0.6, 0.8, 1.0]
    np.testing.assert_allclose(uncertainty_reward(p_hat_N), [0, 0.2, 1, 0.8, 0.4, 0], atol=1e-12)
    np.testing.assert_allclose(uncertainty_reward(p_hat_N, "rzero_code"), [0, 0.1, 0.5, 0.4, 0.2, 0], atol=1e-12)


@pytest.mark.parametrize("bad", [1.1, -0.1, float("nan")])
def test_a_share_outside_its_range_is_refused_with_its_row(bad):
    with pytest.raises(DataError, match="row 1"):
        uncertainty_reward([0.5, bad])


def test_an_unknown_scale_names_the_known_ones():
    with pytest.raises(ConfigError, match="paper, rzero_code"):
        uncertainty_reward([0.5], "half")


def test_memory_penalty_by_hand():
    # 0.5 * [0.9 - 0.5]+ + 0.5 * [0.45 - 0.25]+ = 0.2 + 0.1, then each hinge alone, then neither
    p_map_N = memory_penalty([0.9, 0.9, 0.4, 0.5], [0.45, 0.1, 0.45, 0.25], **PAPER)
    np.testing.assert_allclose(p_map_N, [0.3, 0.2, 0.1, 0.0], atol=1e-12)


def test_memory_penalty_never_exceeds_its_bound():
    assert memory_penalty_bound(**PAPER) == 0.625
    for gamma, tau_max, tau_mean in itertools.product((0, 0.3, 1), (-0.5, 0.5, 1.5), (-1, 0.25, 1)):
        reached = memory_penalty([1.0], [1.0], gamma, tau_max, tau_mean)[0]
        assert reached == pytest.approx(memory_penalty_bound(gamma, tau_max, tau_mean))


def test_the_papers_settings_put_invalid_output_at_minus_two():
    assert invalid_floor(1.0, 1.0, **PAPER) == -2.0


@pytest.mark.parametrize(("alpha", "beta"), [(1, 1), (0, 0), (2.5, 0.1)])
@pytest.mark.parametrize("taus", [(0.5, 0.25), (-0.4, -0.9), (1.5, 1.2)])
def test_no_valid_output_falls_to_the_invalid_floor(alpha, beta, taus):
    gamma, (tau_max, tau_mean) = 0.3, taus
    floor = invalid_floor(alpha, beta, gamma, tau_max, tau_mean, margin=0.01)
    worst = challenger_rewards(
        [0.0],
        [1.0],
        memory_penalty([1.0], [1.0], gamma, tau_max, tau_mean),
        [True],
        [True],
        alpha=alpha,
        beta=beta,
        invalid_reward=floor,
        p_map_bound=memory_penalty_bound(gamma, tau_max, tau_mean),
    )
    assert worst[0] > floor


def reward(r_unc, p_rep, p_map, valid, sam_ok):
    return challenger_rewards(
        r_unc, p_rep, p_map, valid, sam_ok, alpha=1.0, beta=2.0, invalid_reward=-3.0, p_map_bound=0.625
    )


def test_challenger_reward_by_hand():
    nan = float("nan")
    reward_N = reward(
        r_unc=[0.8, 1.0, nan, 0.6],
        p_rep=[0.25, 0.5, nan, nan],
        p_map=[0.1, 0.05, nan, nan],
        valid=[True, True, False, True],
        sam_ok=[True, True, False, False],
    )
    # the last row could not be measured: it takes P_rep 0.5 and P_MAP 0.1, the largest of the batch
    np.testing.assert_allclose(reward_N, [0.35, 0.4, -3.0, -0.1], atol=1e-12)


def test_a_batch_in_which_no_program_was_had_takes_the_upper_bounds():
    np.testing.assert_allclose(reward([1.0, 0.5], [0, 0], [0, 0], [True, True], [False, False]), [-1.25, -1.75])


def test_penalties_of_invalid_rows_do_not_reach_unmeasured_ones():
    reward_N = reward([1, 1, 1], [0.9, 0.2, 0], [0.6, 0.1, 0], [False, True, True], [True, True, False])
    np.testing.assert_allclose(reward_N, [-3.0, 0.6, 0.6])


def test_at_equal_uncertainty_an_unmeasured_row_earns_no_more_than_any_measured_one():
    rng = np.random.default_rng(3)
    for _ in range(200):
        p_rep, p_map = rng.random((2, 6))
        sam_ok_N = np.arange(6) != rng.integers(6)
        reward_N = reward([0.7] * 6, p_rep, p_map, [True] * 6, sam_ok_N)
        assert reward_N[~sam_ok_N].max() <= reward_N[sam_ok_N].min()


def test_a_valid_row_without_uncertainty_is_an_error():
    with pytest.raises(DataError, match="row 1"):
        reward([1.0, float("nan")], [0, 0], [0, 0], [True, True], [True, True])


def test_an_empty_batch_has_no_rewards():
    assert reward([], [], [], [], []).shape == (0,)
