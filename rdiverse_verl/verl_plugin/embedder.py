"""The embedding actor as the trainer and the reward workers ask it: what it cannot answer is a fault, never a crash."""

import asyncio
import time
from collections.abc import Sequence

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
        deadline = time.monotonic() + RESTART_S
        while True:
            try:
                return ray.get(self._actor.embed.remote(texts, ends), timeout=self.settings.timeout_s)
            except RayError as error:
                if time.monotonic() > deadline:
                    return [_fault(_reason(error)) for _ in texts]
            time.sleep(PAUSE_S)

    async def embed_text(self, text: str) -> Embedded:
        """The vector of one whole text, or why there is none, without holding up other samples meanwhile."""
        deadline = time.monotonic() + RESTART_S
        while True:
            try:
                [answer] = await asyncio.wait_for(self._actor.embed.remote([text]), self.settings.timeout_s)
                return answer
            except asyncio.TimeoutError:
                return _fault(f"no answer within {self.settings.timeout_s:g} s")
            except RayError as error:
                if time.monotonic() > deadline:
                    return _fault(_reason(error))
            await asyncio.sleep(PAUSE_S)


def _fault(reason: str) -> Embedded:
    return Embedded(np.empty((0, 0), dtype=np.float32), reason)


def _reason(error: RayError) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[-1] if lines else ''}"
