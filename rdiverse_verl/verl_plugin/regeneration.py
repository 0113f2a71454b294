"""Guided prompts from hard ones: scored while the actor updates, served in the tail of a later batch (ExTra, Sec. 4.3).

Prompts that guided ones displace are served first in the next batch, before new ones are read.
"""

import json
import logging
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from rdiverse_verl.algorithms.guided_queue import GuidedPrompt, GuidedQueue
from rdiverse_verl.algorithms.prefix_memory import Prefixes, PrefixMemory
from rdiverse_verl.algorithms.prefix_selection import select_prefix
from rdiverse_verl.verl_plugin.hard_prompts import Extracted, HardPrompt, PrefixExtractor
from rdiverse_verl.verl_plugin.prompt_rows import Source
from rdiverse_verl.verl_plugin.settings import Regeneration as Settings

logger = logging.getLogger(__name__)


class Regeneration:
    """M_p, Q and the displaced prompts of one run. `finish` before reading any of them."""

    def __init__(self, settings: Settings, extractor: PrefixExtractor, response_length: int) -> None:
        self.settings = settings
        self.memory = PrefixMemory(settings.prefixes_per_prompt, settings.max_age)
        self.queue = GuidedQueue(settings.queue_size)
        self.deferred: list[Source] = []
        self.no_prefix = 0  # hard prompts of the last step for which nothing could be chosen
        self.extracted = Extracted([])  # from the last step
        self._extractor = extractor
        # a longer prefix would leave too little of the response budget to continue in
        self._max_length = int(settings.max_share * response_length)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="prefixes")
        self._pending: Future[Any] | None = None
        self._served = (0, 0)  # step, guided prompts served in it

    def compose(
        self, count: int, step: int, chunk: int, fetch: Callable[[int], list[Source]]
    ) -> tuple[list[Source], list[GuidedPrompt]]:
        """``count`` prompts for rollout: displaced ones, new ones, and guided ones at the end.

        Args:
            fetch: reads a number of new prompts; it can read whole multiples of ``chunk`` only.
        """
        self.finish()
        served = self._served[1] if self._served[0] == step else 0
        guided = self.queue.pop(min(self.settings.per_step - served, count))
        self._served = (step, served + len(guided))
        lacking = count - len(guided) - len(self.deferred)
        if lacking > 0:
            self.deferred += fetch(-(-lacking // chunk) * chunk)
        scratch = self.deferred[: count - len(guided)]
        self.deferred = self.deferred[len(scratch) :]
        return scratch, guided

    def start(self, prompts: list[HardPrompt], step: int) -> None:
        """Score the prefixes of hard prompts in a thread; does nothing during warm-up (App. B.5)."""
        self.finish()
        if step > self.settings.warmup_steps:
            self._pending = self._thread.submit(self._score, prompts, step)

    def finish(self) -> None:
        """Wait for what `start` began, and queue what it chose. Raises what went wrong there."""
        if self._pending is None:
            return
        chosen, self.no_prefix, self.extracted = self._pending.result()
        self._pending = None
        for prompt in chosen:
            self.queue.push(prompt)
        if self.extracted.without_vectors:
            logger.warning(
                "%d rollouts of hard prompts have no vectors and give no prefix", self.extracted.without_vectors
            )

    def _score(self, prompts: list[HardPrompt], step: int) -> tuple[list[GuidedPrompt], int, Extracted]:
        extracted = self._extractor.extract(prompts, step)
        pairs = zip(prompts, extracted.prefixes, strict=True)
        chosen = [self._choose(prompt, prefixes, step) for prompt, prefixes in pairs]
        self.memory.forget_old(step)
        guided = [prompt for prompt in chosen if prompt is not None]
        return guided, len(chosen) - len(guided), extracted

    def _choose(self, prompt: HardPrompt, prefixes: Prefixes, step: int) -> GuidedPrompt | None:
        """The prefix with the lowest smoothed entropy among present and cached ones (Alg. 1 l. 22-25)."""
        self.memory.add(prompt.root, prefixes)
        known = self.memory.get(prompt.root, step)
        if known is None:
            return None
        place = select_prefix(
            known.mte_P, known.length_P, known.unit_emb_P_D(), tau=self.settings.tau, max_length=self._max_length
        )
        if place is None:
            return None
        ids = tuple(known.token_ids(place))
        return GuidedPrompt(prompt.root, ids, float(known.mte_P[place]), step, json.loads(prompt.source))

    def state(self) -> dict[str, Any]:
        """What a checkpoint holds; `restore` makes an equal one of it."""
        self.finish()
        return {"memory": self.memory.state(), "queue": self.queue.state(), "deferred": self.deferred}

    def restore(self, state: dict[str, Any]) -> None:
        self.memory.restore(state["memory"])
        self.queue.restore(state["queue"])
        self.deferred = state["deferred"]
        dropped = self.queue.drop_longer(self._max_length)
        if dropped:
            logger.warning(
                "%d guided prompts of the checkpoint have prefixes of over %d tokens, more than this run's "
                "data.max_response_length leaves room for; they are dropped",
                dropped,
                self._max_length,
            )
