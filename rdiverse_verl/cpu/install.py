"""What the CPU plug-in registers in verl, and when."""

import os
import sys

import torch

from rdiverse_verl.cpu import fork_server
from rdiverse_verl.cpu.overrides import cpu_environment
from rdiverse_verl.verl_plugin.import_hook import after_import

DRIVER = "verl.trainer.main_ppo"


def install() -> None:
    """Register the platform now, and everything else when verl imports what it extends."""
    from verl.plugin.platform import PlatformRegistry

    from rdiverse_verl.cpu.platform import CpuPlatform

    PlatformRegistry.register("cpu")(CpuPlatform)
    _fix_thread_count()
    if DRIVER in sys.orig_argv:
        fork_server.start()
    after_import("verl.utils.config", _check_config)
    after_import("verl.utils.distributed", _process_group)
    after_import("verl.workers.engine", _engine)
    after_import("verl.checkpoint_engine", _weight_transfer)
    after_import("verl.workers.rollout.base", _rollout_client)
    after_import("verl.workers.rollout.replica", _rollout_replica)


def _fix_thread_count() -> None:
    # A sum's rounding depends on the number of threads, and Ray chooses one for each worker unless it inherits one.
    for name, value in cpu_environment().items():
        os.environ.setdefault(name, value)
    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))


def _check_config(module) -> None:
    from rdiverse_verl.cpu.config_check import install

    install(module)


def _process_group(module) -> None:
    from rdiverse_verl.cpu.process_group import install

    install(module)


def _engine(module) -> None:
    from rdiverse_verl.cpu.fsdp import install

    install(module)


def _weight_transfer(module) -> None:
    import rdiverse_verl.cpu.weight_transfer  # noqa: F401 (registers itself)


def _rollout_client(module) -> None:
    # verl has a register function for replicas but none for the client that sends them weights.
    module._ROLLOUT_REGISTRY[("transformers", "async")] = "rdiverse_verl.cpu.rollout.TransformersClient"


def _rollout_replica(module) -> None:
    def load():
        from rdiverse_verl.cpu.rollout import TransformersReplica

        return TransformersReplica

    module.RolloutReplicaRegistry.register("transformers", load)
