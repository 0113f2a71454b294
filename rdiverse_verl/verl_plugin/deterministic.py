"""What makes verl's synchronous trainer independent of chance and of the order in which samples arrive."""

from typing import Any

import transfer_queue as tq
from omegaconf import DictConfig, open_dict
from tensordict import TensorDict
from transfer_queue import KVBatchMeta
from verl.trainer.ppo.v1.trainer_sync import PPOTrainerSync
from verl.utils import tensordict_utils as tu

from rdiverse_verl.errors import RdiverseError
from rdiverse_verl.seeds import derive_seed
from rdiverse_verl.verl_plugin.row_fields import ROW_SEED
from rdiverse_verl.verl_plugin.settings import read_settings
from rdiverse_verl.verl_plugin.validation_copies import NumberedCopies

_AnyTrainer: Any = object  # what a mixin calls on super() is a method of verl's trainer, which comes after it

POLL_S = 0.1  # verl looks for finished samples every 2 s, longer than a whole step of a small model


class SeededRows(_AnyTrainer):
    """Row identities, seeds and row order come from (run seed, step, row). To mix before a trainer of verl's."""

    # verl compares the mode with its own names to choose its replay buffer, fetch size and checkpoint content
    verl_mode = "sync"
    val_dataloader: Any
    trainer_mode = property(lambda self: self.verl_mode, lambda self, value: None)

    def __init__(self, config: DictConfig) -> None:
        self.settings = read_settings(config)
        if config.data.get("seed") is None:
            with open_dict(config):
                config.data.seed = derive_seed(self.settings.seed, "data")
        super().__init__(config)
        self.replay_buffer.poll_interval = POLL_S
        self._fetched = (0, 0)  # step, rows fetched in it
        self.dump_columns: dict[str, dict[str, Any]] = {}  # by row key, shown in trainer.rollout_data_dir

    def _init_dataloader(self) -> None:
        super()._init_dataloader()
        self.val_dataloader = NumberedCopies(self.val_dataloader)

    def _next_train_batch(self, num_prompts: int | None = None) -> TensorDict:
        batch = super()._next_train_batch(num_prompts)
        step, first = self._fetched if self._fetched[0] == self.global_steps else (self.global_steps, 0)
        rows = range(first, first + len(batch))
        self._fetched = (step, rows.stop)
        # verl cuts a row's uid at the first underscore, so it must hold none
        tu.assign_non_tensor_stack(batch, "uid", [f"s{step:06d}r{row:06d}" for row in rows])
        seeds = [derive_seed(self.settings.seed, "step", step, "row", row) for row in rows]
        tu.assign_non_tensor_stack(batch, ROW_SEED, seeds)
        return batch

    def _balance_batch(self, batch: KVBatchMeta, metrics: dict[str, Any], *args: Any, **kwargs: Any) -> KVBatchMeta:
        batch.reorder(sorted(range(len(batch)), key=lambda i: _key_order(batch.keys[i])))
        self._on_batch_complete(batch, metrics)
        return super()._balance_batch(batch, metrics, *args, **kwargs)

    def _on_batch_complete(self, batch: KVBatchMeta, metrics: dict[str, Any]) -> None:
        """The rows of the step are here, in key order, and verl has not yet added padding rows."""

    def _dump_generations(
        self,
        inputs: list[str],
        outputs: list[str],
        gts: list[Any],
        scores: list[float],
        reward_extra_infos_dict: dict[str, list[Any]],
        dump_path: str,
    ) -> None:
        rows = [self.dump_columns.pop(key, {}) for key in reward_extra_infos_dict["uid"]]
        names = list(dict.fromkeys(name for row in rows for name in row))
        columns = {name: [row.get(name) for row in rows] for name in names}
        super()._dump_generations(inputs, outputs, gts, scores, reward_extra_infos_dict | columns, dump_path)


class DeterministicTrainer(SeededRows, PPOTrainerSync):
    """Ends the run when a sample of a step is missing."""

    def _balance_batch(self, batch: KVBatchMeta, metrics: dict[str, Any], *args: Any, **kwargs: Any) -> KVBatchMeta:
        expected = self.config.data.train_batch_size * self.config.actor_rollout_ref.rollout.n
        if len(batch) < expected:
            raise RdiverseError(
                f"step {self.global_steps}: {expected - len(batch)} of {expected} samples failed while generated or "
                "scored; the log above has 'Error in _run_prompt' with the reason"
            )
        return super()._balance_batch(batch, metrics, *args, **kwargs)


def reward_infos(batch: KVBatchMeta) -> list[dict[str, Any]]:
    """What the reward manager said of each row beside its score."""
    data = tq.kv_batch_get(keys=batch.keys, partition_id=batch.partition_id, select_fields=["extra_fields"])
    return [tu.unwrap_non_tensor_data(extra)["reward_extra_info"] for extra in data["extra_fields"]]


def _key_order(key: str) -> tuple[str, int, int]:
    uid, session, output = key.rsplit("_", 2)
    return uid, int(session), int(output)
