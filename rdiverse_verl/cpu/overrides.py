"""How a verl config differs on a CPU, as one nested dictionary to merge into it."""

import tempfile
from typing import Any

# Logical CPUs are Ray's scheduling number only: too few, and verl's placement groups wait for ever.
LOGICAL_CPUS_PER_GPU = 4
LOGICAL_CPUS = 12


def cpu_overrides(virtual_gpus: int = 1, reward_model_gpus: int = 0) -> dict[str, Any]:
    """Everything that stock verl 0.9.1 needs in its config to run on a CPU; environment variables are in ``cpu_environment``.

    Args:
        virtual_gpus: ranks of the trained model; each has a rollout replica of its own.
        reward_model_gpus: replicas of the model served to reward functions; 0 serves none.
    """
    full_precision = {"model_dtype": "fp32", "mixed_precision": {"param_dtype": "fp32"}}
    fsdp2 = {"strategy": "fsdp2", "use_torch_compile": False, **full_precision}
    return {
        "actor_rollout_ref": {
            "model": {
                "override_config": {"attn_implementation": "sdpa"},
                "use_remove_padding": False,
                "enable_gradient_checkpointing": False,
            },
            "actor": {"strategy": "fsdp2", "use_torch_compile": False, "fsdp_config": fsdp2},
            "ref": {"strategy": "fsdp2", "use_torch_compile": False, "fsdp_config": fsdp2},
            "rollout": {**_rollout(), "agent": {"num_workers": 1}},
        },
        "data": {"dataloader_num_workers": 0},
        "reward": {
            "num_workers": 1,
            "reward_model": {"n_gpus_per_node": max(reward_model_gpus, 1), "nnodes": 1, "rollout": _rollout()},
        },
        "trainer": {"device": "cpu", "nnodes": 1, "n_gpus_per_node": virtual_gpus},
        "transfer_queue": {"backend": {"SimpleStorage": {"num_data_storage_units": 1}}},
        "ray_kwargs": {
            "ray_init": {
                "num_cpus": LOGICAL_CPUS + LOGICAL_CPUS_PER_GPU * (virtual_gpus + reward_model_gpus),
                "num_gpus": virtual_gpus + reward_model_gpus,
                "include_dashboard": False,
                "_temp_dir": tempfile.mkdtemp(prefix="ray"),
            }
        },
    }


def _rollout() -> dict[str, Any]:
    return {
        "name": "transformers",
        "dtype": "float32",
        "tensor_model_parallel_size": 1,
        "free_cache_engine": False,
        "max_num_seqs": 64,
    }


def cpu_environment() -> dict[str, str]:
    """Environment variables of a verl process on a CPU; Ray's workers inherit them from it."""
    return {"VERL_PLATFORM": "cpu", "OMP_NUM_THREADS": "1", "TQ_NUM_THREADS": "1"}
