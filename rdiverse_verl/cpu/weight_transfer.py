"""verl's checkpoint engine ``local_file``: on one machine, a trainer gives weights to standalone replicas as a file.

For one transfer verl calls, on the workers of both sides, ``prepare`` and ``init_process_group``, then at the same time
``send_weights`` and ``receive_weights``, and ``finalize``.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor
from verl.checkpoint_engine.base import CheckpointEngine, CheckpointEngineRegistry

from rdiverse_verl.cpu.overrides import WEIGHT_TRANSFER
from rdiverse_verl.errors import ServiceError, StateError

POLL_S = 0.01


@CheckpointEngineRegistry.register(WEIGHT_TRANSFER)
class LocalFileEngine(CheckpointEngine):
    """One end of the transfer. Rank 0 of the trainer owns a folder that only its user can read, and the file in it.

    Args:
        bucket_size: verl gives every engine one; a file needs none.
        is_master: this is rank 0 of the trainer.
        timeout_s: seconds that a replica waits for the file.
    """

    def __init__(self, bucket_size: int, is_master: bool = False, timeout_s: float = 300.0) -> None:
        self.is_master = is_master
        self.timeout_s = timeout_s
        self._owned: TemporaryDirectory[str] | None = None
        self._folder = Path()

    def prepare(self) -> dict[str, Any]:
        if not self.is_master:
            return {}
        self._owned = TemporaryDirectory(prefix="rdiverse_weights_")
        return {"folder": self._owned.name}

    @classmethod
    def build_topology(
        cls, actor_wg_world_size: int, rollout_world_size: int, metadata: list[dict[str, Any]]
    ) -> tuple[dict[str, list[Any]], dict[str, list[Any]]]:
        folder = metadata[0]["folder"]
        return {"folder": [folder] * actor_wg_world_size}, {"folder": [folder] * rollout_world_size}

    def init_process_group(self, folder: str) -> None:  # type: ignore[override]
        self._folder = Path(folder)

    def finalize(self) -> None:
        if self._owned is not None:
            self._owned.cleanup()
            self._owned = None

    async def send_weights(self, weights: Iterable[tuple[str, Tensor]], global_steps: int | None = None) -> None:
        """Write the file. Every rank must run through ``weights``, because they gather each tensor together.

        Raises:
            StateError: the file cannot be written.
        """
        if not self.is_master:
            for _ in weights:
                pass
            return
        try:
            # copies: safetensors refuses tied weights, which share their memory, and views
            tensors = {
                name: tensor.detach().cpu().clone(memory_format=torch.contiguous_format) for name, tensor in weights
            }
            path = self._path(global_steps)
            unfinished = path.with_suffix(".part")
            save_file(tensors, unfinished)
            unfinished.rename(path)
        except BaseException as error:
            self.finalize()  # tells the replicas, too, that no file will come
            if isinstance(error, (OSError, SafetensorError)):
                raise StateError(
                    f"cannot write the weights of step {global_steps} into {self._folder}: {error}; "
                    "free some space there, or set TMPDIR to another folder"
                ) from error
            raise

    async def receive_weights(  # type: ignore[override]
        self, global_steps: int | None = None
    ) -> AsyncIterator[tuple[str, Tensor]]:
        """Names and tensors, once the file is complete.

        Raises:
            ServiceError: the trainer failed, or there is no file after ``timeout_s`` seconds.
        """
        path = self._path(global_steps)
        deadline = time.monotonic() + self.timeout_s
        while not path.exists():
            if not self._folder.is_dir():
                raise ServiceError(f"the trainer sent no weights of step {global_steps}: its own error is in the log")
            if time.monotonic() > deadline:
                raise ServiceError(
                    f"no weights of step {global_steps} in {self._folder} after {self.timeout_s:g} s: the trainer has "
                    "stopped, or runs on another machine, where this checkpoint engine cannot work"
                )
            await asyncio.sleep(POLL_S)
        with safe_open(path, framework="pt") as file:
            for name in file.keys():  # noqa: SIM118 (no mapping)
                yield name, file.get_tensor(name)

    def _path(self, global_steps: int | None) -> Path:
        return self._folder / f"step_{global_steps}.safetensors"
