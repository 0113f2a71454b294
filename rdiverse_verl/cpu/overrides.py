"""How a verl run differs on a CPU: a nested dictionary to merge into its config, and environment variables."""

import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rdiverse_verl.cpu import fork_client

Tree = dict[str, Any]

# Logical CPUs are a scheduling number of Ray's: each actor of verl's asks for one, and too few make it wait for ever.
_LOGICAL_CPUS = 8
_LOGICAL_CPUS_PER_GPU = 4


# Checkpoint engine that gives weights to replicas that share no process with the trainer.
WEIGHT_TRANSFER = "local_file"


def cpu_overrides(virtual_gpus: int = 1, reward_model_gpus: int = 0, standalone_gpus: int = 0) -> Tree:
    """What stock verl 0.9.1 needs in its config to run on a CPU.

    Args:
        virtual_gpus: ranks of the trained model; each has a rollout replica of its own.
        reward_model_gpus: replicas of the model served to reward functions; 0 if none is.
        standalone_gpus: rollout replicas that are no rank's, for the trainer mode ``separate_async``.
    """
    gpus = virtual_gpus + reward_model_gpus + standalone_gpus
    return {
        "actor_rollout_ref": {
            "model": {
                "override_config": {"attn_implementation": "sdpa"},
                "use_remove_padding": False,
                "enable_gradient_checkpointing": False,
            },
            "actor": _full_precision_fsdp2(),
            "ref": _full_precision_fsdp2(),
            "rollout": {**_transformers_rollout(), "agent": {"num_workers": 1}, **_standalone(standalone_gpus)},
        },
        "data": {"dataloader_num_workers": 0},
        "reward": {
            "num_workers": 1,
            "reward_model": {
                "n_gpus_per_node": max(reward_model_gpus, 1),
                "nnodes": 1,
                "rollout": _transformers_rollout(),
            },
        },
        "trainer": {"device": "cpu", "nnodes": 1, "n_gpus_per_node": virtual_gpus},
        "transfer_queue": {"backend": {"SimpleStorage": {"num_data_storage_units": 1}}},
        "ray_kwargs": {
            "ray_init": {
                "address": "local",
                "num_cpus": _LOGICAL_CPUS + _LOGICAL_CPUS_PER_GPU * gpus,
                "num_gpus": gpus,
                "include_dashboard": False,
                "runtime_env": {"py_executable": shlex.join([sys.executable, "-S", fork_client.__file__])},
            }
        },
    }


def cpu_environment() -> dict[str, str]:
    """Environment variables of a verl run on a CPU; Ray hands them on to its workers."""
    return {
        "VERL_PLATFORM": "cpu",
        # One thread in every process: sums come out the same everywhere, and the processes share the cores.
        "OMP_NUM_THREADS": "1",
        # With its default of 8, TransferQueue warns on every transfer on a machine with fewer cores.
        "TQ_NUM_THREADS": "1",
    }


def hydra_arguments(tree: Tree) -> list[str]:
    """The tree as hydra command line arguments, for keys that verl's YAML lists and for those that it does not."""
    return [f"++{key}={_literal(value)}" for key, value in _leaves(tree, ())]


def _full_precision_fsdp2() -> Tree:
    engine = {
        "strategy": "fsdp2",
        "use_torch_compile": False,
        "model_dtype": "fp32",
        "mixed_precision": {"param_dtype": "fp32"},
    }
    return {"strategy": "fsdp2", "use_torch_compile": False, "fsdp_config": engine}


def _transformers_rollout() -> Tree:
    return {
        "name": "transformers",
        "dtype": "float32",
        "tensor_model_parallel_size": 1,
        "free_cache_engine": False,
        "max_num_seqs": 64,
        "router_config_path": str(Path(__file__).with_name("router.yaml")),
    }


def _standalone(replicas: int) -> Tree:
    if not replicas:
        return {}
    return {"nnodes": 1, "n_gpus_per_node": replicas, "checkpoint_engine": {"backend": WEIGHT_TRANSFER}}


def _leaves(tree: Tree, path: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    for key, value in tree.items():
        if isinstance(value, dict):
            yield from _leaves(value, (*path, key))
        else:
            yield ".".join((*path, key)), value


def _literal(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, list):
        return "[" + ",".join(_literal(item) for item in value) + "]"
    return f"'{value}'" if isinstance(value, str) else str(value)
