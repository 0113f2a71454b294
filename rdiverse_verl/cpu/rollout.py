"""The rollout ``transformers``: verl's two sides of it, one that starts servers and one that sends them weights."""

import os
from collections.abc import AsyncIterable, Iterable
from typing import Any

import ray
import torch
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy
from verl.single_controller.ray import RayResourcePool
from verl.workers.rollout.base import BaseRollout
from verl.workers.rollout.replica import RolloutMode, RolloutReplica
from verl.workers.rollout.utils import ensure_async_iterator

from rdiverse_verl.cpu.config_check import check_rollout
from rdiverse_verl.cpu.rollout_server import ServerLimits, TransformersServer
from rdiverse_verl.cpu.router import REQUEST_TIMEOUT_S, answer
from rdiverse_verl.errors import ConfigError, ServiceError
from rdiverse_verl.seeds import derive_seed

START_TIMEOUT_S = 120.0


def server_name(replica_rank: int, kind: str = "") -> str:
    """Name of a replica's Ray actor; ``kind`` tells served reward models from the policy's own replicas."""
    return f"transformers_server_{kind}{replica_rank}_0"


class TransformersReplica(RolloutReplica):
    """One server process; verl starts one per rank, and as many as it is told for a served model."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        check_rollout(self.config, "rollout")

    async def init_colocated(self, resource_pool: RayResourcePool) -> None:
        """Serve a model whose weights never change: no worker group beside the server to receive them."""
        self.rollout_mode = RolloutMode.COLOCATED
        self.resource_pool = resource_pool
        await self.launch_servers()

    async def launch_servers(self) -> None:
        """Start the server on this node and wait until it answers.

        Raises:
            ServiceError: the server died, or did not answer within ``START_TIMEOUT_S`` seconds.
        """
        kind = "reward_" if self.is_reward_model else "teacher_" if self.is_teacher_model else ""
        limits = ServerLimits(
            self.config.prompt_length, self.config.response_length, self.config.max_model_len, self.config.max_num_seqs
        )
        seed = derive_seed(self.config.seed, "replica", self.replica_rank)
        server: Any = (
            ray.remote(TransformersServer)
            .options(
                name=server_name(self.replica_rank, kind) + self.name_suffix,
                num_cpus=0,
                max_concurrency=self.max_concurrency,
                scheduling_strategy=NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False),
            )
            .remote(self.model_config.path, limits, seed, torch.get_num_threads())
        )
        address = await answer(server.serve.remote(), START_TIMEOUT_S, f"the server of {self.model_config.path}")
        self.servers = [server]
        self._server_handle = server
        self._server_address = address


class TransformersClient(BaseRollout):
    """Hands weights to one server: in a training worker to that of the same rank, or beside a standalone replica."""

    def __init__(self, config: Any, model_config: Any, device_mesh: Any, replica_rank: int = -1) -> None:
        super().__init__(config, model_config, device_mesh)
        self.replica_rank = int(os.environ["RANK"]) if replica_rank == -1 else replica_rank
        self.is_leader_rank = True

    async def update_weights(
        self,
        weights: Iterable[tuple[str, torch.Tensor]] | AsyncIterable[tuple[str, torch.Tensor]],
        wire_format: str = "named_tensors",
        global_steps: int | None = None,
        peft_config: Any = None,
        **kwargs: Any,
    ) -> None:
        """Send all weights and wait until the server uses them.

        Raises:
            ConfigError: weights come as LoRA adapters or as differences.
            ServiceError: the server is dead or does not answer.
        """
        if peft_config is not None or wire_format != "named_tensors":
            raise ConfigError(
                "the transformers rollout takes full weights only: switch off LoRA and delta weight updates"
            )
        named_tensors = [(name, tensor.detach().cpu()) async for name, tensor in ensure_async_iterator(weights)]
        name = server_name(self.replica_rank)
        try:
            server = ray.get_actor(name)
        except ValueError as error:  # how Ray says that there is none, or none any more
            raise ServiceError(f"rollout server {name} died; the log above has its last words") from error
        await answer(
            server.update_weights.remote(named_tensors, global_steps), REQUEST_TIMEOUT_S, f"rollout server {name}"
        )

    async def resume(self, tags: list[str]) -> None:
        """Nothing was released."""

    async def release(self) -> None:
        """There is no device memory to release."""
