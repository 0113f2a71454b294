"""Names for ``algorithm.adv_estimator``: DRA-GRPO, DRA-DR. GRPO, ExTra, and DRA with ExTra."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from omegaconf import DictConfig
from verl.trainer.ppo.core_algos import register_adv_est

from rdiverse_verl.algorithms.dra import adjust_rewards
from rdiverse_verl.algorithms.novelty_bonus import advantages_with_novelty
from rdiverse_verl.verl_plugin.group_context import current_context
from rdiverse_verl.verl_plugin.step_methods import ESTIMATORS, normalises_by_std

Estimate = tuple[torch.Tensor, torch.Tensor]


def _estimator(name: str) -> Callable[..., Estimate]:
    def estimate(
        token_level_rewards: torch.Tensor,
        response_mask: torch.Tensor,
        config: DictConfig,
        index: Sequence[str],
        **_: Any,
    ) -> Estimate:
        """Advantages, twice, as verl wants advantages and returns; sessions are reduced to their last output."""
        context = current_context(name, index)
        reward_N = token_level_rewards.sum(dim=-1).double().numpy()
        advantage_N = advantages_with_novelty(
            adjust_rewards(reward_N, context.weight_N, context.dra.negative),
            context.novelty_N,
            context.groups,
            gamma=context.extra.gamma,
            place=context.extra.place,
            by_std=normalises_by_std(name, config),
        )
        advantage_N_T = torch.from_numpy(advantage_N).float().unsqueeze(-1) * response_mask
        return advantage_N_T, advantage_N_T

    return estimate


for _name in ESTIMATORS:
    register_adv_est(_name)(_estimator(_name))
