"""The embedding actor as the trainer and the reward workers ask it: what it cannot answer is a fault, never a crash."""

import asyncio
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import ray
from ray.exceptions import RayError

from rdiverse_verl.embedding.actor import start_embedding_actor
from rdiverse_verl.embedding.batcher import Embedded
from rdiverse_verl.errors import ConfigError
from rdiverse_verl.verl_plugin.settings import Embedding

NAME = "rdiverse_embedding"
RESTART_S = 60  # Ray starts a killed actor again, which then loads its encoder
PAUSE_S = 1.0


class Embedder:
    """The one encoder of a run, started by whoever asks first."""

    def __init__(self, settings: Embedding) -> None:
        self.settings = settings
        self._actor = start_embedding_actor(
            NAME, settings.encoder, device=settings.device, length=settings.length, prompt=settings.prompt
        )

    def space(self) -> tuple[str, int]:
        """Id and width of the vectors; waits until the encoder is loaded.

        Raises:
            ConfigError: it cannot be loaded.
        """
        try:
            return ray.get(self._actor.space.remote(), timeout=self.settings.timeout_s)
        except RayError as error:
            raise ConfigError(f"rdiverse.embedding: no encoder {self.settings.encoder!r}: {_reason(error)}") from error

    def counts(self) -> dict[str, float]:
        """What the encoder has done so far, as ``EmbeddingCounts``; nothing while it is being started again."""
        try:
            return ray.get(self._actor.counts.remote(), timeout=self.settings.timeout_s)
        except RayError:
            return {}

    def embed(self, texts: Sequence[str], ends: Sequence[Sequence[int]]) -> list[Embedded]:
        """Vectors of the prefixes of each text, or why there are none."""
        return asyncio.run(self._ask(texts, ends))

    async def embed_text(self, text: str) -> Embedded:
        """The vector of one whole text, or why there is none, without holding up other samples meanwhile."""
        [answer] = await self._ask([text], [[len(text)]])
        return answer

    async def _ask(self, texts: Sequence[str], ends: Sequence[Sequence[int]]) -> list[Embedded]:
        deadline = time.monotonic() + RESTART_S
        while True:
            try:
                return await self._while_it_works(self._actor.embed.remote(texts, ends))
            except asyncio.TimeoutError:
                return _faults(texts, f"the encoder finished no text in {self.settings.timeout_s:g} s")
            except RayError as error:
                if time.monotonic() > deadline:
                    return _faults(texts, _reason(error))
            await asyncio.sleep(PAUSE_S)

    async def _while_it_works(self, reference: Any) -> list[Embedded]:
        """Wait for an answer as long as the encoder, which has others to serve first, gets something done."""
        answer = asyncio.ensure_future(reference)
        encoded = -1.0
        while True:
            done, _ = await asyncio.wait([answer], timeout=self.settings.timeout_s)
            if done:
                return answer.result()
            counts = await asyncio.wait_for(self._actor.counts.remote(), self.settings.timeout_s)
            before, encoded = encoded, counts["texts"]
            if encoded == before:
                answer.cancel()
                raise asyncio.TimeoutError


def _faults(texts: Sequence[str], reason: str) -> list[Embedded]:
    return [Embedded(np.empty((0, 0), dtype=np.float32), reason) for _ in texts]


def _reason(error: RayError) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[-1] if lines else ''}"
