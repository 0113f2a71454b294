"""Solver training: verl's synchronous GRPO on the pseudo-labels, the same twice from one seed."""

from typing import Any

import numpy as np
from transfer_queue import KVBatchMeta
from verl.trainer.ppo.v1.trainer_base import register_trainer

from rdiverse_verl.errors import ConfigError
from rdiverse_verl.verl_plugin.deterministic import DeterministicTrainer, reward_infos


@register_trainer("rdiverse_solver")
class SolverTrainer(DeterministicTrainer):
    """``trainer.v1.trainer_mode=rdiverse_solver``."""

    def _on_batch_complete(self, batch: KVBatchMeta, metrics: dict[str, Any]) -> None:
        infos = reward_infos(batch)
        if not {"acc", "parsed"} <= infos[0].keys():
            raise ConfigError(
                f"the reward function {self.config.reward.custom_reward_function.path} returns no 'acc' and 'parsed'; "
                "use pkg://reward_fns.solver_match, or one that returns the same keys"
            )
        metrics["rdiverse/accuracy"] = float(np.mean([info["acc"] for info in infos]))
        metrics["rdiverse/parsed_rate"] = float(np.mean([info["parsed"] for info in infos]))
        self.dump_columns = dict(zip(batch.keys, infos, strict=True))
