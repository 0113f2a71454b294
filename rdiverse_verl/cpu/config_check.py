"""Refuse what the CPU path cannot do, by name, before Ray starts any worker."""

import json
import logging
import os
from collections.abc import Mapping
from functools import wraps
from pathlib import Path
from typing import Any

from rdiverse_verl.cpu.model_folder import check_model_folder
from rdiverse_verl.cpu.overrides import WEIGHT_TRANSFER
from rdiverse_verl.errors import ConfigError

# key -> (values that work, why)
_ONE_PROCESS_REPLICA = ((1,), "one rollout replica is one process")
_ROLLOUT_RULES: dict[str, tuple[tuple[Any, ...], str]] = {
    "tensor_model_parallel_size": _ONE_PROCESS_REPLICA,
    "data_parallel_size": _ONE_PROCESS_REPLICA,
    "pipeline_model_parallel_size": _ONE_PROCESS_REPLICA,
    "expert_parallel_size": _ONE_PROCESS_REPLICA,
    "quantization": ((None,), "weights are served in full precision"),
    "disaggregation.enabled": ((False,), "prompt and reply are computed in one process"),
    "enable_rollout_routing_replay": ((False, None), "mixture-of-experts routing is not recorded"),
    "mtp.enable": ((False, None), "one token is generated at a time"),
    "checkpoint_engine.backend": (
        ("naive", WEIGHT_TRANSFER, None),
        f"weights go through Ray, or to standalone replicas through a {WEIGHT_TRANSFER}",
    ),
    "prometheus.enable": ((False, None), "the server has no /metrics"),
    "limit_images": ((None, 0), "the rollout reads text only"),
}
_NO_KERNELS = "the kernels behind it need a GPU"
_RULES: dict[str, tuple[tuple[Any, ...], str]] = {
    "actor_rollout_ref.actor.strategy": (("fsdp2",), "the only training engine on a CPU"),
    "actor_rollout_ref.ref.strategy": (("fsdp2",), "the only training engine on a CPU"),
    "actor_rollout_ref.model.use_remove_padding": ((False,), _NO_KERNELS),
    "actor_rollout_ref.model.use_fused_kernels": ((False,), _NO_KERNELS),
    "actor_rollout_ref.model.use_liger": ((False,), _NO_KERNELS),
    "actor_rollout_ref.model.override_config.attn_implementation": (("sdpa", "eager"), _NO_KERNELS),
    "actor_rollout_ref.actor.qat.enable": ((False, None), _NO_KERNELS),
}
_TRANSFORMERS_RULES: dict[str, tuple[tuple[Any, ...], str]] = {
    "actor_rollout_ref.model.lora_rank": ((0,), "the transformers rollout takes full weights"),
    "actor_rollout_ref.model.lora.rank": ((0, None), "the transformers rollout takes full weights"),
}
_SEPARATE_ASYNC = ("separate_async", "rdiverse_separate_async")


def install(config_module: Any) -> None:
    """Make ``verl.utils.config.validate_config``, which verl's trainers call first, check the CPU's rules as well."""
    original = config_module.validate_config

    @wraps(original)
    def validate_config(config: Any, *args: Any, **kwargs: Any) -> Any:
        check_config(config)
        return original(config, *args, **kwargs)

    config_module.validate_config = validate_config


def check_config(config: Mapping[str, Any]) -> None:
    """Check a whole verl config.

    Raises:
        ConfigError: a key asks for what the CPU path cannot do, or names a model folder that is not usable.
    """
    _check(config, "", _RULES)
    critic = _value(config, "critic.enable")
    if critic or (critic is None and _value(config, "algorithm.adv_estimator") == "gae"):
        raise ConfigError(
            "critic: the CPU path trains none; set algorithm.adv_estimator to one without a critic (grpo)"
        )
    _check_model_folder("actor_rollout_ref.model.path", _value(config, "actor_rollout_ref.model.path"))
    if _value(config, "actor_rollout_ref.rollout.name") == "transformers":
        _check(config, "", _TRANSFORMERS_RULES)
        check_rollout(_value(config, "actor_rollout_ref.rollout"), "actor_rollout_ref.rollout")
        _check_standalone_replicas(config)
    if _value(config, "reward.reward_model.enable"):
        _check_reward_model(_value(config, "reward.reward_model"), _value(config, "reward.custom_reward_function.path"))


def check_rollout(rollout: Any, section: str) -> None:
    """Check one rollout section (a verl ``RolloutConfig`` or its dictionary) that names ``transformers``.

    Raises:
        ConfigError: an option that this rollout does not have.
    """
    _check(rollout, section + ".", _ROLLOUT_RULES)


def _check_standalone_replicas(config: Any) -> None:
    mode, rollout = _value(config, "trainer.v1.trainer_mode"), _value(config, "actor_rollout_ref.rollout")
    backend = _value(rollout, "checkpoint_engine.backend")
    key = "actor_rollout_ref.rollout.checkpoint_engine.backend"
    if mode not in _SEPARATE_ASYNC:
        if backend == WEIGHT_TRANSFER:
            raise ConfigError(f"{key}={backend}: trainer mode {mode} has no standalone replicas; set it to naive")
        return
    if backend != WEIGHT_TRANSFER:
        raise ConfigError(f"{key}={backend}: trainer mode {mode} has standalone replicas; set it to {WEIGHT_TRANSFER}")
    nodes, replicas = _value(rollout, "nnodes"), _value(rollout, "n_gpus_per_node")
    if nodes != 1 or not replicas:
        raise ConfigError(
            f"actor_rollout_ref.rollout.nnodes={nodes} and .n_gpus_per_node={replicas}: trainer mode {mode} needs 1 "
            "node and a virtual GPU for each standalone replica, at least 1"
        )
    _check_virtual_gpus(config, replicas)
    _check_sync_step(config, mode)
    _check_own_log_line(config)


def _check_virtual_gpus(config: Any, standalone: int) -> None:
    trainer = _value(config, "trainer.n_gpus_per_node") * _value(config, "trainer.nnodes")
    reward_model = _value(config, "reward.reward_model")
    own_pool = _value(reward_model, "enable") and _value(reward_model, "enable_resource_pool")
    served = _value(reward_model, "n_gpus_per_node") * _value(reward_model, "nnodes") if own_pool else 0
    there = _value(config, "ray_kwargs.ray_init.num_gpus")
    if there is not None and there < trainer + standalone + served:
        raise ConfigError(
            f"ray_kwargs.ray_init.num_gpus={there}: {trainer} of the trainer, {standalone} standalone replicas and "
            f"{served} of a reward model need {trainer + standalone + served} virtual GPUs"
        )


def _check_sync_step(config: Any, mode: str) -> None:
    steps = _value(config, "trainer.v1.separate_async.parameter_sync_step")
    batch, mini_batch = (
        _value(config, key) for key in ("data.train_batch_size", "actor_rollout_ref.actor.ppo_mini_batch_size")
    )
    if steps * mini_batch != batch:
        raise ConfigError(
            f"data.train_batch_size={batch}: trainer mode {mode} needs trainer.v1.separate_async.parameter_sync_step="
            f"{steps} times actor_rollout_ref.actor.ppo_mini_batch_size={mini_batch}"
        )


def _check_own_log_line(config: Any) -> None:
    level = logging.getLevelName(os.environ.get("VERL_LOGGING_LEVEL", "INFO"))
    if not _value(config, "actor_rollout_ref.hybrid_engine") and level <= logging.INFO:
        raise ConfigError(
            "actor_rollout_ref.hybrid_engine=False: verl 0.9.1 then ends in an info message of its own, with a "
            "TypeError (it passes flush=True to a logger: trainer/ppo/v1/trainer_separate_async.py, line 181); set the "
            "environment variable VERL_LOGGING_LEVEL=WARNING, which leaves the message out"
        )


def _check_reward_model(reward_model: Any, reward_function: str | None) -> None:
    if _value(reward_model, "rollout.name") != "transformers":
        return
    check_rollout(_value(reward_model, "rollout"), "reward.reward_model.rollout")
    _check_model_folder("reward.reward_model.model_path", _value(reward_model, "model_path"))
    if reward_function is None:
        raise ConfigError(
            "reward.custom_reward_function.path: must be set, because a model served by the transformers rollout "
            "answers chat requests of a reward function and gives no scores by itself"
        )


def _check(config: Any, prefix: str, rules: Mapping[str, tuple[tuple[Any, ...], str]]) -> None:
    for key, (allowed, reason) in rules.items():
        value = _value(config, key)
        if value not in allowed:
            wanted = " or ".join(str(one) for one in allowed)
            raise ConfigError(f"{prefix}{key}={value}: not supported on a CPU, {reason}; set it to {wanted}")


def _check_model_folder(key: str, path: str | None) -> None:
    folder = Path(str(path)).expanduser()
    try:
        check_model_folder(folder)
    except ConfigError as error:
        raise ConfigError(f"{key}: {error}") from None
    tokenizer = folder / "tokenizer_config.json"
    inline = tokenizer.is_file() and json.loads(tokenizer.read_text(encoding="utf-8")).get("chat_template")
    if not inline and not (folder / "chat_template.jinja").is_file():
        raise ConfigError(f"{key}={path}: the tokenizer has no chat template; add chat_template.jinja to the folder")


def _value(config: Any, key: str) -> Any:
    for part in key.split("."):
        if config is None:
            return None
        config = config.get(part) if isinstance(config, Mapping) else getattr(config, part, None)
    return config
