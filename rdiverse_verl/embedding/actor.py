"""One encoder for all reward workers, as a named Ray actor."""

import dataclasses
import os
from collections.abc import Sequence
from typing import Any

from rdiverse_verl.embedding.batcher import Batcher, Embedded
from rdiverse_verl.embedding.device import texts_per_call
from rdiverse_verl.embedding.encoder import load_encoder
from rdiverse_verl.embedding.length_aware import LengthAwareEncoder


class EmbeddingActor:
    """An encoder behind a `Batcher`. Started by `start_embedding_actor`."""

    def __init__(self, encoder: str, device: str, length: str, prompt: str) -> None:
        self._encoder = LengthAwareEncoder(load_encoder(encoder, device, prompt), length)
        self._batcher = Batcher(self._encoder, texts_per_call(device))

    async def embed(self, texts: Sequence[str], ends: Sequence[Sequence[int]] | None = None) -> list[Embedded]:
        """See `Batcher.embed`."""
        return await self._batcher.embed(texts, ends)

    async def space(self) -> tuple[str, int]:
        """Id and width of the vectors."""
        return self._encoder.id, self._encoder.dim

    async def pid(self) -> int:
        """Of the actor's process."""
        return os.getpid()

    async def counts(self) -> dict[str, float]:
        """`EmbeddingCounts` so far."""
        return dataclasses.asdict(self._batcher.counts)


def start_embedding_actor(
    name: str, encoder: str, *, device: str = "cpu", length: str = "pool", prompt: str = ""
) -> Any:
    """The handle of the actor `name`, started if there is none; others find it by ``ray.get_actor(name)``.

    The actor reserves neither CPUs nor GPUs, since verl's own pools hold all of them and it would wait for ever: it
    goes where `device` says. Killed, it is started again; calls under way then fail with Ray's ActorDiedError or
    ActorUnavailableError.

    Args:
        encoder, device, prompt: see `load_encoder`. length: see `LengthAwareEncoder`.

    Raises ray.exceptions.RayActorError from the first call if the encoder cannot be loaded; the message holds why.
    """
    import ray

    actor = ray.remote(EmbeddingActor).options(
        name=name,
        get_if_exists=True,
        num_cpus=0,
        num_gpus=0,
        max_restarts=-1,  # a run may be long; whoever asks gives up an encoder that does not come back
        max_concurrency=1000,
        runtime_env={"env_vars": {"RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}},
    )
    return actor.remote(encoder, device, length, prompt)
