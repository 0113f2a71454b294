"""verl's trainers with DRA-GRPO and ExTra, each with verl's own semantics of its mode."""

import logging
from pathlib import Path
from typing import Any

import numpy as np
import transfer_queue as tq
from omegaconf import DictConfig
from transfer_queue import KVBatchMeta
from verl.trainer.ppo.v1.trainer_base import register_trainer
from verl.trainer.ppo.v1.trainer_colocate_async import PPOTrainerColocateAsync
from verl.trainer.ppo.v1.trainer_separate_async import PPOTrainerSeparateAsync
from verl.trainer.ppo.v1.trainer_sync import PPOTrainerSync

from rdiverse_verl.algorithms.dra import dra_weights
from rdiverse_verl.embedding.batcher import EMPTY_TEXT
from rdiverse_verl.errors import RdiverseError, ServiceError
from rdiverse_verl.verl_plugin.deterministic import SeededRows
from rdiverse_verl.verl_plugin.embedder import Embedder
from rdiverse_verl.verl_plugin.group_context import GroupContext, group_context
from rdiverse_verl.verl_plugin.guided_batches import GuidedBatches
from rdiverse_verl.verl_plugin.hard_prompts import PrefixExtractor, read_hard_prompts
from rdiverse_verl.verl_plugin.novelty_signal import NoveltySignal
from rdiverse_verl.verl_plugin.prompt_rows import read_prefix
from rdiverse_verl.verl_plugin.regeneration import Regeneration
from rdiverse_verl.verl_plugin.scored_rows import ScoredRows, read_scored_rows
from rdiverse_verl.verl_plugin.settings import Dra, Extra
from rdiverse_verl.verl_plugin.step_checks import refuse_unfit
from rdiverse_verl.verl_plugin.step_methods import read_step_methods
from rdiverse_verl.verl_plugin.step_metrics import (
    dra_metrics,
    encoder_metrics,
    extra_metrics,
    regeneration_metrics,
    row_metrics,
)
from rdiverse_verl.verl_plugin.step_state import FILE, load_state, save_state, tokenizer_id

logger = logging.getLogger(__name__)

BLIND_STEPS = 3  # in a row, without one vector: the encoder is gone, and the run would go on without the method


class StepTrainer(SeededRows, GuidedBatches):
    """Tells the estimator about groups; with ExTra, injects guided prompts and keeps what it remembers.

    With an estimator of verl's own it trains as verl does, on rows with the same seeds: the baseline.
    """

    def __init__(self, config: DictConfig) -> None:
        self.methods = read_step_methods(config)
        refuse_unfit(config, self.methods)
        super().__init__(config)
        self.dim = 1
        self.blind = 0
        self.embedder = Embedder(self.settings.embedding) if self.methods.encodes else None
        self.novelty = NoveltySignal(self.methods.extra) if self.methods.extra else None
        self.regeneration: Regeneration | None = None  # needs the tokenizer, which verl loads later
        self.identity: dict[str, Any] = {}  # of what the memories hold

    def _load_checkpoint(self) -> None:
        super()._load_checkpoint()
        self.identity["tokenizer"] = tokenizer_id(self.tokenizer)
        if self.embedder:
            self.identity["encoder"], self.dim = self.embedder.space()
        if self.novelty is None:
            if self.global_steps and (self._resumed_folder() / FILE).is_file():
                logger.warning("%s: ExTra's memories are not used by this run and end here", self._resumed_folder())
            return
        extra = self.novelty.extra
        self.identity["novelty"] = extra.novelty
        if self.embedder and extra.regeneration.enable:
            extractor = PrefixExtractor(extra.regeneration, self.tokenizer, self.embedder)
            self.regeneration = Regeneration(extra.regeneration, extractor, self.config.data.max_response_length)
        if self.global_steps:
            self._restore(load_state(self._resumed_folder(), self.identity))

    def _restore(self, state: dict[str, Any] | None) -> None:
        if state is None or self.novelty is None:
            return
        self.novelty.memory.restore(state["answers"])
        if self.regeneration and "regeneration" in state:
            self.regeneration.restore(state["regeneration"])
        elif self.regeneration or "regeneration" in state:
            logger.warning("the checkpoint and this run differ in regeneration.enable: prefixes and queue begin empty")

    def _save_checkpoint(self) -> None:
        if self.novelty:  # before verl marks the checkpoint as the latest
            state = {"answers": self.novelty.memory.state()}
            if self.regeneration:
                state["regeneration"] = self.regeneration.state()
            save_state(self._checkpoint_folder(), self.identity, state)
        super()._save_checkpoint()

    def _resumed_folder(self) -> Path:
        by_path = self.config.trainer.resume_mode == "resume_path"
        return Path(self.config.trainer.resume_from_path) if by_path else self._checkpoint_folder()

    def _checkpoint_folder(self) -> Path:
        return Path(self.config.trainer.default_local_dir) / f"global_step_{self.global_steps}"

    def _on_batch_complete(self, batch: KVBatchMeta, metrics: dict[str, Any]) -> None:
        if not len(batch):
            raise RdiverseError(
                f"step {self.global_steps}: every sample failed while generated or scored; the log above has "
                "'Error in _run_prompt' with the reason"
            )
        groups = self.config.data.train_batch_size // self.parameter_sync_step
        sessions = len({key.rsplit("_", 1)[0] for key in batch.keys})
        failed = groups * self.config.actor_rollout_ref.rollout.n - sessions
        metrics["training/failed_samples"] = float(failed)
        if failed:
            logger.warning("step %d: %d samples failed; their groups go on without them", self.global_steps, failed)

    def _compute_advantage(self, batch: KVBatchMeta, metrics: dict[str, Any]) -> KVBatchMeta:
        if not (self.methods.dra or self.novelty):
            return super()._compute_advantage(batch, metrics)
        with self.exposed():
            rows = read_scored_rows(batch, self.dim, with_roots=self.novelty is not None)
            self._check_vectors(rows)
            context = self._context(batch, rows)
            # now, as rejection sampling writes into the response masks
            hard = read_hard_prompts(batch, rows) if self.regeneration else []
        with group_context(context):
            batch = super()._compute_advantage(batch, metrics)
        with self.exposed():
            metrics.update(self._metrics(rows, context))
            if self.regeneration:
                self.regeneration.start(hard, self.global_steps)
        metrics[f"{self._prefix}/exposed_s"], self.exposed_s = self.exposed_s, 0.0
        if self.config.trainer.get("rollout_data_dir"):
            self._show_rows(batch, rows, context)
        return batch

    def _check_vectors(self, rows: ScoredRows) -> None:
        faults = [fault for fault in rows.fault_N if fault]
        broken = [fault for fault in faults if fault != EMPTY_TEXT]
        self.blind = self.blind + 1 if broken and not rows.has_vector_N.any() else 0
        if self.blind == BLIND_STEPS:
            raise ServiceError(
                f"step {self.global_steps}: not one answer has a vector, for the {self.blind}th time: {broken[0]}"
            )
        if faults:
            logger.warning(
                "step %d: %d answers have no vector; the first: %s", self.global_steps, len(faults), faults[0]
            )

    def _context(self, batch: KVBatchMeta, rows: ScoredRows) -> GroupContext:
        weight_N = np.ones(len(rows.keys))
        if self.methods.dra:
            kernel, rescale = self.methods.dra.kernel, self.methods.dra.rescale
            weight_N = dra_weights(rows.emb_N_D, rows.groups, rows.has_vector_N, kernel=kernel, rescale=rescale)
        novelty_N = self.novelty.score(batch, rows) if self.novelty else np.zeros(len(rows.keys))
        dra, extra = self.methods.dra or Dra(), self.methods.extra or Extra()
        return GroupContext(rows.uid_N, rows.groups, weight_N, novelty_N, dra, extra)

    @property
    def _prefix(self) -> str:
        return "extra" if self.novelty else "dra"

    def _metrics(self, rows: ScoredRows, context: GroupContext) -> dict[str, float]:
        metrics = row_metrics(rows, self._prefix)
        if self.embedder:
            metrics |= encoder_metrics(self.embedder.counts(), self._prefix)
        if self.methods.dra:
            metrics |= dra_metrics(rows, context.weight_N, self.methods.dra.negative)
        if self.novelty:
            metrics |= extra_metrics(rows, context.novelty_N, len(self.novelty.memory))
        if self.regeneration:
            metrics |= regeneration_metrics(self.regeneration)
        return metrics

    def _show_rows(self, batch: KVBatchMeta, rows: ScoredRows, context: GroupContext) -> None:
        data = tq.kv_batch_get(keys=batch.keys, partition_id=batch.partition_id, select_fields=["advantages"])
        prefixes = [self.tokenizer.decode(read_prefix(prefix)[0]) for prefix in rows.prefix_N]
        for i, key in enumerate(batch.keys):
            self.dump_columns[key] = {
                "acc": float(rows.correct_N[i]),
                "weight": float(context.weight_N[i]),
                "novelty": float(context.novelty_N[i]),
                "advantage": float(data["advantages"][i][0]),
                "prefix": prefixes[i],
                "root": rows.root_N[i] if rows.root_N else "",
            }


@register_trainer("rdiverse_sync")
class SyncTrainer(StepTrainer, PPOTrainerSync):
    """``trainer.v1.trainer_mode=rdiverse_sync``."""


@register_trainer("rdiverse_colocate_async")
class ColocateAsyncTrainer(StepTrainer, PPOTrainerColocateAsync):
    """``trainer.v1.trainer_mode=rdiverse_colocate_async``, with verl's ``trainer.v1.colocate_async`` settings."""

    verl_mode = "colocate_async"


@register_trainer("rdiverse_separate_async")
class SeparateAsyncTrainer(StepTrainer, PPOTrainerSeparateAsync):
    """``trainer.v1.trainer_mode=rdiverse_separate_async``, with verl's ``trainer.v1.separate_async`` settings."""

    verl_mode = "separate_async"
