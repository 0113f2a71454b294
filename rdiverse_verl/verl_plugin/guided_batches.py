"""The next batch for rollout, with guided prompts in its tail (ExTra, App. B.5)."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tensordict import TensorDict
from verl.utils import tensordict_utils as tu

from rdiverse_verl.errors import DataError
from rdiverse_verl.verl_plugin.prompt_rows import Source, batch_of, sources_of
from rdiverse_verl.verl_plugin.regeneration import Regeneration
from rdiverse_verl.verl_plugin.step_checks import AGENT_LOOP
from rdiverse_verl.verl_plugin.step_methods import StepMethods

_AnyTrainer: Any = object  # what a mixin calls on super() is a method of verl's trainer, which comes after it


class GuidedBatches(_AnyTrainer):
    """To mix before a trainer of verl's and behind what gives rows their identity."""

    methods: StepMethods
    regeneration: Regeneration | None
    exposed_s = 0.0  # what the methods cost so far while everything else waits

    def _next_train_batch(self, num_prompts: int | None = None) -> TensorDict:
        if self.methods.extra is None:
            return super()._next_train_batch(num_prompts)
        count = num_prompts or self.config.data.train_batch_size
        if self.regeneration is None:
            batch = batch_of(self._new_prompts(count))
        else:
            with self.exposed():
                self.regeneration.finish()
            chunk = self.config.data.get("gen_batch_size") or self.config.data.train_batch_size
            batch = batch_of(*self.regeneration.compose(count, self.global_steps, chunk, self._new_prompts))
        tu.assign_non_tensor_data(batch, "global_steps", self.global_steps)
        return batch

    def _new_prompts(self, count: int) -> list[Source]:
        sources = sources_of(super()._next_train_batch(count))
        for source in sources if self.regeneration else ():
            if source.get("agent_name", AGENT_LOOP) != AGENT_LOOP:
                raise DataError(
                    f"the data set's column agent_name says {source['agent_name']!r}, which continues no prefixes: "
                    f"take the column out, write {AGENT_LOOP} there, or set rdiverse.extra.regeneration.enable=False"
                )
        return sources

    @contextmanager
    def exposed(self) -> Iterator[None]:
        """Time spent inside counts as exposed."""
        started = time.perf_counter()
        try:
            yield
        finally:
            self.exposed_s += time.perf_counter() - started
