"""verl's own FSDP engine, registered for the CPU.

Only ``fsdp2``: FSDP1 refuses to broadcast the initial weights of modules that live on a CPU.
"""

from functools import wraps
from types import ModuleType
from typing import Any

from rdiverse_verl.verl_plugin.import_hook import after_import


def install(engine: ModuleType) -> None:
    """Register ``FSDPEngineWithLMHead`` of the module ``verl.workers.engine`` for device ``cpu``."""
    register = engine.EngineRegistry.register(model_type="language_model", backend="fsdp2", device="cpu")
    register(engine.FSDPEngineWithLMHead)
    after_import("verl.workers.engine.fsdp.transformer_impl", _offload_nothing)
    after_import("verl.utils.fsdp_utils", _save_copies)


def _offload_nothing(module: Any) -> None:
    # verl moves a forward-only model (the KL reference) to pinned memory of the CPU, and only a GPU can pin it.
    module.CPUOffloadPolicy = lambda **_: None


def _save_copies(module: Any) -> None:
    # verl keeps old weights beside new ones by moving them to the CPU; on a CPU that moves nothing, and what it keeps
    # would change with the model.
    original = module.fsdp2_sharded_save_to_cpu

    @wraps(original)
    def fsdp2_sharded_save_to_cpu(model: Any) -> Any:
        shards, spec = original(model)
        return {name: (shard.clone(), shard_spec) for name, (shard, shard_spec) in shards.items()}, spec

    module.fsdp2_sharded_save_to_cpu = fsdp2_sharded_save_to_cpu
