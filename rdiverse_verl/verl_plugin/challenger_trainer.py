"""Challenger training: verl's synchronous GRPO on R_total, which needs the whole batch (R-Diverse, Eq. 11)."""

import logging
from typing import Any

import torch
import transfer_queue as tq
from omegaconf import DictConfig
from tensordict import TensorDict
from transfer_queue import KVBatchMeta
from verl.trainer.ppo.v1.trainer_base import register_trainer

from rdiverse_verl.errors import ConfigError, RdiverseError
from rdiverse_verl.verl_plugin.challenger_batch import ScoredBatch, score_batch
from rdiverse_verl.verl_plugin.challenger_metrics import challenger_metrics
from rdiverse_verl.verl_plugin.deterministic import DeterministicTrainer, reward_infos
from rdiverse_verl.verl_plugin.judged import Judged
from rdiverse_verl.verl_plugin.settings import read_challenger

logger = logging.getLogger(__name__)

REWARD_MODULE = "rdiverse_verl.verl_plugin.challenger_reward"
PARTS = ("r_unc", "p_rep", "p_map", "cluster", "reward")


@register_trainer("rdiverse_challenger")
class ChallengerTrainer(DeterministicTrainer):
    """``trainer.v1.trainer_mode=rdiverse_challenger``, with the reward manager of the same name."""

    def __init__(self, config: DictConfig) -> None:
        _refuse_unfit(config)
        self.challenger = read_challenger(config)
        super().__init__(config)

    def _on_batch_complete(self, batch: KVBatchMeta, metrics: dict[str, Any]) -> None:
        rows = [Judged(**info) for info in reward_infos(batch)]
        failure = next((row.failure for row in rows if row.failure), None)
        if failure:
            raise RdiverseError(f"step {self.global_steps}: {failure}")
        scored = score_batch(rows, self.challenger)
        _write_rewards(batch, scored)
        metrics.update(challenger_metrics(scored, self.challenger))
        for warning in scored.saturation(self.challenger).warnings():
            logger.warning("step %d: %s", self.global_steps, warning)
        self.dump_columns = dict(zip(batch.keys, _records(scored), strict=True))


def _refuse_unfit(config: DictConfig) -> None:
    if config.reward.reward_manager.name != "rdiverse_challenger":
        raise ConfigError(
            "trainer.v1.trainer_mode=rdiverse_challenger needs reward.reward_manager.name=rdiverse_challenger, "
            f"not {config.reward.reward_manager.name!r}"
        )
    served = config.reward.reward_model
    if not (served.enable and served.enable_resource_pool and served.model_path):
        raise ConfigError(
            "the frozen Solver is not served: set reward.reward_model.enable=True, "
            "reward.reward_model.enable_resource_pool=True and reward.reward_model.model_path"
        )
    if config.reward.custom_reward_function.path is None:
        raise ConfigError(
            "with a served model verl asks the reward manager only if a reward function is named too: set "
            f"reward.custom_reward_function.path=pkg://{REWARD_MODULE} and .name=ChallengerRewardManager"
        )
    if config.trainer.test_freq > 0 or config.trainer.get("val_before_train", True):
        raise ConfigError(
            "Challenger training has nothing to validate: set trainer.val_before_train=False and trainer.test_freq=-1"
        )


def _write_rewards(batch: KVBatchMeta, scored: ScoredBatch) -> None:
    """R_total on the last token of each response, where verl's metrics and estimators look for it."""
    rewards = [torch.zeros(tag["response_len"]) for tag in batch.tags]
    for row, reward in zip(rewards, scored.reward_N, strict=True):
        row[-1] = reward
    fields = {"rm_scores": torch.nested.as_nested_tensor(rewards, layout=torch.jagged)}
    tq.kv_batch_put(keys=batch.keys, partition_id=batch.partition_id, fields=TensorDict(fields, batch_size=len(batch)))


def _records(scored: ScoredBatch) -> list[dict[str, Any]]:
    parts = {name: getattr(scored, f"{name}_N").tolist() for name in PARTS}
    return [row.record() | {name: parts[name][i] for name in PARTS} for i, row in enumerate(scored.rows)]
