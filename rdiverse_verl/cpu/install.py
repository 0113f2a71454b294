"""What the CPU plug-in registers in verl, and when."""

import os
import sys

import torch

from rdiverse_verl.cpu import fork_server
from rdiverse_verl.verl_plugin.import_hook import after_import

DRIVER = "verl.trainer.main_ppo"


def install() -> None:
    """Register the platform now; engine, process group, rollout and config check when verl imports what they extend."""
    from verl.plugin.platform import PlatformRegistry

    from rdiverse_verl.cpu.platform import CpuPlatform

    PlatformRegistry.register("cpu")(CpuPlatform)
    if DRIVER in sys.orig_argv:
        fork_server.start()
    _fix_thread_count()
    after_import("verl.utils.config", _check_config)
    after_import("verl.utils.distributed", _process_group)
    after_import("verl.workers.engine", _engine)
    after_import("verl.workers.rollout.base", _rollout_client)
    after_import("verl.workers.rollout.replica", _rollout_replica)


def _fix_thread_count() -> None:
    # Ray gives its workers thread counts by their CPU share, and a sum's rounding depends on that count.
    torch.set_num_threads(int(os.environ.get("RDIVERSE_CPU_THREADS", "1")))


def _check_config(module) -> None:
    from rdiverse_verl.cpu.config_check import install

    install(module)


def _process_group(module) -> None:
    from rdiverse_verl.cpu.process_group import install

    install(module)


def _engine(module) -> None:
    from rdiverse_verl.cpu.fsdp import install

    install(module)


def _rollout_client(module) -> None:
    # verl has a register function for replicas but none for the client that sends them weights.
    module._ROLLOUT_REGISTRY[("transformers", "async")] = "rdiverse_verl.cpu.rollout.TransformersClient"


def _rollout_replica(module) -> None:
    def load():
        from rdiverse_verl.cpu.rollout import TransformersReplica

        return TransformersReplica

    module.RolloutReplicaRegistry.register("transformers", load)
