"""R_total of one step's whole batch (R-Diverse, Eq. 3, 9 and 11)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rdiverse_verl.algorithms.challenger_reward import challenger_rewards, invalid_floor
from rdiverse_verl.algorithms.memory_penalty import memory_penalty, memory_penalty_bound
from rdiverse_verl.algorithms.repetition import repetition_penalty
from rdiverse_verl.algorithms.uncertainty import uncertainty_reward
from rdiverse_verl.errors import RdiverseError
from rdiverse_verl.skills import Saturation, saturation
from rdiverse_verl.verl_plugin.judged import Judged
from rdiverse_verl.verl_plugin.settings import Challenger


@dataclass(frozen=True)
class ScoredBatch:
    """The rewards of N rows and what they were made of; cluster -1 and penalties without meaning where not measured."""

    rows: Sequence[Judged]
    valid_N: np.ndarray
    measured_N: np.ndarray  # valid, with a vector
    r_unc_N: np.ndarray
    p_rep_N: np.ndarray
    p_max_N: np.ndarray
    p_mean_N: np.ndarray
    p_map_N: np.ndarray
    cluster_N: np.ndarray
    reward_N: np.ndarray

    def saturation(self, settings: Challenger) -> Saturation:
        """Whether the thresholds tell the rows apart at all."""
        return saturation(self.cluster_N, self.p_max_N, self.p_mean_N, settings.tau_max, settings.tau_mean)


def score_batch(rows: Sequence[Judged], settings: Challenger) -> ScoredBatch:
    """Score the rows of one step together.

    Raises:
        RdiverseError: more than ``max_failed_share`` of the valid questions have no vector.
    """
    valid_N = np.array([row.valid for row in rows])
    measured_N = valid_N & np.array([row.sam_ok for row in rows])
    _check_failures(rows, valid_N, measured_N, settings.max_failed_share)
    p_hat_N = np.array([row.p_hat for row in rows])
    r_unc_N = uncertainty_reward(p_hat_N, settings.uncertainty_scale)
    emb_N_D = _vectors(rows, measured_N)
    p_rep_N, cluster_N = repetition_penalty(emb_N_D, measured_N, settings.cluster_distance)
    p_max_N = np.array([row.p_max for row in rows])
    p_mean_N = np.array([row.p_mean for row in rows])
    p_map_N = memory_penalty(p_max_N, p_mean_N, settings.gamma, settings.tau_max, settings.tau_mean)
    reward_N = challenger_rewards(
        r_unc_N,
        p_rep_N,
        p_map_N,
        valid_N,
        measured_N,
        alpha=settings.alpha,
        beta=settings.beta,
        invalid_reward=invalid_floor(
            settings.alpha, settings.beta, settings.gamma, settings.tau_max, settings.tau_mean
        ),
        p_map_bound=memory_penalty_bound(settings.gamma, settings.tau_max, settings.tau_mean),
    )
    return ScoredBatch(rows, valid_N, measured_N, r_unc_N, p_rep_N, p_max_N, p_mean_N, p_map_N, cluster_N, reward_N)


def _vectors(rows: Sequence[Judged], measured_N: np.ndarray) -> np.ndarray:
    """emb_N_D with zeros where there is no vector; D is 1 if there is none at all."""
    dim = next((len(row.vector_D) for row in rows if row.vector_D is not None), 1)
    emb_N_D = np.zeros((len(rows), dim))
    for i, row in enumerate(rows):
        if measured_N[i]:
            emb_N_D[i] = row.vector_D
    return emb_N_D


def _check_failures(
    rows: Sequence[Judged], valid_N: np.ndarray, measured_N: np.ndarray, max_failed_share: float
) -> None:
    valid, failed = int(valid_N.sum()), int((valid_N & ~measured_N).sum())
    if failed <= max_failed_share * valid:
        return
    example = next(row for row in rows if row.valid and not row.sam_ok)
    raise RdiverseError(
        f"no program could be read for {failed} of {valid} valid questions, more than "
        f"rdiverse.challenger.max_failed_share={max_failed_share:g}; the first: "
        f"{example.sam_failure}, for {example.question[:200]!r}; check the Coder's model and its chat template"
    )
