"""R_total of a whole batch against values worked by hand (R-Diverse, Eq. 2, 3, 9 and 11)."""

import numpy as np
import pytest

from rdiverse_verl.errors import RdiverseError
from rdiverse_verl.verl_plugin.challenger_batch import score_batch
from rdiverse_verl.verl_plugin.challenger_metrics import challenger_metrics
from rdiverse_verl.verl_plugin.judged import Judged
from rdiverse_verl.verl_plugin.settings import Challenger

SETTINGS = Challenger(coder={"url": "http://127.0.0.1:1", "model": "coder"}, max_failed_share=0.5)
X, Y = np.array([1, 0], dtype=np.float32), np.array([0, 1], dtype=np.float32)


def question(p_hat: float, vector_D: np.ndarray | None, **more) -> Judged:
    return Judged(question="q", label="3", p_hat=p_hat, vector_D=vector_D, memory_size=4, **more)


# Four of five rows are valid, three of them measured: two with skill X, one with skill Y.
ROWS = [
    question(0.5, X, p_max=0.9, p_mean=0.45),  # R_unc 1, P_rep 2/5, P_MAP .5 * .4 + .5 * .2 = .3
    question(0.7, X, p_max=0.5, p_mean=0.25),  # R_unc .6, P_rep 2/5, P_MAP 0 at both thresholds
    question(1.0, Y, p_max=0.6, p_mean=-0.1),  # R_unc 0, P_rep 1/5, P_MAP .5 * .1 = .05
    question(0.5, None, sam_failure="no single solver"),  # R_unc 1, the batch's worst penalties: 2/5 and .3
    Judged(invalid="no box"),  # below every valid row: -(1 + .625) - .375
]
REWARDS = [0.3, 0.2, -0.25, 0.3, -2.0]


def test_rewards_by_hand():
    assert score_batch(ROWS, SETTINGS).reward_N == pytest.approx(REWARDS, abs=1e-7)


def test_the_order_of_the_rows_changes_nothing():
    order = [4, 2, 0, 3, 1]
    rewards = score_batch([ROWS[i] for i in order], SETTINGS).reward_N
    assert rewards == pytest.approx([REWARDS[i] for i in order], abs=1e-7)


def test_a_batch_without_one_valid_row_earns_the_floor():
    batch = score_batch([Judged(invalid="no box"), Judged(invalid="empty box")], SETTINGS)
    assert batch.reward_N.tolist() == [-2.0, -2.0]
    metrics = challenger_metrics(batch, SETTINGS)
    assert metrics["rdiverse/valid_rate"] == 0
    assert metrics["rdiverse/invalid/no_box"] == metrics["rdiverse/invalid/empty_box"] == 0.5
    assert "rdiverse/p_hat" not in metrics


def test_too_many_failures_of_the_coder_end_the_run():
    rows = [question(0.5, X), *[question(0.5, None, sam_failure="empty reply")] * 2]
    with pytest.raises(RdiverseError, match=r"2 of 3 valid questions.*empty reply"):
        score_batch(rows, SETTINGS)


def test_metrics_by_hand():
    metrics = challenger_metrics(score_batch(ROWS, SETTINGS), SETTINGS)
    assert metrics == pytest.approx(
        {
            "rdiverse/reward": sum(REWARDS) / 5,
            "rdiverse/valid_rate": 0.8,
            "rdiverse/memory_size": 4,
            "rdiverse/distinct_questions": 1,
            "rdiverse/invalid/no_box": 0.2,
            "rdiverse/p_hat": 0.675,
            "rdiverse/r_unc": 0.65,
            "rdiverse/unlabelled_rate": 0,
            "rdiverse/sam_failure_rate": 0.25,
            "rdiverse/clusters": 2,
            "rdiverse/largest_cluster_share": 2 / 3,
            "rdiverse/p_rep": 1 / 3,
            "rdiverse/p_map": 0.35 / 3,
            "rdiverse/p_max": 2 / 3,
            "rdiverse/p_mean": 0.2,
            "rdiverse/above_tau_max": 2 / 3,
            "rdiverse/above_tau_mean": 1 / 3,
        },
        abs=1e-7,
    )
