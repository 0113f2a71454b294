"""What self-play needs of verl's configuration, for each of its two training phases."""

import hashlib
import tempfile
from pathlib import Path

from rdiverse_verl.seeds import derive_seed
from rdiverse_verl.selfplay.serving import Endpoint
from rdiverse_verl.selfplay.settings import Training
from rdiverse_verl.selfplay.verl_config import Tree, merge
from rdiverse_verl.selfplay.work import Work


def challenger_config(work: Work, prompts: Path, coder: Endpoint) -> Tree:
    """verl serves the frozen Solver itself, as its reward model, on devices of its own."""
    settings = work.settings
    reward = {
        "reward_manager": {"name": "rdiverse_challenger"},
        "custom_reward_function": {  # verl asks no reward manager about a served model without one
            "path": "pkg://rdiverse_verl.verl_plugin.challenger_reward",
            "name": "ChallengerRewardManager",
        },
        "reward_model": {
            "enable": True,
            "enable_resource_pool": True,
            "n_gpus_per_node": settings.solver_devices,
            "nnodes": settings.nodes,
            "model_path": work.solver(work.iteration - 1),
            "rollout": {
                "name": settings.serving.engine,
                "tensor_model_parallel_size": 1,
                "prompt_length": settings.challenger.max_response_tokens + settings.challenger.max_prompt_tokens,
                "response_length": settings.reward.solver.max_tokens,
            },
        },
    }
    block = {
        "seed": work.seed(),
        "challenger": {
            **settings.reward.model_dump(),
            "skill": {
                "encoder": settings.skill.encoder,
                "device": settings.skill.device,
                "centre": str(work.centre) if work.centre else None,
            },
            "coder": {"url": coder.url, "model": coder.model, "max_tokens": settings.coder.max_tokens},
            "memory": {"path": str(work.memory) if work.iteration > 1 else None, "before_iteration": work.iteration},
            "service": settings.service.model_dump(),
        },
    }
    phase = {"reward": reward, "rdiverse": block, "trainer": {"v1": {"trainer_mode": "rdiverse_challenger"}}}
    model = work.challenger(work.iteration - 1)
    return merge(
        _common(work, settings.challenger, model, prompts),
        phase,
        *_added(work, settings.challenger, settings.solver_devices),
    )


def solver_config(work: Work, data: Path) -> Tree:
    settings = work.settings
    phase = {
        "reward": {"custom_reward_function": {"path": "pkg://reward_fns.solver_match", "name": "compute_score"}},
        "rdiverse": {"seed": work.seed()},
        "trainer": {"v1": {"trainer_mode": "rdiverse_solver"}},
    }
    model = work.solver(work.iteration - 1)
    return merge(_common(work, settings.solver, model, data), phase, *_added(work, settings.solver))


def _common(work: Work, training: Training, model: str, data: Path) -> Tree:
    """GRPO with the papers' hyperparameters; clipping is R-Zero's (0.2, 0.3, dual clip 3.0)."""
    return {
        "algorithm": {"adv_estimator": "grpo"},
        "data": {
            "train_files": str(data),
            "val_files": str(data),  # verl wants a file, though nothing is validated here: evaluation is a phase
            "train_batch_size": training.prompts_per_step,
            "max_prompt_length": training.max_prompt_tokens,
            "max_response_length": training.max_response_tokens,
            "truncation": "error",
            "seed": derive_seed(work.seed(), "data"),
        },
        "actor_rollout_ref": {
            "model": {"path": model},
            "actor": {
                "ppo_mini_batch_size": training.prompts_per_update,
                "ppo_micro_batch_size_per_gpu": training.samples_per_device,
                "use_kl_loss": training.kl_coef > 0,
                "kl_loss_coef": training.kl_coef,
                "kl_loss_type": "low_var_kl",
                "clip_ratio_low": 0.2,
                "clip_ratio_high": 0.3,
                "clip_ratio_c": 3.0,
                "optim": {"lr": training.learning_rate, "weight_decay": training.weight_decay},
                "checkpoint": {"save_contents": ["model", "optimizer", "extra", "hf_model"]},
            },
            "ref": {"log_prob_micro_batch_size_per_gpu": training.samples_per_device},
            "rollout": {
                "log_prob_micro_batch_size_per_gpu": training.samples_per_device,
                "name": work.settings.serving.engine,
                "n": training.samples_per_prompt,
                "temperature": training.temperature,
                "top_p": training.top_p,
                "agent": {"default_agent_loop": "rdiverse_single_turn"},
            },
        },
        "trainer": {
            "total_training_steps": training.steps,
            "total_epochs": training.steps,  # an epoch has at least one step
            "save_freq": training.save_every,
            "max_actor_ckpt_to_keep": 2,  # the last may be saved, but not yet logged, when a run is killed
            "test_freq": -1,
            "val_before_train": False,
            "n_gpus_per_node": work.settings.devices,
            "nnodes": work.settings.nodes,
            "logger": ["file"],
            "project_name": "rdiverse",
            "experiment_name": work.phase.folder,
            "default_local_dir": str(work.folder / "checkpoints"),
            "rollout_data_dir": str(work.folder / "rollouts"),
        },
    }


def _added(work: Work, training: Training, reward_model_devices: int = 0) -> list[Tree]:
    """What the platform needs, then what the recipe says, which wins."""
    settings = work.settings
    added = [settings.verl, training.verl]
    if settings.platform == "cpu":
        from rdiverse_verl.cpu.overrides import cpu_overrides

        own_ray = {"ray_kwargs": {"ray_init": {"_temp_dir": str(ray_folder(work))}}}
        added = [cpu_overrides(settings.devices, reward_model_devices), own_ray, *added]
    return added


def ray_folder(work: Work) -> Path:
    """Where a Ray started by this phase keeps its sockets: their paths may have about 100 characters only."""
    name = hashlib.blake2b(str(work.folder).encode(), digest_size=5).hexdigest()
    return Path(tempfile.gettempdir()) / f"rdiverse-{name}"
